"""Runs for due times of the past that no run has done.

Such a run has a key of its own, because the record of a due time that was skipped, aborted or
failed is final. A due time is left alone if it has a run that succeeded or has not ended, whoever
made it: the schedule, an earlier backfill, or a retry. The runs wait for each other and for their
constraints like those of a catch-up, oldest first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice

from synergy.commands.schedule_rows import run_of
from synergy.errors import InvalidValue, Refused
from synergy.lifecycle.legal_moves import RunMove
from synergy.model.actor import Actor
from synergy.model.schedule import Run, RunKind, RunState, Schedule, run_id
from synergy.program import PROGRAM
from synergy.queries.schedules.next_due import ALL_RUNS_MADE
from synergy.queries.schedules.pending import progress_of
from synergy.queries.schedules.run_successors import successor_id
from synergy.schedule import catchup
from synergy.schedule.definition import Definition, Times
from synergy.schedule.due import Due
from synergy.schedule.format.literals import readable_instant, spelled_instant
from synergy.schedule.progress.due_times import is_spent
from synergy.schedule.progress.event_matching import alone
from synergy.schedule.progress.state import Made
from synergy.schedule.zones import zone
from synergy.storage.protocol import StoreView

MOST = 1000  # due times in one backfill
UNDECIDED = "left to the schedule, which has not decided about it yet"

_TICK = timedelta(microseconds=1)
_DONE = (RunState.PROCESSED, RunState.NOOP)


@dataclass(frozen=True, slots=True)
class BackfilledDue:
    """A due time of a backfill.

    `run` is the new run or record, or else the one that has done the due time or is to do it. It is
    None in a dry run, and for a due time about which the schedule itself has not decided yet, or
    that came after its last run; `state` is None then as well.
    """

    due_at: datetime
    is_new: bool
    run: str | None
    state: str | None
    reason: str


@dataclass(frozen=True, slots=True)
class PlannedDue:
    """A due time, and the run or record that is made for it, or else the present one.

    `reason`: why there is neither.
    """

    at: datetime
    made: Run | None = None
    present: Run | None = None
    reason: str = UNDECIDED

    def shown(self, *, dry_run: bool) -> BackfilledDue:
        run, is_new = self.made or self.present, self.made is not None
        if run is None:
            return BackfilledDue(self.at, is_new, None, None, self.reason)
        id_ = None if dry_run and is_new else run.id
        return BackfilledDue(self.at, is_new, id_, run.state.value, run.reason)


def planned(
    store: StoreView,
    schedule: Schedule,
    definition: Definition,
    start: datetime,
    end: datetime,
    actor: Actor,
    now: datetime,
) -> list[PlannedDue]:
    """What a backfill of the due times in `[start, end)` makes, oldest first; see `RunCommands`."""
    dues = _dues(definition, start, end, now)
    known = _known(store, schedule, dues)
    progress = progress_of(schedule)
    is_over = progress is not None and is_spent(definition, progress)
    reason = ALL_RUNS_MADE if is_over else UNDECIDED
    found: list[PlannedDue] = []
    for due in dues:
        runs = known[due.at]
        present = next((run for run in runs if run.state in _DONE), None) or next(
            (run for run in runs if not run.state.is_finished), None
        )
        is_undecided = progress is not None and due.at > progress.last_due
        is_recorded = bool(runs and catchup.skip_reason(due, definition.exclude))
        if present is not None or is_undecided or is_recorded:
            present = present or next(iter(runs), None)
            found.append(PlannedDue(due.at, present=present, reason=reason))
        else:
            made = _made(definition, due, runs, actor, now)
            found.append(PlannedDue(due.at, made=run_of(schedule, definition, made, now)))
    return found


def _dues(definition: Definition, start: datetime, end: datetime, now: datetime) -> list[Due]:
    """The due times in `[start, end)`; raises InvalidValue and Refused."""
    if start >= end:
        raise InvalidValue("from is not before to")
    if end > now:
        raise InvalidValue(
            f"to is after now, {readable_instant(now)}: the schedule itself runs what comes due"
        )
    lines = [leaf for _, leaf in alone(definition.trigger) if isinstance(leaf, Times)]
    if not lines:
        raise Refused(
            f"{definition.name} has no repeated times that run it by themselves, so there are no "
            f"due times to backfill: {PROGRAM} schedule trigger {definition.name} runs it now"
        )
    floor = max(start, definition.start or start) - _TICK
    until = catchup.by_end(definition, end - _TICK)
    due_times = catchup.union(lines, zone(definition.zone), floor, until)
    found = list(islice(due_times, MOST + 1))
    if len(found) > MOST:
        first = spelled_instant(found[MOST].at)
        raise InvalidValue(
            f"more than {MOST:,} due times in this time: at most {MOST:,} at once, such as those "
            f"before {first}"
        )
    return found


def _known(
    store: StoreView, schedule: Schedule, dues: Sequence[Due]
) -> defaultdict[datetime, list[Run]]:
    """The stored runs of each due time, oldest first: its own, of backfills, and their retries."""
    known: defaultdict[datetime, list[Run]] = defaultdict(list)
    wanted = {run_id(schedule.name, key): due.at for due in dues for key in _first_keys(due.at)}
    while wanted:
        further: dict[str, datetime] = {}
        for run in store.runs.get(list(wanted)):
            at = wanted[run.id]
            known[at].append(run)
            further |= dict.fromkeys(_following(run, at, known[at]), at)
        wanted = further
    return known


def _first_keys(at: datetime) -> tuple[str, str]:
    return RunKind.DUE.key(spelled_instant(at)), _key(at, 1)


def _following(run: Run, at: datetime, known: Sequence[Run]) -> Iterator[str]:
    """The ids of runs that there may be if there is this one."""
    if run.kind is RunKind.BACKFILL:
        yield run_id(run.schedule, _key(at, _backfills(known) + 1))
    if run.state is RunState.FAILED and run.is_of_worker:
        yield successor_id(run)


def _backfills(runs: Sequence[Run]) -> int:
    return sum(run.kind is RunKind.BACKFILL for run in runs)


def _key(at: datetime, number: int) -> str:
    """The key of the backfill of a due time with this number, counted from 1."""
    again = f"/{number}" if number > 1 else ""
    return RunKind.BACKFILL.key(spelled_instant(at)) + again


def _made(
    definition: Definition, due: Due, runs: Sequence[Run], actor: Actor, now: datetime
) -> Made:
    remark = actor.remark("backfill")
    skipped = catchup.skip_reason(due, definition.exclude)
    return Made(
        key=_key(due.at, _backfills(runs) + 1),
        due_at=due.at,
        created_at=now,
        ended_by=RunMove.SKIP if skipped else None,
        reason=skipped,
        cause={"remark": remark},
        in_turn=True,
    )
