"""Runs that have failed, and what takes them up.

A run that was sent is launched again as it is, under its own key, so that receivers can tell. The
unit of a run that a worker carried out is finished for good; what takes it up is a run of its
own, for the same due time, and there is one such successor of each failed run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from synergy.lifecycle.moves import advance
from synergy.lifecycle.transitions import RunMove
from synergy.model.schedule import Run, RunKind, RunState, run_id
from synergy.storage.protocol import StoreView

PAGE = 500  # runs that are looked at, or launched again, in one step


def failed_runs(store: StoreView, schedule: str | None = None, limit: int = PAGE) -> list[Run]:
    """Runs that have failed and were not launched again, newest first."""
    found, cursor = failed_page(store, schedule, PAGE)
    while len(found) < limit and cursor is not None:
        more, cursor = failed_page(store, schedule, PAGE, cursor)
        found += more
    return found[:limit]


def failed_page(
    store: StoreView, schedule: str | None, limit: int, cursor: str | None = None
) -> tuple[list[Run], str | None]:
    """A page of them, and the cursor of the next or None; it may have fewer, but then some."""
    while True:
        page, cursor = store.runs.find(schedule, RunState.FAILED, limit, cursor)
        taken_up = successors(store, page)
        found = [run for run in page if successor_id(run) not in taken_up]
        if found or cursor is None:
            return found, cursor


def successors(store: StoreView, runs: Sequence[Run]) -> set[str]:
    """The ids of the runs that took up some of these."""
    ids = [successor_id(run) for run in runs if successor_id(run) != run.id]
    return {run.id for run in (store.runs.get(ids) if ids else ())}


def why_again(run: Run) -> str:
    """Why a run that `launched_again` made was launched, for the journal."""
    return run.detail.again or "launched again"


def successor_id(run: Run) -> str:
    """The id of the run that takes up a failed one; its own, if it was sent."""
    if not run.is_of_worker:
        return run.id
    return run_id(run.schedule, _successor_key(run))


def _successor_key(run: Run) -> str:
    return RunKind.RETRY.key(run.id)


def launched_again(run: Run, remark: str, now: datetime) -> Run:
    """A failed run as it is launched again."""
    detail = replace(
        run.detail, waits=(), first_attempt=None, first_attempt_at=None, again=remark
    )  # a fresh budget
    launched = replace(advance(run, RunMove.RETRY, now), detail=detail)
    if not run.is_of_worker:
        return launched
    return replace(
        launched,
        id=successor_id(run),
        key=_successor_key(run),
        created_at=now,
        attempt=0,
        rev=0,
        detail=replace(detail, retry_of=run.id),
    )
