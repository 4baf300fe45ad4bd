"""The journal: what happened, when, why, and by whom."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query

from synergy.model.journal import JournalEntry
from synergy.mx.access import Viewer
from synergy.mx.bodies import LONGEST_PERIOD, PERIOD, Cursor, Limit, Page
from synergy.mx.problems import errors
from synergy.mx.routing import Router
from synergy.mx.services import ServicesDep
from synergy.mx.times import TimesDep

router = Router("journal")

Process = Annotated[
    str | None, Query(max_length=200, description="a process or schedule, also a former one")
]
Timeperiod = Annotated[
    str | None,
    Query(
        min_length=1,
        max_length=LONGEST_PERIOD,
        description=f"with `process`: one job ({PERIOD}), or run (YYYYMMDDHHmmSS)",
    ),
]
Event = Annotated[
    str | None,
    Query(max_length=100, description="`job.skipped`; or `job` for all events of jobs"),
]
Who = Annotated[
    str | None, Query(max_length=200, description="a part of the name of the actor, in any case")
]


@router.get("/journal", response_model=Page[JournalEntry], responses=errors(422))
def list_entries(
    services: ServicesDep,
    _: Viewer,
    times: TimesDep,
    process: Process = None,
    timeperiod: Timeperiod = None,
    event: Event = None,
    who: Who = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Any:
    """Entries, newest first; `from` and `to` limit the time when they were written.

    A page of a rare event may be short or empty, and still have a next one.
    """
    return services.reads.journal(process, timeperiod, event, limit, cursor, who, times.within)
