"""The pages of runs: the list, and one run with its request and responses."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated

from fastapi import Query, Request, Response

from synergy.errors import NotFound
from synergy.model.schedule import RunState
from synergy.model.time_range import TimeRange
from synergy.mx.access import Viewer
from synergy.mx.bodies import Cursor
from synergy.mx.pages.addresses import list_links
from synergy.mx.pages.render import page
from synergy.mx.pages.schedules import DEAD as COUNTED
from synergy.mx.routing import Router
from synergy.mx.services import Services, ServicesDep
from synergy.mx.times import TimesDep
from synergy.queries.schedules.views import RunDetail, RunView

router = Router()

PAGE = 50  # runs on a page
LONGEST = 4096  # characters of a body that are shown

DEAD = "dead"
STATES = (*(state.value for state in RunState), DEAD)

OfSchedule = Annotated[str, Query(alias="schedule", max_length=100)]
State = Annotated[str, Query(pattern=f"^({'|'.join(STATES)})?$")]


@router.get("/runs")
def list_runs(
    request: Request,
    services: ServicesDep,
    _: Viewer,
    times: TimesDep,
    schedule: OfSchedule = "",
    state: State = "",
    cursor: Cursor = None,
) -> Response:
    """Runs, newest first; `dead` are failed runs that were not launched again."""
    runs, following = _runs(services, schedule, state, cursor, times.within)
    filters = {"schedule": schedule, "state": state, **times.filters}
    return page(
        request,
        "runs.html",
        runs=runs,
        filters=filters,
        **list_links("/runs", cursor, following, **filters),
        of=schedule,
        state=state,
        states=STATES,
        dead=len(services.schedules.dead(COUNTED)),
    )


@router.get("/runs/{id}")
def show_run(request: Request, services: ServicesDep, person: Viewer, id: str) -> Response:
    """The page of a run."""
    run = services.schedules_for(person).run(id)
    return page(
        request,
        "run.html",
        run=run,
        request_of=_request(run),
        cause=_cause(run),
        responses=[_response(answer) for answer in reversed(run.answers)],
    )


def _runs(
    services: Services, schedule: str, state: str, cursor: str | None, within: TimeRange
) -> tuple[list[RunView], str | None]:
    of = schedule or None
    if state == DEAD:
        dead = services.schedules.dead_page(PAGE, cursor, of, within)
        return list(dead.items), dead.next
    try:
        wanted = RunState(state) if state else None
        found = services.schedules.runs(of, wanted, PAGE, cursor, within)
    except NotFound:  # nothing matches an unknown schedule
        return [], None
    return list(found.items), found.next


def _request(run: RunDetail) -> Mapping[str, str]:
    """The fields of the request as shortened texts."""
    given = run.request if isinstance(run.request, Mapping) else {}
    return {str(name): _text(value) for name, value in given.items() if value not in ("", {}, None)}


def _cause(run: RunDetail) -> list[tuple[str, str]]:
    """The causes of the run: a request, a finished period, or events."""
    named = [(str(name), value) for name, value in run.cause.items() if name != "events" and value]
    events = [("events", ", ".join(run.events))] if run.events else []
    return [*((name.replace("_", " "), _text(value)) for name, value in named), *events]


def _text(value: object) -> str:
    if isinstance(value, Mapping) and all(isinstance(text, str) for text in value.values()):
        return _cut("\n".join(f"{name}: {text}" for name, text in value.items()))
    text = value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
    return _cut(text)


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def _response(answer: Mapping[str, object]) -> dict[str, object]:
    """A response, with `at` as a datetime."""
    at = answer.get("at")
    return {
        **{name: answer.get(name) for name in ("outcome", "status", "error", "seconds")},
        "body": _cut(str(answer.get("body") or "")),
        "at": datetime.fromisoformat(at) if isinstance(at, str) else None,
    }
