"""The suite on three boxes, with a daily aggregator that a test can hold during its work.

A runs a scheduler; B runs a scheduler and workers; C runs workers; agents run on B and C. Processes
of only one box wait while the box is away. Limits are short, so that lost workers are noticed soon.
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
