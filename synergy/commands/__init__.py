"""Commands: every change that an operator, or a rule on an operator's behalf, makes.

One module for each noun: `bulk` (jobs and their cascades), `units`, `processes`, `schedules`,
`runs`, `events`, `timetable`, `maintenance` (boxes, queues, collector), `operations` (long
requests). A command checks first, answers with `dry_run` what it would change, and then changes it
by compare-and-set, with a journal entry. Services, MX and the command line use commands; what only
reads belongs in `synergy.queries`.
"""
