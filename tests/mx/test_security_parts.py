"""The parts that security is made of, each by itself."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import anyio
import pytest
from starlette.responses import StreamingResponse

from synergy.clock import SteppedClock
from synergy.mx.access import Role
from synergy.mx.accounts.sessions import MOST, Sessions
from synergy.mx.accounts.throttle import FORGOTTEN, FREE, LONGEST, LONGEST_NAME, Throttle
from synergy.mx.accounts.throttle import MOST as REMEMBERED
from synergy.mx.accounts.users import User, Users
from synergy.mx.protection.head_method import HeadMethod
from synergy.mx.protection.stream_shutdown import ShutdownSignal, StreamShutdown

NOW = datetime(2015, 5, 20, 12, tzinfo=UTC)
OTTO = User("otto", Role.OPERATOR, "hash", NOW)
ALL = Users({"otto": OTTO})


# Sessions


def test_nobody_has_more_sessions_than_he_can_use(tmp_path):
    sessions = Sessions(tmp_path / "sessions.json")
    made = [sessions.open(OTTO, NOW + timedelta(seconds=each)) for each in range(MOST + 1)]
    later = NOW + timedelta(minutes=1)
    assert sessions.user_of(made[0], ALL, later) is None
    assert all(sessions.user_of(each, ALL, later) == OTTO for each in made[1:])


def test_sessions_that_are_over_are_not_kept(tmp_path):
    sessions = Sessions(tmp_path / "sessions.json")
    sessions.open(OTTO, NOW)
    sessions.open(OTTO, NOW + timedelta(hours=13))
    assert (tmp_path / "sessions.json").read_text().count('"user"') == 1


def test_the_time_of_use_is_written_now_and_then(tmp_path):
    file = tmp_path / "sessions.json"
    sessions = Sessions(file)
    made = sessions.open(OTTO, NOW)
    first = file.read_text()
    sessions.user_of(made, ALL, NOW + timedelta(seconds=59))
    assert file.read_text() == first
    sessions.user_of(made, ALL, NOW + timedelta(seconds=60))
    assert "12:01:00" in file.read_text()


# The throttle


def test_waiting_doubles_and_ends(monkeypatch):
    clock = SteppedClock(NOW)
    throttle = Throttle(clock)
    for _ in range(FREE - 1):
        assert throttle.attempt("otto", "203.0.113.9") == 0
    waits = []
    for _ in range(14):
        assert throttle.attempt("otto", "203.0.113.9") == 0
        waits.append(throttle.attempt("otto", "203.0.113.9"))
        clock.advance(waits[-1])
    assert waits == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900, 900]
    assert max(waits) == LONGEST > LONGEST_NAME


def test_failures_are_forgotten():
    clock = SteppedClock(NOW)
    throttle = Throttle(clock)
    for _ in range(FREE):
        throttle.attempt("otto", "203.0.113.9")
    clock.advance(FORGOTTEN + 1)
    assert [throttle.attempt("otto", "203.0.113.9") for _ in range(FREE)] == [0] * FREE


def test_an_owner_of_many_addresses_is_one():
    throttle = Throttle(SteppedClock(NOW))
    for number in range(FREE):
        throttle.attempt(f"a{number}", f"2001:db8:1:2::{number}")
    assert throttle.attempt("b", "2001:db8:1:2:ffff::1") > 0
    assert throttle.attempt("b", "2001:db8:1:3::1") == 0


def test_whoever_tries_many_names_takes_no_more_memory():
    clock = SteppedClock(NOW)
    throttle = Throttle(clock)
    for number in range(REMEMBERED):
        throttle.attempt(f"{number}" + "x" * 10_000, f"10.0.{number >> 8}.{number & 255}")
    assert len(throttle._failures) == REMEMBERED
    assert max(map(len, throttle._failures)) < 100


# Answers that never end


async def endless():
    while True:
        yield b": still here\n\n"
        await anyio.lowlevel.checkpoint()


def streamed(on_message, method="GET", wrap=None, **state):
    """What an endless stream sends; `on_message` is told how many messages there were."""
    sent = []
    shutdown = ShutdownSignal()
    app = StreamShutdown(StreamingResponse(endless(), media_type="text/event-stream"), shutdown)

    async def receive():
        if sent:
            await anyio.sleep_forever()
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message):
        sent.append(message)
        on_message(len(sent), shutdown)

    async def run():
        scope = {"type": "http", "method": method, "headers": [], "state": state,
                 "asgi": {"version": "3.0", "spec_version": "2.3"}}  # fmt: skip
        with anyio.fail_after(30):
            await (wrap(app) if wrap else app)(scope, receive, send)

    anyio.run(run)
    return sent


@pytest.mark.parametrize("at", [1, 7])
def test_when_mx_ends_streams_end_whole(at):
    sent = streamed(lambda number, shutdown: shutdown.set() if number == at else None)
    assert sent[-1] == {"type": "http.response.body", "body": b"", "more_body": False}
    assert [each.get("more_body") for each in sent[1:]].count(False) == 1


def test_who_may_no_longer_listen_hears_nothing_more():
    sent = []

    def is_still():
        return len(sent) < 5

    told = streamed(lambda number, _: sent.append(number), is_still=is_still)
    bodies = [each["body"] for each in told[1:]]
    assert bodies == [b": still here\n\n"] * 4 + [b""]


def test_head_of_a_stream_is_answered_at_once():
    told = streamed(lambda *_: None, "HEAD", wrap=HeadMethod)
    assert [each["type"] for each in told] == ["http.response.start", "http.response.body"]
    assert told[1]["body"] == b""
