"""Workers that a test can hold while they process a unit.

`SYNERGY_TEST_GATES` names a folder. A unit whose gate (`PROCESS-TIMEPERIOD`, a FIFO) exists waits
until the test opens the other end. Once the gate is renamed, later attempts do not wait.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from uuid import uuid4

from synergy.worker import Processed, Task, Worker
from workers.site_daily_aggregator import SiteDailyAggregator

GATES = "SYNERGY_TEST_GATES"


def shut(folder: Path, process: str, timeperiod: str) -> Path:
    """Creates the gate at which units of the job wait."""
    folder.mkdir(exist_ok=True)
    gate = folder / f"{process}-{timeperiod}"
    os.mkfifo(gate)
    return gate


def take_away(gate: Path) -> Path:
    """Renames the gate: later attempts pass, and a unit that waits at it goes on waiting."""
    return gate.rename(gate.with_suffix(f".{uuid4().hex}"))


def open_(gate: Path) -> None:
    """Releases the unit that waits at the gate."""
    os.close(os.open(gate, os.O_RDWR | os.O_NONBLOCK))


def let_through(gate: Path) -> None:
    """Releases the unit that waits at the gate and lets later attempts pass."""
    open_(take_away(gate))


def wait_at_gate(task: Task) -> None:
    """Returns once the gate of the unit's job is open or does not exist."""
    gate = Path(os.environ[GATES]) / f"{task.process.name}-{task.timeperiod}"
    try:
        with gate.open():
            pass
    except FileNotFoundError:
        return


class GatedDailyAggregator(SiteDailyAggregator):
    """The suite's daily aggregator; it waits at a gate before it returns its result."""

    def work(self, task: Task) -> object:
        outcome = super().work(task)
        wait_at_gate(task)
        return outcome


class Copier(Worker):
    """Adds up its source; each row says which attempt and generation of the unit wrote it."""

    unique_by = ("domain",)

    def work(self, task: Task) -> Processed:
        sums: Counter[str] = Counter()
        for row in task.source:
            sums[str(row["domain"])] += int(str(row["n"]))
        wait_at_gate(task)
        unit = task.unit
        rows = [
            {"domain": domain, "n": n, "attempt": unit.attempt, "generation": unit.generation}
            for domain, n in sums.items()
        ]
        return Processed({"rows": task.sink.replace(task.timeperiod, rows)})
