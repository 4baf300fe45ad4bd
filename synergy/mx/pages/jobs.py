"""A job: its state, why it is in it, its units and story, what it is made from and what from it.

The same is shown as a page of its own, and as a panel beside the calendar.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import HTMLResponse

from synergy.model.journal import JournalEntry
from synergy.model.unit_of_work import UnitOfWork
from synergy.mx.access import Viewer
from synergy.mx.bodies import Timeperiod
from synergy.mx.pages.render import page
from synergy.mx.services import Services, ServicesDep
from synergy.queries.timetable.job_detail import JobDetail
from synergy.queries.timetable.remedies import API
from synergy.runtime.identity import short_name

router = APIRouter()

TAIL = 12  # lines of the newest unit's log

Process = Annotated[str, Path(max_length=200)]
AsPanel = Annotated[bool, Query(description="only the job, for beside the calendar")]
AsPart = Annotated[bool, Query(description="only what changes, to be read again")]


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The timeperiods before and after a job's, None where the timetable ends."""

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
    """A job with all that belongs to it."""
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
        page_of=_page_of,
        canceled=_canceled(detail),
        changed=_newest(detail, "job.stale"),
        short_name=short_name,
    )


def period_words(detail: JobDetail) -> str:
    """The period as people say it."""
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
    """The end of the newest unit's log: when each line was written, and the line."""
    if not detail.units:
        return []
    log = services.reads.unit_lines(detail.units[0].id)
    newest = islice(log.before(log.total + 1), TAIL)
    return [(line.at, line.text) for line in newest][::-1]


def _canceled(detail: JobDetail) -> JournalEntry | None:
    """Who canceled the unit of a job that failed, or was given up, because of that."""
    if detail.job.word not in ("failed", "given_up"):
        return None
    return _newest(detail, "unit.canceled")


def _newest(detail: JobDetail, event: str) -> JournalEntry | None:
    return next((entry for entry in detail.story if entry.event == event), None)


def _took(unit: UnitOfWork, now: datetime) -> float | None:
    """Seconds that a worker had a unit, up to now if it still has it; None if none had."""
    if unit.started_at is None:
        return None
    return ((unit.finished_at or now) - unit.started_at).total_seconds()


def _page_of(path: str) -> str:
    """The page that shows what a path of the API answers."""
    return path.removeprefix(API)
