"""What somebody tried who wanted to break in, and found: each of it failed once."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import threading
from contextlib import closing, contextmanager
from datetime import timedelta

import pytest
from starlette.exceptions import HTTPException

from synergy.clock import SteppedClock
from synergy.errors import Refused
from synergy.mx import problems
from synergy.mx.access import Role
from synergy.mx.accounts import passwords, private_file
from synergy.mx.accounts.sessions import AHEAD, IDLE, LIFE, Session, Sessions
from synergy.mx.accounts.throttle import FREE, LONGEST_NAME, MOST, Throttle
from synergy.mx.accounts.users import UsersFile
from synergy.mx.app import THREADS
from synergy.mx.pages.render import island
from synergy.mx.protection import limits
from synergy.queries.schedules.redaction import HIDDEN, kept
from synergy.runtime.masking import mask
from synergy.schedule.format.field_reader import FieldReader, Location
from tests.mx.house import ELSEWHERE, QUICK, csrf_of, log_in
from tests.mx.test_security_parts import NOW
from tests.mx.test_security_server import place, running

__all__ = ["place"]  # a fixture

WRONG = "nine small grey owls"


# Strangers


@pytest.mark.parametrize("page", ["http://[", "//[x", "http://a]b/"])
def test_a_page_that_is_none_is_no_failure_of_mx(house, page):
    headers = {"HX-Request": "true", "HX-Current-URL": page}
    answer = house.client(ELSEWHERE).get("/journal", headers=headers)
    assert answer.status_code == 401
    assert answer.headers["hx-redirect"] == "/login?next=/"


def test_a_route_that_forgets_to_ask_changes_nothing_for_a_viewer(house):
    done = []
    house.app.add_api_route("/api/v1/forgot", lambda: done.append(1), methods=["POST", "DELETE"])
    for method in ("POST", "DELETE"):
        assert (
            house.bearer("vera", Role.VIEWER).request(method, "/api/v1/forgot").status_code == 403
        )
        assert house.bearer("otto", Role.OPERATOR).request(method, "/api/v1/forgot").is_success
    assert len(done) == 2


def test_for_whom_somebody_asks_is_believed_of_proxies_here_only(place):
    with running(place) as (_, port):
        for source, status in (("127.0.0.1", 401), ("127.0.0.2", 200)):
            line = http.client.HTTPConnection("127.0.0.1", port, 30, (source, 0))
            with closing(line):
                line.request("GET", "/livez", headers={"X-Forwarded-For": "203.0.113.9"})
                assert line.getresponse().status == status


# Guessing


def test_who_waits_makes_nobody_forget_what_others_tried():
    throttle = Throttle(SteppedClock(NOW))
    for number in range(FREE):
        throttle.attempt("ada", f"203.0.113.{number}")
    for number in range(FREE):
        throttle.attempt(f"other{number}", "198.51.100.1")
    for number in range(2 * MOST):
        assert throttle.attempt(f"any{number}", "198.51.100.1") > 0
    assert throttle.attempt("ada", "203.0.113.99") == 1.0


def attacked(house):
    """Strangers of many addresses try one name, each as soon as it is let."""
    for number in range(FREE + 10):
        house.world.clock.advance(LONGEST_NAME if number >= FREE else 0)
        assert log_in(house.client((f"203.0.113.{number}", 1)), "ada", WRONG).status_code == 401


def test_nobody_is_locked_out_of_the_browser_he_used_before(house):
    known = house.logged_in("ada")
    known.post("/logout", data={"csrf": csrf_of(known)})
    attacked(house)
    assert log_in(house.client(), "ada").status_code == 429
    assert log_in(known, "ada").status_code == 303


def test_nor_from_an_address_that_others_use(house):
    known = house.logged_in("ada", address=ELSEWHERE)
    for number in range(FREE):
        log_in(house.client(ELSEWHERE), f"any{number}", WRONG)
    assert log_in(house.client(ELSEWHERE), "ada").status_code == 429
    known.cookies.delete("synergy_session")
    assert log_in(known, "ada").status_code == 303


def test_a_browser_that_is_known_guesses_no_more_than_others(house):
    known = house.logged_in("ada")
    known.cookies.delete("synergy_session")
    for _ in range(FREE):
        assert log_in(known, "ada", WRONG).status_code == 401
    assert log_in(known, "ada").status_code == 429


@pytest.mark.parametrize("mark", ["", ".", "x", "x.y", "é.ü"])
def test_a_mark_that_is_made_up_is_none(house, mark):
    accounts = house.app.state.authenticator.accounts
    assert accounts.device_of("ada", mark) == accounts.device_of("nobody", mark) == ""


def test_a_mark_is_for_one_user_and_one_password(house):
    accounts = house.app.state.authenticator.accounts
    mark = accounts.device_cookie("ada")
    assert accounts.device_of("ada", mark) == mark.partition(".")[0] != ""
    assert accounts.device_of("otto", mark) == accounts.device_of("nobody", mark) == ""
    accounts.set_password("ada", WRONG)
    assert accounts.device_of("ada", mark) == ""


def test_who_waits_for_his_password_to_be_compared_takes_no_threads_from_others(house, monkeypatch):
    line = passwords._PENDING
    assert line._value < THREADS / 2
    assert log_in(house.client(), "ada").status_code == 303
    monkeypatch.setattr(passwords, "_PENDING", threading.Semaphore(0))
    answer = log_in(house.client(), "ada")
    assert answer.status_code == 503
    assert "too many logins at this moment" in answer.text
    assert line._value == 6


def test_of_those_in_line_two_take_their_memory(monkeypatch):
    free = []

    class Watched:
        def hash(self, _password):
            free.append(passwords._RUNNING._value)
            return QUICK

        def verify(self, _hash, _password):
            free.append(passwords._RUNNING._value)

    monkeypatch.setattr(passwords, "_hasher", Watched())
    passwords.hashed("x")
    assert passwords.is_correct("x", QUICK)
    assert free == [1, 1]
    assert passwords._RUNNING._value == 2


# Clocks


def session(created, seen):
    return Session("", "ada", "", created, seen)


def test_a_clock_that_was_ahead_makes_no_session_that_lasts():
    assert session(NOW + timedelta(days=400), NOW).has_ended(NOW)
    assert session(NOW - IDLE, NOW + LIFE).has_ended(NOW)
    assert not session(NOW + AHEAD, NOW + AHEAD).has_ended(NOW)
    assert session(NOW - LIFE, NOW).has_ended(NOW)


# The files


def garbage(path):
    path.write_bytes(b"\xff\xfe\x80")
    path.chmod(0o600)


def deep(path):
    path.write_text("[" * 200_000)
    path.chmod(0o600)


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (garbage, "cannot be parsed"),
        (deep, "cannot be parsed"),
        (os.mkdir, "is not a regular file"),
        (os.mkfifo, "is not a regular file"),
    ],
)
def test_whatever_lies_there_instead_of_users_lets_nobody_in(house, spoil, said):
    client = house.bearer("ada", Role.ADMIN)
    house.file.unlink()
    spoil(house.file)
    assert client.get("/api/v1/trees").status_code == 503
    with pytest.raises(Refused, match=said):
        _ = UsersFile(house.file).users


def test_a_file_that_cannot_be_written_is_said_to_be_so(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(Refused, match=r"users\.json cannot be written"):
        UsersFile(tmp_path / "file" / "users.json").change(lambda users: users)
    with pytest.raises(Refused, match=r"sessions\.json cannot be written"):
        Sessions(tmp_path / "file" / "sessions.json").end("x")


@pytest.mark.parametrize(
    ("owner", "reader", "is_fine"),
    [(7, 7, True), (0, 7, True), (7, 0, True), (8, 7, False), (7, 8, False)],
)
def test_a_file_of_somebody_else_is_not_believed(tmp_path, monkeypatch, owner, reader, is_fine):
    monkeypatch.setattr(os, "geteuid", lambda: reader)
    found = os.stat_result((0o100600, 1, 1, 1, owner, owner, 2, 0, 0, 0))
    if is_fine:
        private_file._check_permissions(tmp_path, found)
    else:
        with pytest.raises(Refused, match="belongs to another user"):
            private_file._check_permissions(tmp_path, found)


# Secrets


def hook(target, **headers):
    return {"target": target, "headers": headers}


PRESENT = hook("https://receiver.example/a", Authorization="Bearer geheim", Accept="text/plain")


@pytest.mark.parametrize(
    "target",
    [
        "https://attacker.example/a",
        "http://receiver.example/a",
        "https://receiver.example:8443/a",
        "https://receiver.example.attacker.example/a",
        "https://receiver.example@attacker.example/a",
        "https://attacker.example?https://receiver.example/a",
    ],
)
def test_a_secret_that_is_not_shown_is_sent_to_nobody_else(target):
    sent = hook(target, Authorization=HIDDEN, Accept="text/plain")
    assert kept(sent, PRESENT) == sent


@pytest.mark.parametrize("target", ["https://receiver.example/a", "HTTPS://Receiver.example/b?c"])
def test_a_secret_stays_where_it_goes_to_whom_it_went(target):
    sent = hook(target, Authorization=HIDDEN)
    assert kept(sent, PRESENT) == hook(target, Authorization="Bearer geheim")


# Answers that are kept


def test_a_token_for_less_is_not_answered_what_one_for_more_was(house):
    body = {"eventType": "FILE", "eventTimestamp": "2015-05-20T11:00:00Z", "eventResourceId": "/x"}
    key = {"Idempotency-Key": "one"}
    assert (
        house.bearer("otto", Role.OPERATOR)
        .post("/api/v1/events", json=body, headers=key)
        .status_code
        == 202
    )
    answer = house.bearer("otto", Role.EVENTS).post("/api/v1/events", json=body, headers=key)
    assert answer.status_code == 422
    assert "idempotency-replayed" not in answer.headers


def test_data_in_a_page_end_no_element():
    text = "</script><!--<script>&\u2028"
    told = island(json.dumps({text: text}).encode())
    assert "<" not in told
    assert json.loads(told) == {text: text}


# Much that is wrong


def test_of_very_many_unknown_fields_the_first_are_named():
    found: list[str] = []
    part = FieldReader(
        Location(found.append), {"name": "x", **{f"nam{number}": 1 for number in range(100_000)}}
    )
    assert part.text("name") == "x"
    part.done()
    assert len(found) == 21
    assert found[0] == "unknown field nam0: did you mean name?"
    assert found[-1] == "99,980 more unknown fields"


LOOKED_THROUGH = problems.SEARCHED


@pytest.mark.parametrize("before", [0, 900, LOOKED_THROUGH - 30, LOOKED_THROUGH, 10**6])
def test_in_a_long_text_no_secret_is_told(before, monkeypatch):
    lengths = []
    monkeypatch.setattr(problems, "mask", lambda text: lengths.append(len(text)) or mask(text))
    text = "x" * before + " amqp://u:geheim" + "s" * 1000 + "@host " + "a://:" * 200_000
    told = problems._shown(text)
    assert "geheim" not in told
    assert len(told) <= problems.LONGEST + 4
    assert told.endswith(" ...")
    assert max(lengths) <= LOOKED_THROUGH


def test_what_hides_much_hides_the_rest_too():
    urls = " amqp://u:" + "s" * 900 + "@h"
    told = problems._shown(urls * 4 + " amqp://u:geheim" + "s" * 900 + "@h")
    assert "geheim" not in told


# Bodies


def test_what_is_said_to_be_too_large_is_not_waited_for(client):
    headers = {"Content-Type": "application/json", "Content-Length": str(limits.MIB + 1)}
    assert client.post("/api/v1/events", content=b"{}", headers=headers).status_code == 413


class Line:
    """A client who sends so many bytes each so many seconds, on a clock of its own."""

    def __init__(self, monkeypatch, size, every):
        self.now, self.size, self.every, self.taken = 0.0, size, every, 0
        monkeypatch.setattr(limits.anyio, "current_time", lambda: self.now)
        monkeypatch.setattr(limits.anyio, "fail_after", self.within)

    @contextmanager
    def within(self, seconds):
        if self.every > seconds:
            raise TimeoutError
        yield

    async def receive(self):
        self.now += self.every
        self.taken += self.size
        return {"type": "http.request", "body": b"x" * self.size, "more_body": True}


def read(line, size):
    """Reads so much of a body."""
    body = limits._LimitedBody(line.receive, 10 * limits.MIB)

    async def whole():
        while line.taken < size:
            await body()

    asyncio.run(whole())


def test_a_byte_now_and_then_holds_no_connection(monkeypatch):
    line = Line(monkeypatch, size=1, every=20)
    with pytest.raises(HTTPException) as caught:
        read(line, 100)
    assert caught.value.status_code == 408
    assert line.now == 20


def test_a_large_body_may_take_as_long_as_it_does_on_a_slow_line(monkeypatch):
    line = Line(monkeypatch, size=8192, every=1)
    read(line, 2 * limits.MIB)
    assert line.now == 256
