"""Streams, bodies and requests: each user and each address has a share."""

from __future__ import annotations

import http.client
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing

import pytest

from synergy.clock import SteppedClock
from synergy.errors import Unreachable
from synergy.mx import app as mx_app
from synergy.mx.access import Role
from synergy.mx.app import THREADS
from synergy.mx.problems import ShareExceeded
from synergy.mx.protection import rates
from synergy.mx.protection.limits import LARGEST, BodyLimit
from synergy.mx.protection.origins import network_of
from synergy.mx.protection.rates import Budget, Rate
from synergy.mx.protection.shares import Shares
from synergy.mx.protection.turns import SHARE as TURNS
from synergy.mx.stream import SHARE
from tests.factories import NOW
from tests.mx.secured_mx import ELSEWHERE
from tests.mx.server_kit import LIMIT, running

FAR = "203.0.113.9"

# Shares


def test_a_holder_has_a_share_and_all_have_a_total():
    shares = Shares("things", most=5, share=3)
    shares.take("ada", amount=3)
    with pytest.raises(ShareExceeded, match="too many things at once: each user and each address"):
        shares.take("otto", "ada")
    shares.take("otto", amount=2)
    with pytest.raises(Unreachable, match="try again later"):
        shares.take("vera")
    shares.give_back("ada", amount=3)
    shares.take("otto")
    assert shares.taken == 3


def test_shares_remember_only_who_holds_something():
    shares = Shares("things", most=5, share=3)
    for number in range(1000):
        with shares.place(f"user{number}", FAR):
            pass
    assert (shares.taken, len(shares._by_holder)) == (0, 0)


def test_addresses_of_one_ipv6_network_share():
    assert network_of("2001:db8:1:2::5%eth0") == network_of("2001:db8:1:2:ffff::1")
    assert network_of("2001:db8:1:2::5") != network_of("2001:db8:1:3::5")
    assert network_of("::ffff:203.0.113.9") == FAR
    assert network_of("no address") == "no address"


# Streams


class Program:
    """Sends requests to a running MX, through a proxy on this machine."""

    def __init__(self, port):
        self.port = port
        self.open = ExitStack()

    def ask(self, token, address, path="/api/v1/stream"):
        """The response to a request, whose connection stays open."""
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LIMIT)
        self.open.enter_context(closing(line))
        headers = {
            "Authorization": f"Bearer {token}",
            "X-Forwarded-For": address,
            "X-Forwarded-Proto": "https",
        }
        line.request("GET", path, headers=headers)
        return line.getresponse()


@pytest.fixture
def tokens(secured):
    roles = {"ada": Role.ADMIN, "otto": Role.OPERATOR, "vera": Role.VIEWER}
    return {name: secured.token(name, role) for name, role in roles.items()}


def refused(answer):
    return (answer.status, answer.headers["Retry-After"]) == (429, "5")


def test_one_user_has_a_share_of_the_streams(secured_place, tokens):
    with running(secured_place) as (_, port):
        program = Program(port)
        with program.open:
            for number in range(SHARE):
                assert program.ask(tokens["ada"], f"203.0.113.{number}").status == 200
            assert refused(program.ask(tokens["ada"], "203.0.113.99"))
            assert program.ask(tokens["otto"], "203.0.113.1").status == 200


def test_one_address_has_a_share_of_the_streams(secured_place, tokens):
    with running(secured_place) as (_, port):
        program = Program(port)
        with program.open:
            for number in range(SHARE):
                assert program.ask(tokens["ada" if number % 2 else "otto"], FAR).status == 200
            assert refused(program.ask(tokens["vera"], FAR))
            assert program.ask(tokens["vera"], "203.0.113.10").status == 200


# Threads


def test_slow_requests_of_one_user_leave_threads_to_others(secured_place, tokens):
    begun, may_end = threading.Semaphore(0), threading.Event()

    def slow() -> None:
        begun.release()
        assert may_end.wait(LIMIT)

    with running(secured_place) as (mx, port), ThreadPoolExecutor(2 * THREADS) as pool:
        mx._server.config.app.add_api_route("/api/v1/slow", slow)
        program = Program(port)
        with program.open:
            asked = [
                pool.submit(lambda: program.ask(tokens["ada"], FAR, "/api/v1/slow").status)
                for _ in range(2 * THREADS)
            ]
            for _ in range(TURNS):
                assert begun.acquire(timeout=LIMIT)
            assert program.ask(tokens["otto"], FAR, "/api/v1/processes").status == 200
            may_end.set()
            statuses = [each.result(LIMIT) for each in asked]
    assert statuses == [200] * 2 * THREADS


def test_slow_events_leave_turns_to_other_requests_of_their_user(secured, secured_place, tokens):
    events = secured.token("ada", Role.EVENTS)
    with running(secured_place) as (_, port):
        program = Program(port)
        with program.open:
            for number in range(2 * TURNS):
                send_all_but_the_end(program, events, f"203.0.113.{number}", "/api/v1/events", 100)
            assert program.ask(tokens["ada"], FAR, "/api/v1/processes").status == 200


# Bodies


def send_all_but_the_end(program, token, address, path="/api/v1/schedules", size=LARGEST):
    """A request without the last byte of its body, which is as large as it may be by default."""
    line = http.client.HTTPConnection("127.0.0.1", program.port, timeout=LIMIT)
    program.open.enter_context(closing(line))
    line.putrequest("POST", path)
    for name, value in (
        ("Authorization", f"Bearer {token}"),
        ("X-Forwarded-For", address),
        ("X-Forwarded-Proto", "https"),
        ("Content-Type", "application/json"),
        ("Content-Length", str(size)),
    ):
        line.putheader(name, value)
    line.endheaders(b" " * (size - 1))
    return line


def held_bytes(mx):
    """The bytes of bodies that a running MX holds."""
    layer = mx._server.config.app.middleware_stack
    while not isinstance(layer, BodyLimit):
        layer = layer.app
    return layer._held


def test_one_user_has_a_share_of_the_bytes_of_bodies(secured_place, tokens):
    with running(secured_place) as (mx, port):
        program = Program(port)
        with program.open:
            first, second = (
                send_all_but_the_end(program, tokens["ada"], f"203.0.113.{number}")
                for number in range(2)
            )
            while held_bytes(mx).taken < 2 * (LARGEST - 1):
                threading.Event().wait(0.01)
            third = send_all_but_the_end(program, tokens["ada"], "203.0.113.3")
            assert refused(third.getresponse())
            for line in (first, second, send_all_but_the_end(program, tokens["otto"], FAR)):
                line.send(b" ")
                assert line.getresponse().status in (400, 422)
            again = send_all_but_the_end(program, tokens["ada"], "203.0.113.3")
            again.send(b" ")
            assert again.getresponse().status in (400, 422)


# Requests


def test_requests_have_a_rate_and_a_burst():
    clock = SteppedClock(NOW)
    budget = Budget(Rate(per_second=2.0, burst=3), clock)
    assert [budget.wait("ada") for _ in range(4)] == [0.0, 0.0, 0.0, 0.5]
    assert budget.wait("otto") == 0.0
    clock.advance(0.5)
    assert [budget.wait("ada") for _ in range(2)] == [0.0, 0.5]
    clock.advance(3600)
    assert [budget.wait("ada") for _ in range(4)] == [0.0, 0.0, 0.0, 0.5]


def test_the_memory_of_requests_is_bounded():
    budget = Budget(Rate(1.0, 1), SteppedClock(NOW))
    for number in range(rates.MOST + 10):
        budget.wait(f"address {number}")
    assert len(budget._left) == rates.MOST
    assert budget.wait(f"address {rates.MOST}") > 0


def statuses(client, number):
    return [client.get("/api/v1/boxes").status_code for _ in range(number)]


def test_a_user_sends_a_bounded_number_of_requests(secured, monkeypatch):
    monkeypatch.setattr(mx_app, "OF_USER", Rate(per_second=1.0, burst=3))
    secured.another()
    ada = secured.bearer("ada", Role.VIEWER)
    assert statuses(ada, 4) == [200, 200, 200, 429]
    answer = ada.get("/api/v1/boxes")
    assert answer.headers["retry-after"] == "1"
    assert "more slowly" in answer.json()["detail"]
    assert statuses(secured.bearer("otto", Role.VIEWER), 1) == [200]
    secured.world.clock.advance(1)
    assert statuses(secured.bearer("ada", Role.VIEWER), 2) == [200, 429]


def test_an_address_sends_a_bounded_number_of_requests(secured, monkeypatch):
    monkeypatch.setattr(mx_app, "OF_ORIGIN", Rate(per_second=1.0, burst=3))
    secured.another()
    stranger = secured.client(ELSEWHERE)
    assert statuses(stranger, 4) == [401, 401, 401, 429]
    assert statuses(secured.bearer("ada", Role.VIEWER), 1) == [429]
    assert statuses(secured.client((FAR.replace("9", "8"), 5)), 1) == [401]


def test_the_owner_of_the_home_sends_any_number_of_requests(world, monkeypatch):
    from tests.mx.conftest import client_of

    monkeypatch.setattr(mx_app, "OF_ORIGIN", Rate(per_second=1.0, burst=3))
    assert statuses(client_of(world), 10) == [200] * 10
