"""Commands about units of work: cancel one, hand one out again."""

from __future__ import annotations

from datetime import datetime
from functools import partial

from synergy.errors import Refused
from synergy.lifecycle.legal_moves import UnitMove
from synergy.lifecycle.state_changes import move_unit
from synergy.messaging.message import UnitMessage
from synergy.messaging.protocol import Bus
from synergy.model.actor import Actor
from synergy.model.process import Deployment
from synergy.model.unit_of_work import Hint, UnitOfWork, UnitState
from synergy.names import AGENT_TOPIC, SCHEDULER_TOPIC
from synergy.program import PROGRAM
from synergy.storage.protocol import Store


class UnitCommands:
    """Changes units of work; each method raises Refused if the unit's state does not allow it."""

    def __init__(self, store: Store, bus: Bus, deployment: Deployment) -> None:
        self._store = store
        self._bus = bus
        self._deployment = deployment

    def cancel(
        self, unit: UnitOfWork, actor: Actor, now: datetime, *, dry_run: bool = False
    ) -> None:
        """Cancels an unfinished unit; its job will fail, its run will be canceled."""
        self._move(unit, UnitMove.CANCEL, actor, now, dry_run=dry_run)

    def retry(
        self, unit: UnitOfWork, actor: Actor, now: datetime, *, dry_run: bool = False
    ) -> None:
        """Hands out an invalid unit again at once, and resets its count of failures.

        Raises Refused for the unit of a run, because a run is retried as a whole.
        """
        if unit.is_of_run:
            raise Refused(
                f"unit {unit.id} carries out a run: {PROGRAM} schedule retry {unit.id} runs it "
                f"again; {PROGRAM} schedule runs shows how runs ended"
            )
        if unit.state is UnitState.CANCELED:
            raise Refused(
                f"unit {unit.id} was canceled, and stays so: {PROGRAM} timetable retry "
                f"{unit.process} {unit.timeperiod} tries its period again, if that is failed; "
                "timetable reprocess starts a finished one over"
            )
        if unit.state is UnitState.IN_PROGRESS:
            raise Refused(f"unit {unit.id} is in progress: cancel it, or reprocess its job")
        self._move(unit, UnitMove.HAND_OUT_AGAIN, actor, now, dry_run=dry_run)

    def _move(
        self, unit: UnitOfWork, name: UnitMove, actor: Actor, now: datetime, *, dry_run: bool
    ) -> None:
        again = name is UnitMove.HAND_OUT_AGAIN
        move = move_unit(unit, name, actor.why, actor.who, forgive=again)
        if dry_run:
            return
        with self._store.batch() as batch:
            if self._store.units.move([move], now):
                raise Refused(f"unit {unit.id} was changed meanwhile; look again")
            if again:
                hint = Hint(unit.id, unit.attempt + 1)
                process = self._deployment.processes.get(unit.process)
                queue = process.queue if process is not None else unit.process
                message = UnitMessage(hint.unit, hint.attempt)
                published = partial(self._store.units.published, [hint], now)
                self._bus.publish(queue, [message], batch, published)
            batch.after_commit(partial(self._bus.notify, SCHEDULER_TOPIC))
            batch.after_commit(partial(self._bus.notify, AGENT_TOPIC))
