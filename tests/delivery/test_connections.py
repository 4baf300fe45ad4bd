"""Connections are reused for the same address and name after complete answers, for a while."""

from __future__ import annotations

import socket
import threading

import pytest

from synergy.delivery import connections
from tests.delivery.conftest import MakeServices, Names, Services, a_request, is_lost
from tests.delivery.receivers import LIMIT, Receiver, answers, keeps, receiving

WHOLE = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@pytest.fixture(autouse=True)
def _kept_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "KEEP_SECONDS", LIMIT)


def test_consecutive_requests_share_a_connection(services: Services) -> None:
    with receiving(keeps(*[WHOLE] * 5)) as receiver:
        for number in range(5):
            assert services.send(
                f"http://127.0.0.1:{receiver.port}/{number}", key=f"run-{number}"
            ).ok
        assert receiver.connections == 1
    assert [call.headers["webhook-id"] for call in receiver.calls] == [
        "run-0", "run-1", "run-2", "run-3", "run-4",
    ]  # fmt: skip


def test_a_connection_carries_one_request_at_a_time(services: Services) -> None:
    both = threading.Barrier(2)

    def together(wire: socket.socket, receiver: Receiver) -> None:
        both.wait(LIMIT)
        keeps(WHOLE, WHOLE)(wire, receiver)

    with receiving(together) as receiver:
        for _ in range(2):
            services.post(a_request(f"http://127.0.0.1:{receiver.port}/"))
        assert [services.next()[1].ok for _ in range(2)] == [True, True]
        assert receiver.connections == 2


def test_a_name_with_a_new_address_does_not_reuse_the_old_connection(
    services_with: MakeServices,
) -> None:
    names: Names = {"moving.test": ["127.0.0.1"]}
    services = services_with(names)
    with receiving(keeps(*[WHOLE] * 9)) as old:
        url = f"http://moving.test:{old.port}/"
        assert services.send(url).ok
        names["moving.test"] = ["127.0.0.2"]
        answer = services.send(url)
        assert "no connection" in answer.error  # nothing listens there
        names["moving.test"] = ["10.0.0.1"]
        assert services.send(url).outcome == "blocked"
        assert len(old.calls) == 1


def test_another_name_for_the_same_address_has_a_connection_of_its_own(
    services_with: MakeServices,
) -> None:
    """The certificate was not checked for the other name."""
    services = services_with({"a.test": ["127.0.0.1"], "b.test": ["127.0.0.1"]})
    with receiving(keeps(*[WHOLE] * 9)) as receiver:
        for name in ("a.test", "b.test", "a.test", "127.0.0.1", "b.test"):
            assert services.send(f"http://{name}:{receiver.port}/").ok
        assert receiver.connections == 3


def test_an_idle_connection_that_was_closed_is_replaced(
    services: Services,
) -> None:
    with receiving(answers()) as receiver:  # it closes without announcing it
        for number in range(20):
            assert services.send(f"http://127.0.0.1:{receiver.port}/").ok
            receiver.wait_for_ends(number + 1)
        assert len(receiver.calls) == 20


def test_a_request_on_a_connection_that_closes_under_it_is_one_failed_attempt(
    services: Services,
) -> None:
    """The receiver may have carried it out: only the next attempt says that it is a repetition."""

    def takes_two(wire: socket.socket, receiver: Receiver) -> None:
        wire.sendall(WHOLE)
        receiver.read(wire)

    with receiving(takes_two) as receiver:
        url = f"http://127.0.0.1:{receiver.port}/"
        assert services.send(url, key="first").ok
        answer = services.send(url, key="second")
        assert (answer.ok, answer.outcome, answer.may_retry) == (False, "failed", True)
        assert receiver.connections == 1
    assert [call.headers["webhook-id"] for call in receiver.calls] == ["first", "second"]


def test_a_request_that_is_no_longer_current_is_connected_and_not_sent(services: Services) -> None:
    with receiving(keeps(WHOLE, WHOLE)) as receiver:
        url = f"http://127.0.0.1:{receiver.port}/"
        answer = services.send(url, assert_current=is_lost)
        receiver.wait_for_ends(1)
        assert (answer.outcome, receiver.connections) == ("stopped", 1)
        assert "not sent: it is another agent's" in answer.error
        assert services.send(url).ok  # over a connection that is kept
        assert services.send(url, assert_current=is_lost).outcome == "stopped"
        receiver.wait_for_ends(2)
        assert len(receiver.calls) == 1


def test_half_an_answer_over_a_kept_connection_is_a_failure(services: Services) -> None:
    half = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"
    with receiving(keeps(WHOLE, half)) as receiver:
        url = f"http://127.0.0.1:{receiver.port}/"
        assert services.send(url).ok
        answer = services.send(url)
        assert (answer.ok, answer.outcome, answer.status) == (False, "failed", 200)
        assert len(receiver.calls) == 2


@pytest.mark.parametrize(
    "reply",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n" + b"x" * 5000,
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok",
        b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
    ],
)
def test_connections_with_unread_answers_or_close_headers_are_not_reused(
    services: Services, reply: bytes
) -> None:
    with receiving(keeps(reply, WHOLE)) as receiver:
        for _ in range(2):
            assert services.send(f"http://127.0.0.1:{receiver.port}/").ok
        assert receiver.connections == 2


def test_a_connection_with_a_timed_out_request_is_not_reused(services_with: MakeServices) -> None:
    """A late answer would be mistaken for the answer to the next request."""
    services = services_with(total=6.0)
    ended = threading.Event()

    def late(wire: socket.socket, receiver: Receiver) -> None:
        if receiver.connections > 1:
            answers("500 Broken")(wire, receiver)
            return
        wire.sendall(WHOLE)
        receiver.read(wire)
        if not wire.recv(1):
            ended.set()

    with receiving(late) as receiver:
        url = f"http://127.0.0.1:{receiver.port}/"
        assert services.send(url).ok
        assert services.send(url).outcome == "timeout"
        assert ended.wait(LIMIT)
        assert services.send(url).status == 500


@pytest.mark.parametrize("ending", ["the time", "the sender"])
def test_idle_connections_are_closed_after_a_time_and_with_the_sender(
    services_with: MakeServices, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    if ending == "the time":
        monkeypatch.setattr(connections, "KEEP_SECONDS", 0.01)
    services = services_with()
    ended = threading.Event()

    def listens(wire: socket.socket, _: Receiver) -> None:
        wire.sendall(WHOLE)
        if not wire.recv(1):
            ended.set()

    with receiving(listens) as receiver:
        assert services.send(f"http://127.0.0.1:{receiver.port}/").ok
        if ending == "the sender":
            services.sender.close(LIMIT)
        assert ended.wait(LIMIT)


def test_the_number_of_idle_connections_is_limited(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "MOST_KEPT", 1)
    with receiving(keeps(WHOLE, WHOLE)) as first, receiving(keeps(WHOLE, WHOLE)) as second:
        for receiver in (first, second, second):
            assert services.send(f"http://127.0.0.1:{receiver.port}/").ok
        assert (first.connections, second.connections) == (1, 2)
        assert services.send(f"http://127.0.0.1:{first.port}/").ok
        assert first.connections == 1
