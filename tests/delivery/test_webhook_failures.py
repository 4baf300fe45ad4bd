"""Receivers that disconnect, are slow, send without end or cannot be reached."""

from __future__ import annotations

import socket
import threading

import pytest

from tests.delivery.conftest import MakeServices, Services
from tests.delivery.receivers import LIMIT, answers, dribbles, hangs, receiving, says
from tests.servers.ports import free_port


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"", None),
        (b"HTTP/1.1 200 OK\r\nContent-", None),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf", 200),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n64\r\nhalf", 200),
        (b"SSH-2.0-OpenSSH_9.2\r\n", None),
        (b"HTTP/1.1 200 OK\r\n" + b"X-Filler: " + b"x" * 300_000 + b"\r\n\r\n", None),
        (b"HTTP/1.1 200 OK\r\n" + b"X-F: 1\r\n" * 60_000 + b"\r\n", None),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n", None),
    ],
)
def test_an_incomplete_or_malformed_answer_is_a_failure(
    services: Services, data: bytes, status: int | None
) -> None:
    with receiving(says(data)) as receiver:
        answer = services.send(f"http://127.0.0.1:{receiver.port}/")
    assert (answer.ok, answer.outcome, answer.may_retry) == (False, "failed", True)
    assert answer.status == status
    assert answer.body == ("half" if status else "")
    assert answer.error


def test_a_receiver_that_closes_without_reading_is_a_failure(services: Services) -> None:
    with receiving(says(b""), reads=False) as receiver:
        answer = services.send(f"http://127.0.0.1:{receiver.port}/", body=b"x" * 5_000_000)
    assert (answer.ok, answer.outcome, answer.may_retry) == (False, "failed", True)


def test_an_endless_answer_is_aborted_once_enough_is_read(services_with: MakeServices) -> None:
    """The rest is not read, and the deadline is not awaited."""
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000000\r\n\r\n"
    left = threading.Event()

    def floods(wire: socket.socket, _: object) -> None:
        try:
            wire.sendall(head)
            while True:
                wire.sendall(b"x" * 65_536)
        except OSError:
            left.set()

    with receiving(floods) as receiver:
        answer = services_with(total=LIMIT).send(f"http://127.0.0.1:{receiver.port}/")
        assert (answer.ok, answer.body) == (True, "x" * 4_096)
        assert left.wait(LIMIT)


def test_a_compressed_answer_is_not_decompressed(services: Services) -> None:
    with receiving(answers("200 OK", b"\x1f\x8b\x08", "Content-Encoding: gzip")) as receiver:
        answer = services.send(f"http://127.0.0.1:{receiver.port}/")
    assert (answer.ok, answer.body) == (True, "\x1f\ufffd\x08")


@pytest.mark.parametrize(
    ("before", "piece", "status"),
    [
        (b"", b"H", None),
        (b"HTTP/1.1 ", b"2", None),
        (b"HTTP/1.1 200 OK\r\n", b"X-A: b\r\n", None),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n", b".", 200),
        (b"", b"HTTP/1.1 102 Processing\r\n\r\n", None),
    ],
)
def test_a_slow_endless_answer_ends_at_the_deadline(
    services_with: MakeServices, before: bytes, piece: bytes, status: int | None
) -> None:
    services = services_with(total=4.0)
    with receiving(dribbles(before, piece)) as receiver:
        answer = services.send(f"http://127.0.0.1:{receiver.port}/")
        assert not receiver.gate.is_set()
    assert (answer.ok, answer.may_retry, answer.status) == (False, True, status)
    assert answer.outcome == "timeout"


def test_a_receiver_that_does_not_answer_is_a_timeout(services_with: MakeServices) -> None:
    with receiving(hangs) as receiver:
        for options in ({"total": 0.2}, {"read": 0.2}):
            answer = services_with(**options).send(f"http://127.0.0.1:{receiver.port}/")
            assert (answer.ok, answer.outcome, answer.may_retry) == (False, "timeout", True)
            assert "0.2 s" in answer.error


def test_a_receiver_that_does_not_read_is_a_timeout(services_with: MakeServices) -> None:
    with receiving(lambda _, receiver: receiver.gate.wait(), reads=False) as receiver:
        answer = services_with(total=0.3).send(
            f"http://127.0.0.1:{receiver.port}/", body=b"x" * 16_777_215
        )
    assert (answer.outcome, answer.may_retry) == ("timeout", True)


def test_a_port_without_a_listener_is_reported(services: Services) -> None:
    port = free_port()
    answer = services.send(f"http://127.0.0.1:{port}/path?token=s3cret")
    assert (answer.ok, answer.outcome, answer.may_retry) == (False, "failed", True)
    assert answer.error.startswith(f"http://127.0.0.1:{port}: no connection: ")
    assert "refused" in answer.error
    assert "s3cret" not in answer.error


def test_the_next_address_is_tried_if_the_first_refuses(
    services_with: MakeServices,
) -> None:
    services = services_with({"two.test": ["127.0.0.2", "127.0.0.1"]})
    with receiving(answers()) as receiver:
        assert services.send(f"http://two.test:{receiver.port}/").ok
