"""Makes runs from decisions, and puts launched runs into the queues of workers and deliverers.

The request of a run is fixed when it is launched: its template is filled with the values of its
due time, and later changes of the schedule do not affect it.
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
from synergy.lifecycle.legal_moves import RunMove
from synergy.lifecycle.state_changes import advance
from synergy.messaging.message import UnitMessage
from synergy.model.schedule import Run, RunState, Schedule
from synergy.names import DELIVERIES
from synergy.schedule.constraint import may_overlap
from synergy.schedule.definition import Definition
from synergy.schedule.progress.state import Made
from synergy.schedule.run_request import request_of
from synergy.storage.protocol import Batch

Announced = Callable[[Sequence[str]], object]  # called with the ids of runs with sent messages


class LocalDeliverer(Protocol):
    """The delivering half of the same agent; see `delivering.Deliverer`."""

    def claim_locally(self, runs: Sequence[Run]) -> list[Run]: ...

    def accept(self, runs: Sequence[Run]) -> None: ...

    def mark_uncertain(self, runs: Sequence[Run]) -> None: ...


class Launcher:
    """Makes runs, and publishes messages for those that are launched.

    Runs that this agent can send at once are launched and claimed in one step, without a message,
    because a thousand may be due together. `off` are the free-run processes that are switched off.
    """

    def __init__(self, context: AgentContext, deliverer: LocalDeliverer) -> None:
        self._context = context
        self.deliverer = deliverer
        self._processes = context.deployment.freerun()
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

        `is_free`: no other run of the schedule is unfinished, and this decision makes no other.
        """
        run = run_of(schedule, definition, made, now)
        is_held = bool(definition.constraints) or made.in_turn
        is_held |= not is_free and not may_overlap(definition)
        if made.ended_by is None and not is_held:
            return self.launched(run, definition, now)
        return run

    def launched(self, run: Run, definition: Definition, now: datetime) -> Run:
        """The run, launched, or aborted if its process is switched off."""
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
        """Publishes messages for launched runs without an owner, once the batch is durable."""
        deliveries: list[Run] = []
        workers: defaultdict[str, list[Run]] = defaultdict(list)
        for run in runs:
            if run.state is not RunState.LAUNCHED or run.owner is not None:
                continue
            if run.is_delivery:
                deliveries.append(run)
            elif run.program in self._processes:
                workers[run.program].append(run)
        context = self._context
        for process, some in workers.items():
            launch_worker(
                context.store, context.bus, some, self._processes[process], now, context.name, batch
            )
        if deliveries:
            ids = [run.id for run in deliveries]
            messages = [UnitMessage(run.id, run.attempt) for run in deliveries]
            context.bus.publish(DELIVERIES, messages, batch, lambda: announced(ids))
