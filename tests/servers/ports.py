"""Ports for servers that begin to listen later, of which nobody else is given the same."""

from __future__ import annotations

import socket
from contextlib import closing, suppress
from random import SystemRandom

_NEVER_GIVEN_OUT = (20_000, 32_000)
_RANDOM = SystemRandom()  # the other one is seeded by tests

_kept: list[socket.socket] = []


def free_port(host: str = "127.0.0.1") -> int:
    """A port that nobody listens on, and that no other test of this machine will listen on.

    It may take seconds until somebody listens, so it is none of those that systems give to
    connections that go out; and tests that run side by side tell each other by a name which ones
    are taken, for as long as this process lives.
    """
    while True:
        port = _RANDOM.randrange(*_NEVER_GIVEN_OUT)
        name = socket.socket(socket.AF_UNIX)
        try:
            name.bind(f"\0synergy-test-port-{port}")
        except OSError:
            name.close()
            continue
        with closing(socket.socket()) as probe, suppress(OSError):
            probe.bind((host, port))
            _kept.append(name)
            return port
        name.close()
