"""Queries for command line, pages and metrics; nothing here can write.

`reads` holds the shared queries, `views` and `page` their results. The rooms are `timetable`
(trees, jobs, audits, causes), `schedules` (schedules, runs, events), `processes` (processes and
boxes), `health` (the verdict), `logs` and `metrics`. Services never import this package; a change
of state belongs in `synergy.commands`.
"""
