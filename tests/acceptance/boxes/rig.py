"""Three boxes: a store, a broker and a scheduler on A, a scheduler and workers on B, workers on C.

Each box has its own home, supervisor and machine; methods of a box act on its machine.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from synergy.storage.protocol import Store
from tests.acceptance.boxes.commands import Commands
from tests.acceptance.boxes.network import Machine
from tests.acceptance.kit import CommandResult, Home, kill

CONTEXT = "tests.acceptance.deployments.three_boxes"
NAMES = ("box-a", "box-b", "box-c")


class Box(Home):
    """A home on a machine of its own."""

    def __init__(self, machine: Machine, path: Path, commands: Commands, **variables: str) -> None:
        super().__init__(path, **{"box_id": machine.name, **variables})
        self.machine = machine
        self.commands = commands

    def begin(self, *argv: object, **more: str) -> subprocess.Popen[str]:
        with self.machine.inside():
            return super().begin(*argv, **more)

    def run(self, *argv: object, code: int | None = 0, **more: str) -> CommandResult:
        words, environment = [str(word) for word in argv], self.environment(**more)
        limit = 2 * self.limit
        done = CommandResult(*self.commands.run(self.machine, words, environment, limit))
        assert code is None or done.code == code, (argv, done)
        return done

    @contextmanager
    def store(self) -> Iterator[Store]:
        with self.machine.inside(), super().store() as store:
            yield store

    def kill_all(self) -> None:
        """kill -9 of the supervisor and all its processes at once."""
        victims = {self.supervisor(), *self.marked()} - {0}
        for pid in victims:
            os.kill(pid, signal.SIGKILL)
        for pid in victims:
            kill(pid)


@contextmanager
def boxes(
    machines: Sequence[Machine], folder: Path, commands: Commands, **variables: str
) -> Iterator[list[Box]]:
    """A box on each machine, in one deployment; at the end no process may be left."""
    made = [Box(m, folder / m.name, commands, context=CONTEXT, **variables) for m in machines]
    with ExitStack() as ending:
        for box in made:
            ending.callback(box.end)
            ending.callback(box.machine.join)
        yield made
