"""Carries out units from the queue: claim, run, conclude.

Short units are claimed, and their conclusions written, in groups, because a durable commit costs
more than everything else. A group grows while its units are short. If one of them takes long, the
`Heartbeat`, a second thread that also sends heartbeats and checks for lost units, concludes the
finished ones and gives the waiting ones back.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from synergy.errors import LostAttempt, MessagingUnavailable, StorageUnavailable
from synergy.lifecycle.state_changes import conclude
from synergy.messaging.message import UnitMessage
from synergy.messaging.protocol import Delivery, Puller
from synergy.model import journal
from synergy.model.journal_event import JournalEvent
from synergy.model.process import FreerunProcess, ManagedProcess, WorkingProcess
from synergy.model.schedule import Run
from synergy.model.unit_of_work import Conclusion, Hint, UnitOfWork, UnitState
from synergy.names import SCHEDULER_TOPIC
from synergy.runtime.masking import mask
from synergy.runtime.workplace import Workplace
from synergy.storage.protocol import Batch
from synergy.worker.attempt import Attempt, Work
from synergy.worker.claimed_units import ClaimedUnits
from synergy.worker.heartbeat import End, Heartbeat
from synergy.worker.loop import repeat
from synergy.worker.work_log import WorkLog, storable

SHORT_SECONDS = 0.02  # a longer group is written in parts, and makes the next one smaller
LARGEST_GROUP = 64
_CAME_BACK = 70  # an internal error, by the convention of sysexits

log = logging.getLogger(__name__)


def run_units(workplace: Workplace, work: Work, unique_by: tuple[str, ...]) -> None:
    """Carries out units until the process is asked to stop."""
    runner = UnitRunner(workplace, work, unique_by)
    announce(workplace)
    try:
        repeat(workplace, runner.round)
    finally:
        runner.close()


def announce(workplace: Workplace) -> None:
    """Notifies the collector that a worker started: it may replace a worker that died."""
    entry = journal.process_started(workplace.process.name, workplace.owner, workplace.clock.now())
    with suppress(StorageUnavailable):
        workplace.store.journal.append([entry])
    workplace.bus.notify(SCHEDULER_TOPIC)


class UnitRunner:
    """Carries out the units of one process, one after the other."""

    def __init__(
        self,
        workplace: Workplace,
        work: Work,
        unique_by: tuple[str, ...],
        end: End = os._exit,
    ) -> None:
        """`end` ends the process with an exit code, whatever its threads do."""
        assert isinstance(workplace.process, WorkingProcess)
        self._process = workplace.process
        self._workplace = workplace
        self._work = work
        self._unique_by = unique_by
        self._records = WorkLog(workplace.clock)
        self._claims = ClaimedUnits(workplace, self._records)
        self._heartbeat = Heartbeat(workplace, self._claims, end)
        self._runs: dict[str, Run] = {}  # the runs of the claimed units, by id
        self._group = 1
        # A worker's death is a failure of all its claims. If one failure is enough to fail a
        # period, the worker claims only the unit that it carries out.
        is_last = isinstance(self._process, ManagedProcess) and self._process.max_attempts == 1
        self._largest = 1 if is_last else LARGEST_GROUP
        self._unanswered: list[Hint] = []  # claims whose answer has not arrived

    @property
    def is_idle(self) -> bool:
        """Whether it holds no unit, and nothing remains to be written."""
        return self._claims.is_empty and not self._unanswered

    def close(self) -> None:
        self._heartbeat.stop()
        self._records.close()

    def round(self, puller: Puller) -> bool:
        """Claims a group of units and carries it out; returns False if the queue was empty.

        Claims and conclusions that remain from a store failure come before new claims.
        """
        if self._claims.is_empty and not self._take(puller):
            return False
        clock = self._workplace.clock
        began = clock.monotonic()
        with self._heartbeat:
            while (unit := self._claims.next()) is not None:
                self._claims.conclude(self._attempt(unit), flush_after=SHORT_SECONDS)
            # Only the work is measured: a slow commit must not make groups smaller.
            short = clock.monotonic() - began < SHORT_SECONDS
            self._claims.flush()
        self._group = min(self._group * 2, self._largest) if short else max(self._group // 2, 1)
        return True

    def _take(self, puller: Puller) -> bool:
        if self._unanswered and self._take_claimed():
            return True
        store = self._workplace.store
        with store.batch() as batch:
            deliveries = puller.take(self._group, batch)
            self._unanswered = list(_hints(puller, deliveries, batch))
            now = self._workplace.clock.now()
            owner = self._workplace.owner
            claims = store.units.claim(self._unanswered, owner, now) if self._unanswered else []
            runs = self._read_runs(claims)
        self._keep(claims, runs)
        return bool(deliveries)

    def _take_claimed(self) -> bool:
        """Keeps claims that were written although the answer was lost."""
        asked, owner = set(self._unanswered), self._workplace.owner
        found = self._workplace.store.units.get([hint.unit for hint in asked])
        claims = [
            unit
            for unit in found
            if Hint(unit.id, unit.attempt) in asked
            and (unit.state, unit.owner) == (UnitState.IN_PROGRESS, owner)
        ]
        self._keep(claims, self._read_runs(claims))
        return bool(claims)

    def _read_runs(self, claims: Sequence[UnitOfWork]) -> dict[str, Run]:
        """The runs that the units carry out, by id, in one read."""
        if not claims or not isinstance(self._process, FreerunProcess):
            return {}
        found = self._workplace.store.runs.get([unit.id for unit in claims])
        return {run.id: run for run in found}

    def _keep(self, claims: Sequence[UnitOfWork], runs: dict[str, Run]) -> None:
        self._unanswered, self._runs = [], runs
        self._claims.add(claims)

    def _attempt(self, unit: UnitOfWork) -> Conclusion | None:
        """Carries out one unit; returns None if it was lost meanwhile, or given back."""
        claims, documents = self._claims, self._workplace.store.documents
        run, unique_by = self._runs.get(unit.id), self._unique_by
        attempt = Attempt(self._process, unit, documents, unique_by, claims.checkpoint, run)
        try:
            with self._records.of(unit), _alone():
                done = attempt.carry_out(self._work)
        except LostAttempt:
            return None
        except (StorageUnavailable, MessagingUnavailable):
            self._claims.requeue(unit)
            raise
        except (Exception, SystemExit) as error:  # noqa: BLE001 - work may fail in any way
            return self._failed(unit, error)
        owner = self._workplace.owner
        return conclude(unit, owner, done.move, counts=done.counts, writes=done.writes)

    def _failed(self, unit: UnitOfWork, error: BaseException) -> Conclusion:
        reason = storable(mask(f"{type(error).__name__}: {error}")[:4000])
        self._records.failure(unit, error)
        extra = {
            "event": JournalEvent.UNIT_INVALID,
            "process_name": unit.process,
            "timeperiod": unit.timeperiod,
            "unit": unit.id,
        }
        log.warning("Unit %s failed: %s", unit.id, reason, extra=extra)
        return self._claims.failure(unit, reason)


@contextmanager
def _alone() -> Iterator[None]:
    """Ends a process that the work forked and that comes back from it.

    It has the store and the claims of its parent, and would be a second worker with them.
    """
    own = os.getpid()
    try:
        yield
    finally:
        if os.getpid() != own:
            os._exit(_CAME_BACK)


def _hints(puller: Puller, deliveries: Sequence[Delivery], batch: Batch) -> Iterator[Hint]:
    """The hints in messages about units; other messages are put into quarantine."""
    for delivery in deliveries:
        match delivery.message:
            case UnitMessage(unit, attempt):
                yield Hint(unit, attempt)
            case _:
                puller.reject(delivery, "expected a unit", batch)
