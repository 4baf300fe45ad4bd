"""The garbage collector: ensures that every unit is finished in the end.

A run has seven steps: finish incomplete writes, read all unfinished units of the processes that are
switched on, judge each, write the verdicts by compare-and-set, publish messages, delete units and
journal entries past their age (`retention`), and check some rows (`commands.row_check`). A unit
that changed after it was read is not moved, and a unit that cannot be judged does not affect the
others.

Units of free-run processes belong to no job: agents follow them in the journal, and are woken when
one of them is canceled.
"""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from synergy.clock import Clock
from synergy.commands.row_check import check_rows
from synergy.errors import SynergyError
from synergy.lifecycle.legal_moves import UnitMove
from synergy.lifecycle.reclaim import Judgement, Observed, Verdict, judge
from synergy.lifecycle.state_changes import move_unit
from synergy.lifecycle.superseded_units import waiting_behind
from synergy.messaging.message import UnitMessage
from synergy.messaging.protocol import Bus
from synergy.model import journal
from synergy.model.collector_counts import CollectorCounts
from synergy.model.process import FreerunProcess, WorkingProcess
from synergy.model.retention import Retention
from synergy.model.unit_of_work import Hint, UnitChange, UnitOfWork, UnitState
from synergy.names import AGENT_TOPIC
from synergy.runtime import identity
from synergy.scheduler.retention import Pruner
from synergy.storage.protocol import Store

EVERY_SECONDS = 60.0  # the longest time between two runs

_Beat = tuple[int, int, str | None]
"""Attempt, heartbeat and owner of a unit, as last read."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Collected:
    """The result of a run, and when the next unit may be handed out again, if known."""

    counts: CollectorCounts
    next_at: datetime | None


class Collector:
    """The collector of one scheduler; it remembers when each heartbeat was first seen."""

    def __init__(
        self,
        store: Store,
        bus: Bus,
        clock: Clock,
        processes: Callable[[], Mapping[str, WorkingProcess]],
        is_superseded: Callable[[UnitOfWork], bool],
        retention: Retention,
    ) -> None:
        """`processes` returns those that are switched on at the time of a run."""
        self._store = store
        self._bus = bus
        self._clock = clock
        self._processes = processes
        self._is_superseded = is_superseded
        self.pruner = Pruner(store, clock, retention)
        self._beats: dict[str, tuple[_Beat, float]] = {}
        self._running: dict[str, tuple[int, float]] = {}
        self._ran_at: float | None = None
        self._rows_at = clock.monotonic() + EVERY_SECONDS

    def run_once(self, *, flush: bool = False, only: str = "") -> Collected:
        """Does one run; `flush` ignores waiting times, `only` limits it to units of one process."""
        now, monotonic = self._clock.now(), self._clock.monotonic()
        if self._ran_at is not None and monotonic - self._ran_at > 3 * EVERY_SECONDS:
            self._beats.clear()  # no heartbeat was read for long: silence is measured anew
            self._running.clear()
        self._ran_at = monotonic
        recovered = self._store.recover()
        processes = self._processes()
        units = [
            unit
            for unit in self._store.units.unfinished()
            if unit.process in processes and only in ("", unit.process)
        ]
        self._forget_beats(units)
        behind = waiting_behind(units)
        depths = self._bus.depths() if units else {}
        judged = []
        for unit in units:
            process = processes[unit.process]
            if unit.id in behind and not self._is_superseded(unit):
                continue
            try:
                seen = self._observe(unit, depths.get(process.queue, 0) == 0, flush, monotonic)
                judged.append((unit, process, judge(unit, process, seen, now)))
            except SynergyError:
                log.exception("Unit %s cannot be judged", unit.id, extra={"event": "gc.odd_unit"})
        done, forgotten = self._carry_out(judged, now), self.pruner.run_once(now)
        if monotonic >= self._rows_at:
            self._rows_at = monotonic + EVERY_SECONDS
            check_rows(self._store)
        dues = [j.again_at for _, _, j in judged if j.again_at is not None]
        return Collected(counts_of(done, recovered, forgotten), min(dues, default=None))

    def record(self, collected: Collected, process: str) -> None:
        """Writes the journal entry of a run of the collector."""
        entry = journal.collection_ran(process, collected.counts, self._clock.now())
        self._store.journal.append([entry])

    def _observe(
        self,
        unit: UnitOfWork,
        queue_is_empty: bool,
        flush: bool,
        monotonic: float,
    ) -> Observed:
        # The beat includes the owner, so that silence is measured from the claim on.
        beat = (unit.attempt, unit.heartbeat, unit.owner)
        known, since = self._beats.get(unit.id, (None, 0.0))
        if known != beat:
            since = monotonic
            self._beats[unit.id] = (beat, since)
        owner = identity.parse(unit.owner or "")
        running_since = self._running_since(unit, monotonic)
        return Observed(
            silent_for=monotonic - since,
            owner_is_gone=owner is not None and owner.is_provably_dead,
            queue_is_empty=queue_is_empty,
            superseded=self._is_superseded(unit),
            flush=flush,
            running_for=monotonic - running_since,
        )

    def _running_since(self, unit: UnitOfWork, monotonic: float) -> float:
        """When this attempt was first seen in progress, independent of the workers' clocks."""
        if unit.state is not UnitState.IN_PROGRESS:
            return monotonic
        attempt, since = self._running.get(unit.id, (0, 0.0))
        if attempt != unit.attempt:
            since = monotonic
            self._running[unit.id] = (unit.attempt, since)
        return since

    def _forget_beats(self, units: list[UnitOfWork]) -> None:
        present = {unit.id for unit in units}
        self._beats = {unit: beat for unit, beat in self._beats.items() if unit in present}
        self._running = {unit: seen for unit, seen in self._running.items() if unit in present}

    def _carry_out(
        self, judged: list[tuple[UnitOfWork, WorkingProcess, Judgement]], now: datetime
    ) -> Counter[Verdict]:
        moves = [
            _move(unit, judgement) for unit, _, judgement in judged if judgement.verdict in _MOVES
        ]
        publish: defaultdict[str, list[Hint]] = defaultdict(list)
        with self._store.batch() as batch:
            if any(_ends_a_run(process, judgement) for _, process, judgement in judged):
                batch.after_commit(lambda: self._bus.notify(AGENT_TOPIC))
            refused = {move.unit for move in self._store.units.move(moves, now)}
            counts: Counter[Verdict] = Counter()
            for unit, process, judgement in judged:
                if judgement.verdict is Verdict.LEAVE or unit.id in refused:
                    continue
                counts[judgement.verdict] += 1
                if judgement.verdict is Verdict.PUBLISH:
                    publish[process.queue].append(Hint(unit.id, unit.attempt))
                elif judgement.verdict is Verdict.HAND_OUT:
                    publish[process.queue].append(Hint(unit.id, unit.attempt + 1))
            for queue, hints in publish.items():
                messages = [UnitMessage(hint.unit, hint.attempt) for hint in hints]
                published = partial(self._store.units.published, hints, now)
                self._bus.publish(queue, messages, batch, published)
        return counts


def counts_of(done: Counter[Verdict], recovered: int, forgotten: int) -> CollectorCounts:
    """The counts of a run: units by verdict, completed writes, and deleted rows."""
    return CollectorCounts(
        publish=done[Verdict.PUBLISH],
        hand_out=done[Verdict.HAND_OUT],
        time_out=done[Verdict.TIME_OUT],
        cancel=done[Verdict.CANCEL],
        recovered=recovered,
        forgotten=forgotten,
    )


def _ends_a_run(process: WorkingProcess, judgement: Judgement) -> bool:
    return isinstance(process, FreerunProcess) and judgement.verdict is Verdict.CANCEL


_MOVES = {
    Verdict.HAND_OUT: UnitMove.HAND_OUT_AGAIN,
    Verdict.TIME_OUT: UnitMove.FAIL,
    Verdict.CANCEL: UnitMove.CANCEL,
}


def _move(unit: UnitOfWork, judgement: Judgement) -> UnitChange:
    is_timeout = judgement.verdict is Verdict.TIME_OUT
    # A running unit is not moved if a heartbeat came after it was read, unless it timed out.
    requires_silence = unit.state is UnitState.IN_PROGRESS and not is_timeout
    return move_unit(
        unit,
        _MOVES[judgement.verdict],
        judgement.why,
        journal.COLLECTOR,
        heartbeat=unit.heartbeat if requires_silence else None,
        is_failure=judgement.failed,
        not_before=judgement.again_at,
    )
