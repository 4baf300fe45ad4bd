"""The timetable: all trees, and one tree as a calendar."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

from fastapi import Query, Request
from fastapi.responses import HTMLResponse

from synergy.errors import NotFound, Refused
from synergy.model.job import JobState
from synergy.model.process import Tree
from synergy.mx.access import Viewer
from synergy.mx.bodies import LONGEST_PERIOD, PERIOD
from synergy.mx.pages.render import island, page
from synergy.mx.routing import Router
from synergy.mx.services import Services, ServicesDep
from synergy.mx.tree_body import body_of, processes_of
from synergy.queries.timetable.calendar import calendar
from synergy.queries.timetable.tree_overview import overview
from synergy.queries.timetable.tree_states import TreeProgress, tree_states
from synergy.queries.views import Window
from synergy.timeperiod import Qualifier, parse_hour

router = Router()

MARKS = ("late", "failing", "stale", "unseen")
FIRST_MODULES = (
    "timetable",
    "calendar",
    "dom",
    "timetable_bars",
    "timetable_cells",
    "timetable_early",
    "timetable_grid",
    "timetable_keys",
    "timetable_pointer",
    "tree_model",
    "visible_text",
)
"""Scripts that draw the calendar, listed so that the browser loads them in parallel."""

MODULES = (
    "timetable_page", "ask", "dialog", "operation", "action_result", "toast", "replacement", "use",
    "live", "times", "page_setup", "keys", "live_parts", "timetable_live", "timetable_panel",
    "timetable_selection", "timetable_tip",
)  # fmt: skip
"""Scripts that are loaded after the calendar is drawn."""

At = Annotated[
    str | None,
    Query(max_length=LONGEST_PERIOD, description=f"the first period: {PERIOD}"),
]
AsTable = Annotated[bool, Query(description="as a table, which needs no script")]


@dataclass(frozen=True, slots=True)
class TreeRow:
    """A tree in the list: `waits_for` are the trees that it depends on, by name and label."""

    progress: TreeProgress
    label: str
    waits_for: tuple[tuple[str, str], ...]


@router.get("/timetable")
def trees(
    request: Request, services: ServicesDep, _person: Viewer, part: bool = False
) -> HTMLResponse:
    """All trees, by their page in `context.py`; `part`: only what changes."""
    groups: dict[str, list[TreeRow]] = {}
    template = "_timetables.html" if part else "timetables.html"
    try:
        progress = services.reads.progress()
    except Refused as refusal:  # it has no start yet
        return page(request, template, groups=groups, refusal=str(refusal))
    for each in progress:
        groups.setdefault(each.mx_page, []).append(_row(services, each))
    return page(request, template, groups=groups, refusal="")


@router.get("/timetable/{name}")
def tree(
    request: Request,
    services: ServicesDep,
    _person: Viewer,
    name: str,
    at: At = None,
    table: AsTable = False,
) -> HTMLResponse:
    """A tree as a calendar, or a window of it as a table."""
    declared, begin = _declared(services, name), _timeperiod(at)
    try:
        timetable = services.reads.timetable()
    except Refused as refusal:  # it has no start yet
        return page(request, "timetables.html", groups={}, refusal=str(refusal))
    now = services.now
    places = [timetable.places[process] for process in declared.processes]
    totals = {state.word: sum(place.level.counts[state] for place in places) for state in JobState}
    states = tree_states(declared, timetable, Window.between("", ""), now)
    return page(
        request,
        "timetable.html",
        tree=declared,
        label=_label(declared),
        waits_for=_named(services, declared.dependent_on),
        awaited_by=_named(services, _dependants(services, name)),
        calendar=calendar(places, now, begin) if table else None,
        jobs=None if table else island(body_of(states, processes_of(states))),
        overview=overview(places, now),
        totals=totals,
        marks=MARKS,
        at=at or "",
        begin=begin or "",
        first_modules=FIRST_MODULES,
        modules=MODULES,
    )


@router.get("/timetable/{name}/overview")
def strip(request: Request, services: ServicesDep, _person: Viewer, name: str) -> HTMLResponse:
    """The overview above the calendar, to update a page."""
    declared, timetable = _declared(services, name), services.reads.timetable()
    places = [timetable.places[process] for process in declared.processes]
    found = overview(places, services.now)
    return page(request, "_overview.html", tree=declared, overview=found)


def _declared(services: Services, name: str) -> Tree:
    found = services.deployment.trees.get(name)
    if found is None:
        raise NotFound("tree", name, f"there are: {', '.join(services.deployment.trees)}")
    return found


def _label(tree: Tree | TreeProgress) -> str:
    return tree.mx_name or tree.name


def _named(services: Services, names: Iterable[str]) -> tuple[tuple[str, str], ...]:
    return tuple((name, _label(services.deployment.trees[name])) for name in names)


def _dependants(services: Services, name: str) -> list[str]:
    return [
        other.name for other in services.deployment.trees.values() if name in other.dependent_on
    ]


def _row(services: Services, tree: TreeProgress) -> TreeRow:
    return TreeRow(tree, _label(tree), _named(services, tree.dependent_on))


def _timeperiod(typed: str | None) -> str | None:
    """The hour with which a period begins that was given by a user; None without one.

    A calendar can only be looked at, so the zeros at the end of a timeperiod may be left out.
    """
    if not typed or not typed.strip():
        return None
    is_short = typed.isdigit() and len(typed) in (6, 8)
    return Qualifier.HOURLY.timeperiod(parse_hour(typed.ljust(10, "0") if is_short else typed))
