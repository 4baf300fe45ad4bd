"""Hooks of schemathesis for rules that OpenAPI cannot express; loaded by schemathesis.toml.

No check is turned off: each request gets its own idempotency key, and single failures that are no
defects are filtered out.
"""

from __future__ import annotations

import re
from itertools import count

import schemathesis
from schemathesis.openapi.checks import AllowHeaderMismatch, RejectedPositiveData

KEY = "Idempotency-Key"

MEANING = {
    "GET /api/v1/jobs": "from and to are timeperiods of the calendar; a cursor names a process",
    "GET /api/v1/jobs/{process}/{timeperiod}": "a day has no timeperiod of a month",
    "GET /api/v1/jobs/{process}/{timeperiod}/why": "a day has no timeperiod of a month",
    "GET /api/v1/journal": "a timeperiod without its process names no job; times as below",
    "GET /api/v1/units": "from and to are times in order, and zone is a zone",
    "GET /api/v1/runs": "the same",
    "GET /api/v1/runs/dead": "the same",
    "GET /api/v1/events": "the same",
    "GET /api/v1/logs/{name}": "after and before are not given together",
    "GET /api/v1/units/{id}/log": "after and before are not given together",
    "GET /api/v1/schedules/{name}/preview": "from and to are instants of the calendar, in order",
    "GET /api/v1/trees/{tree}": "from and to are timeperiods of the calendar, in order",
    "PATCH /api/v1/processes/{name}": "not every process has a trigger, and a cron has to be one",
    "POST /api/v1/events": "a timestamp is of the calendar, and a resource that of its type",
    "POST /api/v1/jobs/acknowledge": "the reason is missing, or the same",
    "POST /api/v1/jobs/retry": "timeperiods are of the calendar and of their process",
    "POST /api/v1/jobs/reprocess": "timeperiods are of the calendar and of their process",
    "POST /api/v1/jobs/skip": "timeperiods are of the calendar and of their process",
    "POST /api/v1/schedules": "processes, payloads and times of a definition have to be there",
    "POST /api/v1/schedules/preview": "the same",
    "POST /api/v1/schedules/{name}/backfill": "from and to are instants of the past, in order",
    "POST /api/v1/schedules/{name}/trigger": "arguments are for workers, payloads are sent",
    "PUT /api/v1/schedules/{name}": "the same",
    "POST /api/v1/timetable/extend": "the first hour is one of the calendar",
}
"""Whose valid requests may be refused with 422 for what they mean, which no schema can say."""

_OF_SCHEMA = re.compile(
    r"Field required|Input should|Extra inputs|Value error|Unable to|"
    r"(String|List|Dictionary|Data|Decimal|Union) (should|must|can)"
)

_numbers = count(1)


@schemathesis.hook
def before_call(_context, case, _kwargs):
    """Sets a new key for each request: MX rightly refuses the one that all examples share."""
    if case.headers and case.headers.get(KEY) and not _is_negative(case):
        case.headers[KEY] = f"key-{next(_numbers)}"


@schemathesis.hook
def filter_failure(_context, failure, case, response):
    """Whether a failure that schemathesis reports is a defect."""
    if isinstance(failure, RejectedPositiveData):
        return not _is_about_meaning(case.operation.label, response)
    if isinstance(failure, AllowHeaderMismatch):
        # a schedule may be called `preview`, and can be looked at, replaced and removed like any
        return case.operation.path != "/api/v1/schedules/preview"
    return True


def _is_negative(case) -> bool:
    return case.meta is not None and case.meta.generation.mode.is_negative


def _is_about_meaning(label, response) -> bool:
    """Whether a 422 is about the meaning of a request, not about its form."""
    if response.status_code != 422 or label not in MEANING:
        return False
    errors = response.json()["errors"]
    return not any(_OF_SCHEMA.match(one["detail"]) for one in errors)
