"""The deployment `watched` with fewer processes.

The yearly report is a program that does nothing, and one process makes sessions.
"""

from dataclasses import replace

import context as suite
from tests.acceptance.deployments import watched


def _with(name, **fields):
    entry = watched.process_context[name]
    return replace(entry, fields={**entry.fields, **fields})


process_context = {
    **watched.process_context,
    suite.PROCESS_YEARLY_REPORT: _with(suite.PROCESS_YEARLY_REPORT, command=["true"]),
    suite.PROCESS_SINGLE_SESSION: _with(suite.PROCESS_SINGLE_SESSION, instances=1),
}
timetable_context = watched.timetable_context
schedule_context = watched.schedule_context
