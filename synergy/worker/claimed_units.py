"""The units that a worker process has claimed: one in progress, some waiting, some concluded.

The working thread and the heartbeat thread share them; both may call every method. It is noticed
here that a claim was lost: canceled, started over, or handed to another worker.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial

from synergy.errors import InvalidValue, LostAttempt, MessagingUnavailable, StorageUnavailable
from synergy.lifecycle.legal_moves import UnitMove
from synergy.lifecycle.reclaim import again_at, timed_out
from synergy.lifecycle.state_changes import conclude
from synergy.messaging.message import UnitMessage
from synergy.model.process import FreerunProcess, WorkingProcess
from synergy.model.unit_of_work import Conclusion, Hint, UnitOfWork
from synergy.names import AGENT_TOPIC, SCHEDULER_TOPIC
from synergy.runtime.workplace import Workplace
from synergy.worker.work_log import WorkLog

log = logging.getLogger(__name__)


class ClaimedUnits:
    """Keeps claims and conclusions together, and writes conclusions in groups."""

    def __init__(self, workplace: Workplace, records: WorkLog) -> None:
        self._workplace = workplace
        self._records = records
        self._lock = threading.RLock()
        self._waiting: deque[UnitOfWork] = deque()
        self._current: UnitOfWork | None = None
        self._since = 0.0
        self._concluded: list[tuple[UnitOfWork, Conclusion]] = []
        self._oldest = 0.0
        self._lost: Hint | None = None
        self._lost_since = 0.0
        self._late: tuple[UnitOfWork, Conclusion] | None = None  # timed out, and not yet written

    def add(self, units: Sequence[UnitOfWork]) -> None:
        """Adds claims, in the order of work."""
        with self._lock:
            self._waiting.extend(units)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is claimed and nothing remains to be written."""
        return not (self._waiting or self._concluded)

    def requeue(self, unit: UnitOfWork) -> None:
        """Makes the current unit the next one again, because the store or the bus was unavailable.

        A unit that timed out or was lost before is not carried out again.
        """
        with self._lock:
            self._current = None
            if self._late is not None:
                self._concluded.append(self._late)
                self._late = None
            elif self._lost != Hint(unit.id, unit.attempt):
                self._waiting.appendleft(unit)

    def next(self) -> UnitOfWork | None:
        """Begins the next unit; None if none is left.

        If the process is asked to stop, the waiting units are given back first.
        """
        with self._lock:
            if self._workplace.stop.is_set:
                self.give_back_waiting()
            self._current = self._waiting.popleft() if self._waiting else None
            self._since = self._workplace.clock.monotonic()
            return self._current

    def conclude(self, conclusion: Conclusion | None, flush_after: float) -> None:
        """Ends the current unit; writes conclusions once the oldest waits `flush_after` seconds."""
        now = self._workplace.clock.monotonic()
        with self._lock:
            current, self._current = self._current, None
            if current is not None and self._late is not None:
                conclusion, self._late = self._late[1], None
            if conclusion is not None and current is not None:
                if not self._concluded:
                    self._oldest = now
                self._concluded.append((current, conclusion))
            if self._concluded and now - self._oldest >= flush_after:
                self.flush()

    def flush(self) -> None:
        """Writes the conclusions, and the log lines of the work, in one commit."""
        with self._lock:
            if not self._concluded:
                self._records.flush(self._workplace.store.logs)
                return
            conclusions = [conclusion for _, conclusion in self._concluded]
            try:
                refused = self._write(conclusions)
            except InvalidValue:  # invalid rows fail only their own unit
                refused = [r for unit, one in self._concluded for r in self._write_one(unit, one)]
            refused = self._really_refused(refused)
            concluded, self._concluded = self._concluded, []
            for unit, conclusion in concluded:
                _log_conclusion(unit, conclusion, is_refused=conclusion in refused)

    def _write(self, conclusions: Sequence[Conclusion]) -> list[Conclusion]:
        store, bus = self._workplace.store, self._workplace.bus
        with store.batch() as batch:
            refused = store.units.conclude(conclusions, self._workplace.clock.now())
            self._records.flush(store.logs)
            batch.after_commit(lambda: bus.notify(SCHEDULER_TOPIC))
            if isinstance(self._workplace.process, FreerunProcess):
                batch.after_commit(lambda: bus.notify(AGENT_TOPIC))
        return refused

    def _really_refused(self, refused: Sequence[Conclusion]) -> list[Conclusion]:
        """The refused conclusions, except those that an earlier write with a lost answer made."""
        if not refused:
            return []
        found = self._workplace.store.units.get([conclusion.unit for conclusion in refused])
        rows = {unit.id: unit for unit in found}
        return [one for one in refused if not _is_written(one, rows.get(one.unit))]

    def _write_one(self, unit: UnitOfWork, conclusion: Conclusion) -> list[Conclusion]:
        try:
            return self._write([conclusion])
        except InvalidValue as error:
            return self._write([self.failure(unit, str(error), conclusion.counts)])

    def failure(
        self, unit: UnitOfWork, reason: str, counts: Mapping[str, int] | None = None
    ) -> Conclusion:
        """The conclusion of a failed attempt, with the time of the next one."""
        process, owner = self._workplace.process, self._workplace.owner
        assert isinstance(process, WorkingProcess)
        again = again_at(unit, process, self._workplace.clock.now())
        return conclude(unit, owner, UnitMove.FAIL, counts=counts, reason=reason, not_before=again)

    def checkpoint(self) -> None:
        """Raises LostAttempt if the current unit was lost.

        If the process is asked to stop at once, the current unit is given back, and so is lost.
        """
        with self._lock:
            current = self._current
            if current is not None and self._workplace.stop.is_urgent:
                self.give_back_current()
            if current is not None and self._lost == Hint(current.id, current.attempt):
                raise LostAttempt(f"unit {current.id} was lost")

    def running_for(self) -> float:
        """Seconds since the current unit was begun; 0 without one."""
        with self._lock:
            if self._current is None:
                return 0.0
            return self._workplace.clock.monotonic() - self._since

    def beat(self) -> None:
        """Advances the heartbeats of all claims, and notes which were lost."""
        with self._lock:
            held = [*([self._current] if self._current else []), *self._waiting]
            claims = [Hint(unit.id, unit.attempt) for unit in held]
            if claims:
                self._drop(self._workplace.store.units.heartbeat(claims, self._workplace.owner))

    def check_current(self) -> None:
        """Notes whether the current unit was lost, from its row."""
        with self._lock:
            current = self._current
            if current is None:
                return
            found = self._workplace.store.units.get([current.id])
            if not found or (found[0].attempt, found[0].owner) != (
                current.attempt,
                self._workplace.owner,
            ):
                self._lose(current)

    def time_out(self, timeout: float) -> None:
        """Concludes the current unit as failed if it has been running for so many seconds.

        If the store does not answer, the conclusion is written by the next call, or when the
        work ends.
        """
        with self._lock:
            current = self._current
            if current is None or self.running_for() < timeout:
                return
            if self._lost != Hint(current.id, current.attempt):
                self._late = (current, self.failure(current, timed_out(timeout)))
                self._records.stuck(current)
                self._lose(current)
            if self._late is not None:
                refused = self._really_refused(self._write([self._late[1]]))
                late, self._late = self._late, None
                _log_conclusion(*late, is_refused=bool(refused))

    def lost_for(self) -> float:
        """Seconds since the current unit was found lost; 0 if it was not."""
        with self._lock:
            current = self._current
            if current is None or self._lost != Hint(current.id, current.attempt):
                return 0.0
            return self._workplace.clock.monotonic() - self._lost_since

    def exit_if_abandoned(self, grace: float, end: Callable[[UnitOfWork], None]) -> None:
        """Calls `end` if the work on a unit that was lost `grace` seconds ago still goes on.

        Before that it concludes the finished units and gives the waiting ones back, even if the
        store is slow; no unit is begun meanwhile.
        """
        with self._lock:
            current = self._current
            if current is None or self.lost_for() < grace:
                return
            if self._concluded:
                self.flush()
            self.give_back_waiting()
            with suppress(StorageUnavailable):  # the lines are lost, but the process must end
                self._records.flush(self._workplace.store.logs)
            end(current)

    def give_back_waiting(self) -> None:
        """Gives back the waiting units, for other instances to claim."""
        with self._lock:
            self._give_back(list(self._waiting))
            self._waiting.clear()

    def give_back_current(self) -> None:
        """Gives back the current unit; its work no longer has an effect."""
        with self._lock:
            if self._current is None:
                return
            if self._lost != Hint(self._current.id, self._current.attempt):
                self._give_back([self._current])
                self._lose(self._current)

    def _give_back(self, units: list[UnitOfWork]) -> None:
        if not units:
            return
        claims = [Hint(unit.id, unit.attempt) for unit in units]
        workplace = self._workplace
        store, bus, now = workplace.store, workplace.bus, workplace.clock.now()
        try:
            with store.batch() as batch:
                given = store.units.give_back(claims, workplace.owner, now)
                hints = [Hint(unit.id, unit.attempt) for unit in given]
                messages = [UnitMessage(hint.unit, hint.attempt) for hint in hints]
                published = partial(store.units.published, hints, now)
                batch.after_commit(lambda: bus.notify(SCHEDULER_TOPIC))
                bus.publish(workplace.process.queue, messages, batch, published)
        except MessagingUnavailable as error:
            # The collector will publish them.
            log.warning(
                "Units are given back without messages: %s",
                error,
                extra={"event": "worker.untold"},
            )

    def _lose(self, current: UnitOfWork) -> None:
        mine = Hint(current.id, current.attempt)
        if self._lost != mine:
            self._lost, self._lost_since = mine, self._workplace.clock.monotonic()

    def _drop(self, lost: Sequence[Hint]) -> None:
        gone = set(lost)
        current = self._current
        if current is not None and Hint(current.id, current.attempt) in gone:
            self._lose(current)
        self._waiting = deque(u for u in self._waiting if Hint(u.id, u.attempt) not in gone)


def _is_written(conclusion: Conclusion, row: UnitOfWork | None) -> bool:
    mine = conclusion.attempt, conclusion.owner, conclusion.state
    return row is not None and (row.attempt, row.owner, row.state) == mine


def _log_conclusion(unit: UnitOfWork, conclusion: Conclusion, *, is_refused: bool) -> None:
    word = "refused" if is_refused else conclusion.state.value
    why = f": {conclusion.reason}" if conclusion.reason else ""
    log.log(
        logging.WARNING if is_refused else logging.INFO,
        "Unit %s of %s is %s%s",
        unit.id,
        unit.timeperiod,
        word,
        why,
        extra={
            "event": f"unit.{word}",
            "process_name": unit.process,
            "unit": unit.id,
            "timeperiod": unit.timeperiod,
        },
    )
