"""What one client can hold: connections, handshakes, the rest of a body that was refused."""

from __future__ import annotations

import http.client
import socket
import ssl
from contextlib import ExitStack, closing
from dataclasses import replace

import pytest

from synergy.mx.access import Role
from synergy.mx.protection import acceptor, connection, origins
from synergy.mx.protection.acceptor import OF_OTHERS, OF_THIS_MACHINE
from tests.another_user import as_nobody, needs_root
from tests.mx.server_kit import LIMIT, running
from tests.servers.certificates import Authority

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


def ends_while_sending(line, text=b"{" * TRIES):
    """Whether the other side ends a connection although bytes continue to arrive."""
    line.settimeout(0.05)
    for byte in text:
        try:
            line.sendall(bytes([byte]))
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


# Connections


def connect(port, source):
    return socket.create_connection(("127.0.0.1", port), LIMIT, (source, 0))


def status_from(port, source="127.0.0.1"):
    """The status of a response to a request from this address; 0 if it was not accepted."""
    with closing(http.client.HTTPConnection("127.0.0.1", port, LIMIT, (source, 0))) as line:
        try:
            line.request("GET", "/livez")
            return line.getresponse().status
        except OSError:
            return 0


def hold(port, source, number):
    """Connections that stay open until this is closed."""
    held = ExitStack()
    for _ in range(number):
        held.enter_context(connect(port, source))
    return held


@pytest.fixture
def far_away(monkeypatch):
    """MX takes all addresses for those of other machines, 127.0.0.2 for another one than .3."""
    for module in (acceptor, origins):
        monkeypatch.setattr(module, "is_loopback", lambda _: False)


def test_one_address_does_not_take_all_connections(place, far_away):
    with running(place) as (_, port):
        with hold(port, "127.0.0.2", OF_OTHERS + 10):
            assert status_from(port, "127.0.0.2") == 0
            assert status_from(port, "127.0.0.3") == 200
        assert any(status_from(port, "127.0.0.2") == 200 for _ in range(TRIES))  # once they ended


def test_other_machines_do_not_take_the_connections_of_this_one(place, monkeypatch):
    needs = {"127.0.0.9"}
    for module in (acceptor, origins):
        monkeypatch.setattr(module, "is_loopback", lambda address: address in needs)
    with running(place) as (_, port), ExitStack() as held:
        for number in range(20, 30):
            held.enter_context(hold(port, f"127.0.0.{number}", 40))
        assert status_from(port, "127.0.0.8") == 0
        assert status_from(port, "127.0.0.9") == 200


def test_one_user_of_this_machine_does_not_take_all_connections(place):
    needs_root()
    with running(place) as (_, port), hold(port, "127.0.0.1", OF_THIS_MACHINE + 10):
        assert status_from(port) == 0
        assert as_nobody(lambda: status_from(port)) == "401"


# TLS


def test_a_handshake_has_to_end(place, tmp_path, monkeypatch):
    monkeypatch.setattr(acceptor, "HANDSHAKE_SECONDS", 0.1)
    authority = Authority(tmp_path, "authority")
    files = authority.sign("mx")
    text = hello()
    with running(replace(place, mx_tls=files)) as (_, port):
        with connect(port, "127.0.0.1") as silent:
            assert silent.recv(1) == b""
        with connect(port, "127.0.0.1") as slow:
            assert ends_while_sending(slow, text[:-1])


def hello():
    """The first message of a TLS handshake."""
    received = ssl.MemoryBIO()
    line = ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), received, server_hostname="mx")
    with pytest.raises(ssl.SSLWantReadError):
        line.do_handshake()
    return received.read()
