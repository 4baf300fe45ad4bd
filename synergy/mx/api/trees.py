"""Trees: their progress, and the states of their jobs."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import Path, Response
from pydantic import BaseModel, ConfigDict, Field

from synergy.mx.access import Admin, Viewer
from synergy.mx.bodies import (
    LONGEST_PERIOD,
    MOST,
    PERIOD,
    TIMEPERIOD_SCHEMA,
    Action,
    Cursor,
    From,
    Limit,
    Page,
    To,
    Touched,
    page_of,
)
from synergy.mx.conditional import IfNoneMatch, conditional
from synergy.mx.problems import errors
from synergy.mx.routing import Router
from synergy.mx.services import ServicesDep
from synergy.mx.tree_body import body_of, processes_of
from synergy.queries.timetable.tree_states import TreeProgress
from synergy.queries.views import Window
from synergy.timeperiod import Qualifier, parse_hour

router = Router("trees")

Word = Literal[
    "embryo",
    "in_progress",
    "final_run",
    "processed",
    "noop",
    "skipped",
    "failed",
    "given_up",
]
"""A state in counts and colours, which distinguish given-up jobs from other skipped ones."""


class ProcessStates(BaseModel):
    """A process of a tree, and the states of its jobs from `from` on.

    Each of `runs` is a state, the number of consecutive jobs in it, and "stale" if their source
    changed after they finished, or if a failed job still has rows of an earlier generation. Jobs
    before `late_before` that are neither finished nor failed are late; `closed` is the first
    timeperiod that has not ended and settled. `unseen` counts skipped jobs whose source changed
    since.
    """

    model_config = ConfigDict(serialize_by_alias=True)

    name: str
    qualifier: str
    time_grouping: int
    first: str
    last: str
    frontier: str | None
    counts: dict[str, int]
    late: int
    unseen: int
    closed: str
    late_before: str
    from_: str = Field(alias="from")
    runs: list[tuple[Word, int] | tuple[Word, int, Literal["stale"]]]


class Tree(BaseModel):
    """A tree with the states of a window, its processes from coarse to fine."""

    name: str
    mx_name: str
    mx_page: str
    dependent_on: list[str]
    now: datetime
    processes: list[ProcessStates]


@router.get("/trees", response_model=Page[TreeProgress], responses=errors(409))
def trees(
    _viewer: Viewer, services: ServicesDep, limit: Limit = MOST, cursor: Cursor = None
) -> Any:
    """The progress of all trees."""
    return page_of(services.reads.progress(), limit, cursor)


@router.get(
    "/trees/{tree}",
    response_model=Tree,
    responses={304: {"description": "not modified"}, **errors(404, 409, 422)},
)
def tree(
    _viewer: Viewer,
    services: ServicesDep,
    tree: Annotated[str, Path(max_length=200)],
    from_: From = None,
    to: To = None,
    if_none_match: IfNoneMatch = None,
) -> Response:
    """The states of the jobs of a window, run-length encoded; without a window, of all jobs.

    The ETag changes when anything but `now` does.
    """
    found = services.reads.tree_states(tree, Window.between(from_ or "", to or ""))
    processes = processes_of(found)
    return conditional(if_none_match, processes, lambda: body_of(found, processes))


class Extended(BaseModel):
    """The first hour of the timetable before and after the change."""

    before: str
    after: str


class Extend(Action):
    """The new first hour."""

    from_: str = Field(
        alias="from",
        max_length=LONGEST_PERIOD,
        description=f"begins with this period: {PERIOD}",
        json_schema_extra=TIMEPERIOD_SCHEMA,
    )


@router.post("/timetable/extend", response_model=Touched[Extended], responses=errors(409))
def extend_timetable(admin: Admin, services: ServicesDep, body: Extend) -> Touched[Extended]:
    """Moves the first hour of the timetable to an earlier one.

    Jobs that cover more because of that are started over, with all jobs made from them.
    """
    start = Qualifier.HOURLY.timeperiod(parse_hour(body.from_))
    before = services.timetable_commands.extend(
        start, admin.actor(body.reason), services.now, dry_run=body.dry_run
    )
    return Touched(dry_run=body.dry_run, touched=[Extended(before=before, after=start)])
