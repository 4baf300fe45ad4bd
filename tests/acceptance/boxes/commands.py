"""Runs commands on machines from a single-threaded process, so that forking is safe."""

from __future__ import annotations

import importlib
import multiprocessing
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection

from tests.acceptance import forked
from tests.acceptance.boxes.network import Machine

SERVERS = (
    "synergy.messaging.rabbitmq",
    "synergy.storage.mongodb",
)  # imported once, before the forks


class Commands:
    """Runs commands on any of the machines, one at a time."""

    def __init__(self, machines: Sequence[Machine], ours: Connection) -> None:
        self._names = [machine.name for machine in machines]
        self._ours = ours

    def run(
        self, machine: Machine, argv: Sequence[str], environment: Mapping[str, str], limit: float
    ) -> tuple[int, str, str]:
        """See `forked.run`."""
        self._ours.send((self._names.index(machine.name), argv, environment, limit))
        answer: tuple[int, str, str] | Exception = self._ours.recv()
        if isinstance(answer, Exception):
            raise answer
        return answer


@contextmanager
def commands(machines: Sequence[Machine]) -> Iterator[Commands]:
    """Starts the process that runs commands; the test must have one thread then."""
    ours, theirs = multiprocessing.Pipe()
    context = multiprocessing.get_context("fork")
    process = context.Process(target=_serve, args=(machines, ours, theirs), daemon=True)
    process.start()
    theirs.close()
    try:
        yield Commands(machines, ours)
    finally:
        ours.close()
        process.join()


def _serve(machines: Sequence[Machine], ours: Connection, theirs: Connection) -> None:
    """Runs commands until the other end of the pipe is closed."""
    ours.close()
    for module in SERVERS:
        importlib.import_module(module)
    with suppress(EOFError):
        while True:
            number, *command = theirs.recv()
            try:
                with machines[number].inside():
                    theirs.send(forked.run(*command))
            except Exception as error:  # noqa: BLE001 - raised where the command was asked for
                theirs.send(error)
