"""Three boxes: a store, a broker and a scheduler on A, a scheduler and workers on B, workers on C.

Each box has a home, a supervisor and a machine of its own; what a test does on a box, it does on
its machine.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from synergy import compose
from synergy.compose import Project
from synergy.storage.protocol import Store
from tests.acceptance.boxes.network import Machine
from tests.acceptance.kit import PROJECT, Home, kill

CONTEXT = "tests.acceptance.deployments.three_boxes"
PATIENCE = "timeoutMS=120000&connectTimeoutMS=60000"
NAMES = ("box-a", "box-b", "box-c")


class Box(Home):
    """A home on a machine of its own."""

    def __init__(self, machine: Machine, path: Path, **variables: str) -> None:
        super().__init__(path, **{"box_id": machine.name, **variables})
        self.machine = machine

    def begin(self, *argv: object, **more: str) -> subprocess.Popen[str]:
        with self.machine.inside():
            return super().begin(*argv, **more)

    def ask(self, *argv: object, code: int | None = 0, **more: str) -> Any:
        """What a command answers, however busy the stand-in for the store's server is."""
        if argv[0] != "supervisor":  # whose processes are to notice that it does not answer
            more = {"store": self.patient_store, **more}
        return super().ask(*argv, code=code, **more)

    def audit(self, **more: str) -> Any:
        return super().audit(store=self.patient_store, **more)

    def project(self) -> Project:
        return compose.open_project(PROJECT, self.environment(store=self.patient_store))

    @property
    def patient_store(self) -> str:
        """The store, for somebody who has the time to wait for it."""
        return f"{self.variables['store']}?{PATIENCE}"

    @contextmanager
    def store(self) -> Iterator[Store]:
        with self.machine.inside(), super().store() as store:
            yield store

    def kill_all(self) -> None:
        """kill -9 of the supervisor and all its processes, in one moment."""
        victims = {self.supervisor(), *self.marked()} - {0}
        for pid in victims:
            os.kill(pid, signal.SIGKILL)
        for pid in victims:
            kill(pid)


@contextmanager
def boxes(machines: Sequence[Machine], folder: Path, **variables: str) -> Iterator[list[Box]]:
    """A box on each machine, of one deployment; at the end nothing may be left of them."""
    made = [Box(m, folder / m.name, context=CONTEXT, **variables) for m in machines]
    with ExitStack() as ending:
        for box in made:
            ending.callback(box.end)
            ending.callback(box.machine.join)
        yield made
