"""Failed runs and their successors.

A failed run that was sent is launched again under its own key, so that receivers can recognize it.
The unit of a worker's run cannot be started again; its successor is a new run for the same due
time, at most one for each failed run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from synergy.lifecycle.legal_moves import RunMove
from synergy.lifecycle.state_changes import advance
from synergy.model.schedule import Run, RunKind, RunState, run_id
from synergy.model.time_range import EVER, TimeRange
from synergy.storage.protocol import StoreView

PAGE = 500  # runs that are read, or launched again, in one step


def run_pages(store: StoreView, schedule: str | None, state: RunState) -> Iterator[list[Run]]:
    """All runs in a state, by page; those of a page may change before the next one is read."""
    cursor: str | None = None
    while True:
        page, cursor = store.runs.find(schedule, state, PAGE, cursor)
        yield page
        if cursor is None:
            return


def failed_runs(store: StoreView, schedule: str | None = None, limit: int = PAGE) -> list[Run]:
    """Failed runs that were not launched again, newest first."""
    found, cursor = failed_page(store, schedule, PAGE)
    while len(found) < limit and cursor is not None:
        more, cursor = failed_page(store, schedule, PAGE, cursor)
        found += more
    return found[:limit]


def failed_page(
    store: StoreView,
    schedule: str | None,
    limit: int,
    cursor: str | None = None,
    within: TimeRange = EVER,
) -> tuple[list[Run], str | None]:
    """A page of failed runs that were not launched again, and the cursor of the next or None.

    A page with a next one is not empty.
    """
    while True:
        page, cursor = store.runs.find(schedule, RunState.FAILED, limit, cursor, within)
        repeated = successors(store, page)
        found = [run for run in page if successor_id(run) not in repeated]
        if found or cursor is None:
            return found, cursor


def successors(store: StoreView, runs: Sequence[Run]) -> set[str]:
    """The ids of the stored successors of these runs."""
    ids = [successor_id(run) for run in runs if successor_id(run) != run.id]
    return {run.id for run in (store.runs.get(ids) if ids else ())}


def why_again(run: Run) -> str:
    """Why a run of `launched_again` was launched, for the journal."""
    return run.detail.again or "launched again"


def successor_id(run: Run) -> str:
    """The id of a failed run's successor; its own id, if it was sent."""
    if not run.is_of_worker:
        return run.id
    return run_id(run.schedule, _successor_key(run))


def _successor_key(run: Run) -> str:
    return RunKind.RETRY.key(run.id)


def launched_again(run: Run, remark: str, now: datetime) -> Run:
    """A failed run, launched again, with a fresh budget."""
    detail = replace(run.detail, waits=(), first_attempt=None, first_attempt_at=None, again=remark)
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
