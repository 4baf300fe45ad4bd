"""A running MX refuses malformed HTTP."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import suppress

import pytest

from synergy.queries.schedules import event_effects
from tests.mx.attack import INSIDE
from tests.mx.populated import LIMIT, a_populated_deployment, place_of, populate, served
from tests.service.scheduler_harness import SchedulerHarness


@pytest.fixture
def world(worlds, tmp_path, monkeypatch) -> SchedulerHarness:
    monkeypatch.setattr(event_effects, "WAIT_SECONDS", 0.001)
    return populate(worlds(a_populated_deployment()), tmp_path)


H = b"Host: localhost\r\nConnection: close\r\n"


POST = b"POST /api/v1/gc/run HTTP/1.1\r\n" + H + b"Content-Type: application/json\r\n"


DRY = b'{"dry_run": true}'


WIRE: dict[bytes, int] = {
    b"GET /api/v1/units/\xff\xfe HTTP/1.1\r\n" + H + b"\r\n": 400,
    b"GET /static/../../etc/passwd HTTP/1.1\r\n" + H + b"\r\n": 404,
    b"GET /static/%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\n" + H + b"\r\n": 404,
    b"GET http://localhost/api/v1/queues HTTP/1.1\r\n" + H + b"\r\n": 404,
    b"GET http://evil.example/api/v1/queues HTTP/1.1\r\n" + H + b"\r\n": 404,
    b"GET //evil.example/api/v1/queues HTTP/1.1\r\n" + H + b"\r\n": 404,
    b"GET api/v1/queues HTTP/1.1\r\n" + H + b"\r\n": 404,
    b"GET /api/v1/queues HTTP/1.1\r\n\r\n": 400,
    b"GET /api/v1/queues HTTP/1.1\r\n" + H + b"X : a\r\n\r\n": 400,
    b"GET /api/v1/queues HTTP/1.1\r\n" + H + b"X: " + b"a" * 20_000 + b"\r\n\r\n": 431,
    b"GET /api/v1/queues HTTP/1.1\r\n" + H + b"Host: evil.example\r\n\r\n": 400,
    b"TRACE /api/v1/queues HTTP/1.1\r\n" + H + b"\r\n": 405,
    b"BREW /api/v1/queues HTTP/1.1\r\n" + H + b"\r\n": 405,
    b"OPTIONS * HTTP/1.1\r\n" + H + b"\r\n": 404,
    b"CONNECT localhost:22 HTTP/1.1\r\n" + H + b"\r\n": 404,
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n": 400,
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n": 400,
    b"\x00\xff\xfe\r\n\r\n": 400,
    b"GET /api/v1/queues HTTP/1.1\r\n" + H + b"Upgrade: websocket\r\n\r\n": 200,
    b"GET /api/v1/queues HTTP/1.1\r\n" + H + b"Content-Length: 2\r\n\r\n{}": 415,
    b"GET / HTTP/1.0\r\n\r\n": 400,
    b"GET / HTTP/1.1\r\nX: ".ljust(32 * 1024 + 1, b"x"): 400,
    b"GET /api/v1/queues HTTP/1.1\r\n" + H + b"Authorization: Bearer a\r\n" * 2 + b"\r\n": 400,
    POST + b"Content-Type: text/plain\r\nContent-Length: 17\r\n\r\n" + DRY: 400,
    POST + b"Content-Length: -1\r\n\r\n": 400,
    POST + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n": 400,
    POST + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}": 400,
    POST + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n": 400,
    POST + b"Transfer-Encoding: gzip\r\n\r\n": 400,
    POST + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n\r\n": 400,
    POST + b"Transfer-Encoding: chunked\r\n\r\n11\r\n" + DRY + b"\r\n0\r\n\r\n": 200,
    POST + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n": 422,
    POST + b"Expect: 100-continue\r\nContent-Length: 17\r\n\r\n" + DRY: 100,
    POST + b"Expect: 200-maybe\r\nContent-Length: 17\r\n\r\n" + DRY: 200,
    POST + b"Idempotency-Key: \xff\r\nContent-Length: 17\r\n\r\n" + DRY: 422,
    POST + b"Content-Length: 17\r\n\r\n" + DRY + b"GET /\x00 garbage\r\n\r\n": 200,
}


@pytest.fixture
def port(world, tmp_path) -> Iterator[int]:
    with served(place_of(world, tmp_path)) as port:
        yield port


def test_malformed_http_is_refused(port):
    for sent, expected in WIRE.items():
        answer = exchanged(port, sent)
        head, _, body = answer.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 %d " % expected), (sent[:120], answer[:300])
        assert not INSIDE.search(body.decode(errors="replace")), (sent[:120], body)
    alive = exchanged(port, b"GET /api/v1/livez HTTP/1.1\r\n" + H + b"\r\n")
    assert alive.startswith(b"HTTP/1.1 200 "), alive


@pytest.mark.parametrize(
    "ambiguous",
    [
        b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
        b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
    ],
)
def test_an_ambiguous_length_ends_the_connection(port, ambiguous):
    hidden = b"GET /api/v1/livez HTTP/1.1\r\nHost: localhost\r\n\r\n"
    sent = POST.replace(b"Connection: close\r\n", b"") + ambiguous + hidden
    answer = exchanged(port, sent)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.count(b"HTTP/1.1 ") == 1
    assert b"\r\nconnection: close\r\n" in answer.lower()


@pytest.mark.parametrize(
    ("path", "header"),
    [
        (b"/api/v1/events?x=" + b"a" * 9_000, b""),
        (b"/api/v1/events", b"X-Long: " + b"a" * 17_000 + b"\r\n"),
        (b"/api/v1/events", b"Origin: http://localhost\r\n" * 2),
    ],
)
def test_an_ambiguous_length_ends_the_connection_whatever_else_is_wrong(port, path, header):
    hidden = b"GET /api/v1/livez HTTP/1.1\r\nHost: localhost\r\n\r\n"
    lengths = b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    sent = b"POST " + path + b" HTTP/1.1\r\nHost: localhost\r\n" + header + lengths + hidden
    answer = exchanged(port, sent)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.count(b"HTTP/1.1 ") == 1


def exchanged(port: int, sent: bytes) -> bytes:
    """Returns all that is received until the connection ends."""
    with socket.create_connection(("127.0.0.1", port), timeout=LIMIT) as connection:
        connection.sendall(sent)
        answer = b""
        with suppress(ConnectionResetError):  # the rest of the request was not read
            while part := connection.recv(65536):
                answer += part
        return answer
