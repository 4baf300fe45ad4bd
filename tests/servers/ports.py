"""Ports for servers that begin to listen later; no port is given out twice."""

from __future__ import annotations

import socket
from contextlib import closing, suppress
from random import SystemRandom

_NEVER_GIVEN_OUT = (20_000, 32_000)
_RANDOM = SystemRandom()  # tests seed the global generator

_kept: list[socket.socket] = []


def free_port(host: str = "127.0.0.1") -> int:
    """Returns a free port that no other test on this machine is given.

    A server may take seconds to listen, so the port is outside the range for outgoing connections.
    Tests that run at the same time reserve ports through names of sockets, as long as the process
    lives.
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
