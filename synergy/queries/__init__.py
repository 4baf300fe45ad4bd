"""Queries for command line, pages and metrics; nothing here can write.

`reads` holds the shared queries, `views` and `page` their results. The packages are `timetable`
(trees, jobs, audits, causes), `schedules` (schedules, runs, events), `processes` (processes and
boxes), `health` (the verdict), `logs` and `metrics`. Scheduler, agents and workers do not import
this package themselves; a change of state belongs in `synergy.commands`.
"""
