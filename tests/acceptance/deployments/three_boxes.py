"""The suite over three boxes, with units that a test can hold in the midst of their work.

A schedules; B schedules and works; C works; agents are on B and C. What only one box can do waits
while it is away. Limits are short, so that what was lost is missed soon.
"""

from dataclasses import replace

import context as suite
from tests.acceptance.deployments import gated_suite

SCHEDULERS = ["box-[ab]"]
WORKERS = ["box-[bc]"]
ONLY_B = ["box-b"]
ONLY_C = ["box-c"]

_PLACES = {
    suite.PROCESS_SCHEDULER: SCHEDULERS,
    suite.PROCESS_CLIENT_MONTHLY: ONLY_B,
    suite.PROCESS_CLIENT_YEARLY: ONLY_B,
    suite.PROCESS_YEARLY_REPORT: ONLY_B,
    suite.PROCESS_ALERT_DAILY: ONLY_C,
}


def _placed(name, entry):
    fields = {**entry.fields, "present_on_boxes": _PLACES.get(name, WORKERS)}
    if entry.kind == "managed":
        fields |= {"heartbeat_timeout": "6s", "retry_backoff": "1s"}
    elif "instances" in fields:
        fields["instances"] = 1
    return replace(entry, fields=fields)


process_context = {
    name: _placed(name, entry) for name, entry in gated_suite.process_context.items()
}
timetable_context = suite.timetable_context
schedule_context = suite.schedule_context
