"""Free-run processes: workers that a test can hold during a run, and programs.

A worker waits while there is a gate (a FIFO) of its process's name in the folder that
`SYNERGY_TEST_GATES` names.
"""

import os
from pathlib import Path

from synergy.config.context import freerun_context_entry
from synergy.worker import Processed, Task, Worker
from tests.acceptance.deployments.entries import a_daemon
from tests.acceptance.deployments.gates import GATES


class Held(Worker):
    """Counts its arguments, once its gate is open."""

    def work(self, task: Task) -> Processed:
        try:
            with Path(os.environ[GATES], task.process.name).open():
                pass
        except FileNotFoundError:
            pass
        return Processed({"arguments": len(task.arguments)})


def held(name, **fields):
    return freerun_context_entry(
        process_name=name,
        classname="tests.acceptance.deployments.free.Held.start",
        present_on_boxes=[".*"],
        arguments={"a": 1, "b": 2},
        **fields,
    )


process_context = {
    "Scheduler": a_daemon("Scheduler", "synergy.scheduler.scheduler.Scheduler.start"),
    "Agent": a_daemon("Agent", "synergy.agent.agent.Agent.start"),
    "Once": held("Once"),
    "Twice": held("Twice", max_attempts=2, retry_backoff="0s", instances=2),
    "Program": freerun_context_entry(
        process_name="Program",
        command=["sh", "-c", "echo $$0 $$1; exit $$2", "${run}", "${timeperiod}", "${code}"],
        arguments={"code": 0},
        present_on_boxes=[".*"],
    ),
    "Ticking": freerun_context_entry(
        process_name="Ticking",
        command=["true"],
        trigger_frequency="every 1",
        present_on_boxes=[".*"],
    ),
}
timetable_context: dict[str, object] = {}
schedule_context: dict[str, object] = {}
