"""From decisions to runs, and from launched runs to who carries them out.

What a run sends, or works on, is fixed when it is launched: the values of its template are those
of its due time, and nothing that happens later changes them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Protocol

from synergy.agent.context import AgentContext
from synergy.commands.run_units import launch_worker
from synergy.commands.schedule_rows import run_of
from synergy.lifecycle.moves import advance
from synergy.lifecycle.transitions import RunMove
from synergy.messaging.message import UnitMessage
from synergy.model.schedule import Run, RunState, Schedule
from synergy.schedule.definition import Definition, WorkerProgram
from synergy.schedule.progress.transitions import Made
from synergy.schedule.run_request import request_of
from synergy.storage.protocol import Batch

DELIVERIES = "deliveries"  # the queue of runs that agents are to send

Announced = Callable[[Sequence[str]], object]  # is told which runs messages were sent for


class LocalDeliverer(Protocol):
    """The delivering half of the same agent; see `delivering.Deliverer`."""

    def own(self, runs: Sequence[Run]) -> list[Run]: ...

    def take(self, runs: Sequence[Run]) -> None: ...

    def doubt(self, runs: Sequence[Run]) -> None: ...


class Launcher:
    """Makes runs, and hands those that are launched to who carries them out.

    What this agent can send by itself at once is launched and claimed in one step: a thousand
    runs that are due together need no messages then. `off` are the free-run processes that are
    switched off.
    """

    def __init__(self, kit: AgentContext, hands: LocalDeliverer) -> None:
        self._kit = kit
        self.hands = hands
        self._processes = kit.deployment.freerun()
        self.off: frozenset[str] = frozenset()

    def made(
        self,
        schedule: Schedule,
        definition: Definition,
        made: Made,
        now: datetime,
        *,
        is_free: bool,
    ) -> Run:
        """The run that a decision makes; launched at once if nothing can hold it back.

        `is_free`: no other run of the schedule is under way, or about to be.
        """
        run = run_of(schedule, definition, made, now)
        is_held = bool(definition.constraints) or made.in_turn
        if isinstance(definition.program, WorkerProgram):
            is_held |= not is_free  # without a constraint it runs once at a time
        if made.ended_by is None and not is_held:
            return self.launched(run, definition, now)
        return run

    def launched(self, run: Run, definition: Definition, now: datetime) -> Run:
        """The run, launched; or aborted, if its process is switched off."""
        if run.program in self.off:
            why = f"{run.program} is switched off"
            return advance(run, RunMove.ABORT, now, why)
        return replace(
            advance(run, RunMove.LAUNCH, now),
            request=request_of(run, definition),
            detail=replace(run.detail, waits=()),
        )

    def hand_out(
        self, runs: Iterable[Run], now: datetime, batch: Batch, announced: Announced
    ) -> None:
        """Tells who is to carry out those that are launched, when the batch is durable."""
        deliveries: list[Run] = []
        workers: defaultdict[str, list[Run]] = defaultdict(list)
        for run in runs:
            if run.state is not RunState.LAUNCHED or run.owner is not None:
                continue
            if run.is_delivery:
                deliveries.append(run)
            elif run.program in self._processes:
                workers[run.program].append(run)
        kit = self._kit
        for process, some in workers.items():
            launch_worker(kit.store, kit.bus, some, self._processes[process], now, kit.who, batch)
        if deliveries:
            ids = [run.id for run in deliveries]
            messages = [UnitMessage(run.id, run.attempt) for run in deliveries]
            kit.bus.publish(DELIVERIES, messages, batch, lambda: announced(ids))
