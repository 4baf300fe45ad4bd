"""The facts about runs that constraints depend on, read from the store when they are needed."""

from __future__ import annotations

from datetime import datetime

from synergy.agent.deciding.gauges import Gauges
from synergy.agent.deciding.unfinished_runs import (
    UnfinishedRuns,
    group_key,
    program_key,
    schedule_key,
)
from synergy.agent.deciding.wait_queues import position_of
from synergy.model.schedule import Run, RunState
from synergy.schedule.constraint import Facts
from synergy.schedule.definition import AtMost, Definition, Load, LoadOf, Overlap, SinceLastRun
from synergy.storage.protocol import Store

PAGE = 100
_SUCCEEDED = (RunState.PROCESSED, RunState.NOOP)


class RunFacts:
    """Facts about the runs of schedules; what was read is kept, and follows the runs."""

    def __init__(self, store: Store, unfinished: UnfinishedRuns, gauges: Gauges) -> None:
        self._store = store
        self._unfinished = unfinished
        self._gauges = gauges
        self._launches: dict[str, dict[str, datetime]] = {}  # by schedule, then run
        self._successes: dict[str, datetime | None] = {}

    def launched(self, run: Run) -> None:
        """Notes a run that was launched, perhaps earlier."""
        if run.schedule in self._launches and run.launched_at is not None:
            self._launches[run.schedule][run.id] = run.launched_at

    def ended(self, schedule: str, state: RunState, at: datetime) -> None:
        """Notes that a run of the schedule has ended."""
        if schedule in self._successes and state in _SUCCEEDED:
            known = self._successes[schedule]
            self._successes[schedule] = at if known is None else max(known, at)

    def forget(self, schedule: str) -> None:
        """Forgets the launches of a changed schedule."""
        self._launches.pop(schedule, None)

    def of(self, run: Run, definition: Definition, now: datetime) -> Facts:
        """The facts that the constraints of this definition need."""
        active = self._unfinished.active
        kinds = {type(constraint) for constraint in definition.constraints}
        loads = {c.of for c in definition.constraints if isinstance(c, Load)}
        return Facts(
            active_of_program=active[program_key(run.program)],
            active_of_group=active[group_key(run.group)] if run.group else 0,
            active_of_schedule=active[schedule_key(run.schedule)],
            is_behind_another=definition.overlap is Overlap.BUFFER_ONE and self._is_behind(run),
            last_success_at=self._last_success(run.schedule) if SinceLastRun in kinds else None,
            launches=self._launches_of(run, definition, now) if AtMost in kinds else (),
            load=self._gauges.load() if LoadOf.BOX in loads else 0.0,
            depth=self._gauges.depth(run.program) if LoadOf.QUEUE in loads else 0,
        )

    def _is_behind(self, run: Run) -> bool:
        """Whether another run of the schedule waits, and comes before this one."""
        waiting = self._unfinished.pending_of(run.schedule)
        return any(position_of(one) < position_of(run) for one in waiting)

    def _last_success(self, schedule: str) -> datetime | None:
        if schedule not in self._successes:
            runs = [self._store.runs.last(schedule, _SUCCEEDED)]
            for state in _SUCCEEDED:  # a run that was launched earlier may have ended later
                runs += self._store.runs.find(schedule, state, PAGE)[0]
            ends = [run.finished_at for run in runs if run is not None and run.finished_at]
            self._successes[schedule] = max(ends, default=None)
        return self._successes[schedule]

    def _launches_of(self, run: Run, definition: Definition, now: datetime) -> list[datetime]:
        longest = max(c.per for c in definition.constraints if isinstance(c, AtMost))
        since = now - longest
        if run.schedule not in self._launches:
            oldest = since - definition.timeout  # a run may have been pending for so long
            self._launches[run.schedule] = self._read_launches(run.schedule, oldest)
        recent = {id_: at for id_, at in self._launches[run.schedule].items() if at > since}
        self._launches[run.schedule] = recent
        return sorted(recent.values(), reverse=True)

    def _read_launches(self, schedule: str, oldest: datetime) -> dict[str, datetime]:
        found: dict[str, datetime] = {}
        cursor: str | None = None
        while True:
            runs, cursor = self._store.runs.find(schedule=schedule, limit=PAGE, cursor=cursor)
            found |= {run.id: run.launched_at for run in runs if run.launched_at is not None}
            if cursor is None or (runs and runs[-1].created_at < oldest):
                return found
