"""Workers that a test can hold in the midst of a unit.

`SYNERGY_TEST_GATES` names a folder. A unit whose gate (`PROCESS-TIMEPERIOD`, a FIFO) is there
waits until somebody opens the other end, or takes the gate away for later attempts.
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
    """Puts a gate in the way of the units of a job."""
    folder.mkdir(exist_ok=True)
    gate = folder / f"{process}-{timeperiod}"
    os.mkfifo(gate)
    return gate


def take_away(gate: Path) -> Path:
    """Takes the gate out of the way of later attempts; whoever waits at it, waits on."""
    return gate.rename(gate.with_suffix(f".{uuid4().hex}"))


def open_(gate: Path) -> None:
    """Lets whoever waits at the gate go on."""
    os.close(os.open(gate, os.O_RDWR | os.O_NONBLOCK))


def let_through(gate: Path) -> None:
    """Takes the gate away and lets whoever waits at it go on."""
    open_(take_away(gate))


def wait_at_gate(task: Task) -> None:
    """Does not return while the gate of the unit's job is shut."""
    gate = Path(os.environ[GATES]) / f"{task.process.name}-{task.timeperiod}"
    try:
        with gate.open():
            pass
    except FileNotFoundError:
        return


class GatedDailyAggregator(SiteDailyAggregator):
    """The suite's daily aggregator, with a gate in front of its result."""

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
