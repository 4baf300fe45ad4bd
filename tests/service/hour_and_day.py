"""An hourly process under a daily one, and workers that fail or hold their units."""

from __future__ import annotations

from typing import Any

from synergy.model.process import StateMachine
from synergy.model.unit_of_work import Hint, UnitOfWork
from synergy.worker.outcome import Outcome
from synergy.worker.task import Task
from tests.deployments import DAILY, HOURLY, a_deployment, a_process
from tests.service.scheduler_harness import SchedulerHarness


def hour_and_day(machine: StateMachine = StateMachine.DISCRETE, **fields: Any):
    """An hourly process and the daily one above it."""
    return a_deployment(
        {
            "site": [
                a_process("Day", DAILY, source="hour", sink="day", state_machine=machine, **fields),
                a_process(
                    "Hour", HOURLY, source="raw", sink="hour", state_machine=machine, **fields
                ),
            ]
        }
    )


def fail(_task: Task) -> Outcome:
    raise ValueError("no")


def claimed(system: SchedulerHarness, process: str) -> UnitOfWork:
    """A unit of the process, claimed by a worker that never concludes it."""
    consumer = system.bus.consumer(process)
    with system.store.batch() as batch:
        hints = [Hint(d.message.unit, d.message.attempt) for d in consumer.take(9, batch)]
        (unit,) = system.store.units.claim(hints, "somebody", system.clock.now())
    consumer.close()
    return unit
