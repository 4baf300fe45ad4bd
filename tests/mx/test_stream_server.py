"""The stream by a real server: who reads nothing keeps nobody, and does not last."""

from __future__ import annotations

import socket
import threading

import pytest

from synergy.mx.protection import timeouts
from tests.factories import an_entry
from tests.mx.test_security_server import LIMIT, place, running

__all__ = ["place"]

REQUEST = b"GET /api/v1/stream HTTP/1.1\r\nHost: localhost\r\n\r\n"
LONG = "x" * 100_000


@pytest.fixture
def lost(monkeypatch):
    """Set when the server has let go of a connection."""
    lost, let_go = threading.Event(), timeouts.ConnectionTimeouts.connection_lost

    def noted(self, exc):
        let_go(self, exc)
        lost.set()

    monkeypatch.setattr(timeouts.ConnectionTimeouts, "connection_lost", noted)
    return lost


def until(connection, text):
    heard = b""
    while text not in heard:
        heard += connection.recv(65_536)
    return heard


def test_who_reads_nothing_is_let_go_of_and_others_are_told(world, place, monkeypatch, lost):
    monkeypatch.setattr(timeouts, "READ_SECONDS", 0.1)
    with running(place) as (_, port):
        deaf = socket.create_connection(("127.0.0.1", port), LIMIT)
        deaf.sendall(REQUEST)
        until(deaf, b": listening")
        world.store.journal.append([an_entry("job.noop", why=LONG) for _ in range(200)])
        assert lost.wait(LIMIT)
        with socket.create_connection(("127.0.0.1", port), LIMIT) as keen:
            keen.sendall(REQUEST)
            until(keen, b": listening")
            world.store.journal.append([an_entry("job.skipped")])
            until(keen, b"job.skipped")
        deaf.close()
