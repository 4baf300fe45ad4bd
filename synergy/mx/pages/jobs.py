"""The page of a job: state, causes, units, journal, inputs and outputs.

The same content is the panel beside the calendar.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Annotated

from fastapi import Path, Query, Request
from fastapi.responses import HTMLResponse

from synergy.model.journal import JournalEntry
from synergy.model.journal_event import JournalEvent
from synergy.model.unit_of_work import UnitOfWork
from synergy.mx.access import Viewer
from synergy.mx.bodies import Timeperiod
from synergy.mx.pages.render import page
from synergy.mx.routing import Router
from synergy.mx.services import Services, ServicesDep
from synergy.queries.timetable.job_detail import JobDetail

router = Router()

TAIL = 12  # lines of the newest unit's log

Process = Annotated[str, Path(max_length=200)]
AsPanel = Annotated[bool, Query(description="only the job, for the panel beside the calendar")]
AsPart = Annotated[bool, Query(description="only the part that changes, to update a page")]


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The previous and next timeperiod, None at the ends of the timetable."""

    before: str | None
    after: str | None


@router.get("/jobs/{process}/{timeperiod}")
def job(
    request: Request,
    services: ServicesDep,
    _person: Viewer,
    process: Process,
    timeperiod: Timeperiod,
    panel: AsPanel = False,
    part: AsPart = False,
) -> HTMLResponse:
    """The page of a job."""
    detail = services.reads.job(process, timeperiod)
    template = "_job.html" if part else "_job_panel.html" if panel else "job.html"
    return page(
        request,
        template,
        detail=detail,
        job=detail.job,
        words=period_words(detail),
        why=services.reads.why(process, timeperiod),
        tail=_tail(services, detail),
        neighbours=_neighbours(services, detail),
        panel=panel,
        took=_took,
        canceled=_canceled(detail),
        changed=_newest(detail, JournalEvent.JOB_STALE),
    )


def period_words(detail: JobDetail) -> str:
    """A period in words."""
    begin = detail.begins_at
    match detail.qualifier:
        case "hourly":
            return f"{begin:%a} {begin.day} {begin:%b %Y, %H:%M} to {detail.ends_at:%H:%M}"
        case "daily":
            return f"{begin:%a} {begin.day} {begin:%b %Y}"
        case "monthly":
            return f"{begin:%B %Y}"
        case _:
            return f"{begin:%Y}"


def _neighbours(services: Services, detail: JobDetail) -> Neighbours:
    level = services.reads.timetable().place(detail.job.process).level
    at = level.ordinal(detail.job.timeperiod)
    before, after = (
        level.timeperiod(other) if level.holds(other) else None for other in (at - 1, at + 1)
    )
    return Neighbours(before, after)


def _tail(services: Services, detail: JobDetail) -> list[tuple[datetime, str]]:
    """Time and text of the last log lines of the newest unit."""
    if not detail.units:
        return []
    log = services.reads.unit_lines(detail.units[0].id)
    newest = islice(log.before(log.total + 1), TAIL)
    return [(line.at, line.text) for line in newest][::-1]


def _canceled(detail: JobDetail) -> JournalEntry | None:
    """The entry of the cancellation that made the job fail or be given up; None for other jobs."""
    if detail.job.word not in ("failed", "given_up"):
        return None
    return _newest(detail, JournalEvent.UNIT_CANCELED)


def _newest(detail: JobDetail, event: JournalEvent) -> JournalEntry | None:
    return next((entry for entry in detail.story if entry.event == event), None)


def _took(unit: UnitOfWork, now: datetime) -> float | None:
    """The seconds since the last start of a unit, up to its end; None if it was not started."""
    if unit.started_at is None:
        return None
    return ((unit.finished_at or now) - unit.started_at).total_seconds()
