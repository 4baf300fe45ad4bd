"""Daemons that the contexts of `test_compose` name."""

from __future__ import annotations

import os
import signal

from synergy.runtime.workplace import Daemon, Workplace

met: list[Workplace] = []


class Visitor(Daemon):
    """Records its workplace and ends."""

    def start(self) -> None:
        self.workplace.store.facts.set("visitor", self.workplace.owner)
        met.append(self.workplace)


class Patient(Daemon):
    """Sends itself SIGTERM, and waits until it is asked to stop."""

    def start(self) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        if not self.workplace.stop.wait(30):
            raise TimeoutError("the signal did not arrive")


class Failing(Daemon):
    """Fails at once."""

    def start(self) -> None:
        raise ValueError("amqp://me:secret@host is not there")
