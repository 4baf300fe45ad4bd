"""Trees: how far they are, and the states of all their jobs at a glance."""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Path, Response
from pydantic import BaseModel, ConfigDict, Field

from synergy.mx.access import Admin, Viewer
from synergy.mx.bodies import (
    MOST,
    SPELLED,
    TIMEPERIOD,
    Asked,
    Cursor,
    From,
    Limit,
    Page,
    To,
    Touched,
    page_of,
)
from synergy.mx.problems import answers
from synergy.mx.services import ServicesDep
from synergy.mx.tree_body import body_of, lanes_of
from synergy.queries.timetable.tree_states import TreeProgress
from synergy.queries.views import Window

router = APIRouter(tags=["trees"])

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
"""A state as counts and colours name it: what was given up is told from what somebody skipped."""


class LaneRuns(BaseModel):
    """A process of a tree, and the states of its jobs from `from` on.

    Each of `runs` is a state, how many neighbours are in it, and "stale" where their source
    changed after they were finished, or where a failed job still has the rows of an earlier
    generation. Jobs before `late_before` that are neither finished nor failed are late; `closed`
    is the first timeperiod that is not over and settled. `unseen` of the skipped jobs have a
    source that changed since.
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
    processes: list[LaneRuns]


@router.get("/trees", response_model=Page[TreeProgress], responses=answers(409))
def trees(
    _viewer: Viewer, services: ServicesDep, limit: Limit = MOST, cursor: Cursor = None
) -> Any:
    """How far all trees are."""
    return page_of(services.reads.progress(), limit, cursor)


@router.get(
    "/trees/{tree}",
    response_model=Tree,
    responses={304: {"description": "it is as it was"}, **answers(404, 409, 422)},
)
def tree(
    _viewer: Viewer,
    services: ServicesDep,
    tree: Annotated[str, Path(max_length=200)],
    from_: From = None,
    to: To = None,
    if_none_match: Annotated[str | None, Header(max_length=2000)] = None,
) -> Response:
    """The states of the jobs of a window, run-length encoded; without a window, of all jobs.

    The answer's ETag changes when anything but `now` does.
    """
    found = services.reads.tree_runs(tree, Window.between(from_ or "", to or ""))
    processes = lanes_of(found)
    tag = f'W/"{hashlib.blake2b(processes, digest_size=12).hexdigest()}"'
    headers = {"ETag": tag, "Cache-Control": "no-cache"}
    known = [each.strip() for each in (if_none_match or "").split(",")]
    if tag in known or "*" in known:
        return Response(status_code=304, headers=headers)
    return Response(body_of(found, processes), media_type="application/json", headers=headers)


class Extended(BaseModel):
    """The first hour of the timetable, as it was and as it is after the change."""

    before: str
    after: str


class Extend(Asked):
    """To which hour to move the first one."""

    from_: str = Field(
        alias="from",
        pattern=TIMEPERIOD,
        description="YYYYMMDDHH, an hour",
        json_schema_extra=SPELLED,
    )


@router.post("/timetable/extend", response_model=Touched[Extended], responses=answers(409))
def extend_timetable(admin: Admin, services: ServicesDep, body: Extend) -> Touched[Extended]:
    """Moves the first hour of the timetable to an earlier one.

    What covers more because of that is started over, with all that was made from it.
    """
    actor = admin.asks(body.reason)
    before = services.actions.extend(body.from_, actor, services.now, dry_run=body.dry_run)
    return Touched(dry_run=body.dry_run, touched=[Extended(before=before, after=body.from_)])
