"""The first page: the state of the deployment, with links to details."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from fastapi import Request
from fastapi.responses import HTMLResponse

from synergy.errors import Refused
from synergy.model.job import JobState
from synergy.mx.access import Viewer
from synergy.mx.pages.render import page
from synergy.mx.routing import Router
from synergy.mx.services import Services, ServicesDep
from synergy.queries.metrics.throughput import MINUTES
from synergy.queries.overview import MOST, Overview, overview
from synergy.queries.timetable.tree_states import TreeProgress
from synergy.queries.views import BoxProcess, BoxView, ProcessView

router = Router()

SHOWN = 6  # items of a list, which has a link to all
FINDINGS = 20  # findings of the verdict that are shown
AHEAD = 8  # processes of a new deployment whose first start is shown


@dataclass(frozen=True, slots=True)
class Row:
    """A process, and its state on each box; None where it is not assigned."""

    process: str
    places: tuple[BoxProcess | None, ...]


@dataclass(frozen=True, slots=True)
class Beginning:
    """The first steps of a new deployment.

    `start` is the first hour of the timetable, None until a scheduler has set it.
    """

    start: str | None
    ahead: tuple[ProcessView, ...]


@router.get("/")
def show_overview(
    request: Request, services: ServicesDep, _: Viewer, part: bool = False
) -> HTMLResponse:
    """The overview; `part`: only what changes, to update a page."""
    throughput, boxes = services.activity.throughput(), services.reads.boxes()
    seen = overview(
        services.reads, services.schedules, services.audits.standing(), throughput, services.now
    )
    return page(
        request,
        "_deployment_state.html" if part else "overview.html",
        seen=seen,
        verdict=services.verdict(),
        findings_shown=FINDINGS,
        late=sum(one.count for one in seen.late),
        waiting=sum(one.count for one in seen.waiting),
        behind={one.process: one.count for one in seen.late},
        messages=sum(queue.waiting for queue in seen.queues),
        columns=columns(seen),
        beginning=beginning(services, seen),
        progress=progress(services),
        boxes=boxes,
        matrix=matrix(boxes, list(services.deployment.processes)),
        declared=services.deployment.processes,
        most=MOST,
        shown=SHOWN,
    )


@router.get("/troubles")
def show_troubles(request: Request, _: Viewer) -> HTMLResponse:
    """The failed health checks, to update a page."""
    return page(request, "_troubles.html", troubles=request.app.state.health.problems())


def columns(seen: Overview) -> list[tuple[int, str]]:
    """The finished units of each minute, with a text for each column."""
    found = zip(seen.throughput.units, seen.throughput.jobs, strict=True)
    return [
        (units, f"{MINUTES - 1 - at} min ago: {units:,} units, {jobs:,} jobs")
        for at, (units, jobs) in enumerate(found)
    ]


def matrix(boxes: Sequence[BoxView], declared: Iterable[str]) -> list[Row]:
    """Processes by boxes: declared ones, then others that still run somewhere."""
    places = {(box.id, one.process): one for box in boxes for one in box.processes}
    names = dict.fromkeys([*declared, *(process for _, process in sorted(places))])
    return [Row(name, tuple(places.get((box.id, name)) for box in boxes)) for name in names]


def beginning(services: Services, seen: Overview) -> Beginning | None:
    """The first steps of a new deployment; None once something has happened."""
    if any(seen.units.values()) or any(seen.throughput.jobs):
        return None
    try:
        timetable = services.reads.timetable()
    except Refused:
        return Beginning(None, ())
    levels = [place.level for place in timetable.places.values()]
    if any(sum(level.counts[JobState.IN_PROGRESS :]) for level in levels):
        return None
    due = [process for process in services.reads.processes() if process.next_due is not None]
    return Beginning(timetable.start, tuple(sorted(due, key=_next_due)[:AHEAD]))


def progress(services: Services) -> list[TreeProgress]:
    """The progress of all trees; empty while there is no timetable."""
    try:
        return services.reads.progress()
    except Refused:
        return []


def _next_due(process: ProcessView) -> datetime:
    assert process.next_due is not None
    return process.next_due
