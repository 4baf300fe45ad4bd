"""What one client can hold or keep busy: bodies that are refused, connections, handshakes."""

from __future__ import annotations

import socket
from contextlib import closing

import pytest

from synergy.mx.access import Role
from synergy.mx.protection import connection
from tests.mx.server_kit import LIMIT, running

TRIES = 400  # to see that a connection has ended, each a twentieth of a second


def begun(port, path, token, rest):
    """A connection that has sent the head of a request and one byte of its body."""
    line = socket.create_connection(("127.0.0.1", port), LIMIT)
    line.sendall(
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: application/json\r\n{rest}\r\n\r\n".encode()
    )
    return closing(line)


def status_of(line):
    return line.recv(65536)[:12]


def ends_while_sending(line):
    """Whether the other side ends a connection although bytes continue to arrive."""
    line.settimeout(0.05)
    for _ in range(TRIES):
        try:
            line.sendall(b"{")
            if not line.recv(65536):
                return True
        except TimeoutError:
            continue
        except ConnectionError:
            return True
    return False


@pytest.mark.parametrize("rest", ["Content-Length: 1000000", "Transfer-Encoding: chunked"])
def test_a_token_for_events_has_no_other_body_read(secured, secured_place, rest):
    token = secured.token("ada", Role.EVENTS)
    with running(secured_place) as (_, port):
        for path in ("/api/v1/jobs/skip", "/api/v1/schedules", "/login", "/nothing"):
            with begun(port, path, token, rest) as line:
                assert status_of(line) == b"HTTP/1.1 403", path


def test_a_refused_body_does_not_hold_its_connection(secured, secured_place, monkeypatch):
    monkeypatch.setattr(connection, "REST_SECONDS", 0.1)
    token = secured.token("ada", Role.EVENTS)
    with (
        running(secured_place) as (_, port),
        begun(port, "/api/v1/jobs/skip", token, "Content-Length: 100000") as line,
    ):
        assert status_of(line) == b"HTTP/1.1 403"
        assert ends_while_sending(line)
