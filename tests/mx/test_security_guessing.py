"""Password guessing: waits, known browsers, and bounded costs."""

from __future__ import annotations

import logging

import pytest

from synergy.clock import SteppedClock
from synergy.mx.accounts import passwords
from synergy.mx.accounts.throttle import (
    ADDRESS_SECONDS,
    FORGOTTEN_SECONDS,
    FREE,
    MOST,
    NAME_SECONDS,
    Throttle,
)
from synergy.mx.app import THREADS
from synergy.mx.protection.shares import Shares
from tests.factories import NOW
from tests.mx.secured_mx import ELSEWHERE, HERE, QUICK, csrf_of, log_in

NEW = "nine quiet green otters"


# Guessing


def test_each_failure_doubles_the_wait(secured):
    for _ in range(FREE):
        assert log_in(secured.client(), "vera", NEW).status_code == 401
    answer = log_in(secured.client(), "vera")
    assert answer.status_code == 429
    assert answer.headers["retry-after"] == "1"
    assert "try again in 1 seconds" in answer.text
    secured.world.clock.advance(1)
    assert log_in(secured.client(), "vera", NEW).status_code == 401
    assert log_in(secured.client(), "vera").headers["retry-after"] == "2"
    secured.world.clock.advance(2)
    assert log_in(secured.client(), "vera").status_code == 303


def test_a_name_under_attack_waits_a_minute_at_most(secured):
    for number in range(40):
        log_in(secured.client((f"203.0.113.{number}", 1)), "vera", NEW)
        secured.world.clock.advance(NAME_SECONDS)
    assert log_in(secured.client(), "vera").status_code == 303


def test_an_address_that_tries_many_names_waits_too(secured):
    for number in range(FREE):
        assert log_in(secured.client(ELSEWHERE), f"user{number}", NEW).status_code == 401
    assert log_in(secured.client(ELSEWHERE), "vera").status_code == 429
    assert log_in(secured.client(), "vera").status_code == 303


def test_a_login_does_not_forgive_guesses(secured):
    for _ in range(FREE - 1):
        assert log_in(secured.client(ELSEWHERE), "vera", NEW).status_code == 401
        assert log_in(secured.client(ELSEWHERE), "otto").status_code == 303
    assert log_in(secured.client(ELSEWHERE), "vera", NEW).status_code == 401
    assert log_in(secured.client(ELSEWHERE), "otto").status_code == 429


# Guessing


def test_waiting_attempts_do_not_push_out_failures(tmp_path):
    throttle = Throttle(SteppedClock(NOW), tmp_path / "failures.json")
    for number in range(FREE):
        throttle.attempt("ada", f"203.0.113.{number}")
    for number in range(FREE):
        throttle.attempt(f"other{number}", "198.51.100.1")
    for number in range(2 * MOST):
        assert throttle.attempt(f"any{number}", "198.51.100.1") > 0
    assert throttle.attempt("ada", "203.0.113.99") == 1.0


def attacked(secured):
    """Attackers at many addresses guess one name, each as soon as the throttle allows."""
    for number in range(FREE + 10):
        secured.world.clock.advance(NAME_SECONDS if number >= FREE else 0)
        assert log_in(secured.client((f"203.0.113.{number}", 1)), "ada", NEW).status_code == 401


def test_a_known_browser_is_not_locked_out(secured):
    known = secured.logged_in("ada")
    known.post("/logout", data={"csrf": csrf_of(known)})
    attacked(secured)
    assert log_in(secured.client(), "ada").status_code == 429
    assert log_in(known, "ada").status_code == 303


def test_a_known_browser_is_not_locked_out_by_its_address(secured):
    known = secured.logged_in("ada", address=ELSEWHERE)
    for number in range(FREE):
        log_in(secured.client(ELSEWHERE), f"any{number}", NEW)
    assert log_in(secured.client(ELSEWHERE), "ada").status_code == 429
    known.cookies.delete("__Host-synergy_session")
    assert log_in(known, "ada").status_code == 303


def test_a_known_browser_has_no_more_guesses(secured):
    known = secured.logged_in("ada")
    known.cookies.delete("synergy_session")
    for _ in range(FREE):
        assert log_in(known, "ada", NEW).status_code == 401
    assert log_in(known, "ada").status_code == 429


@pytest.mark.parametrize("mark", ["", ".", "x", "x.y", "é.ü"])
def test_an_invalid_device_cookie_is_ignored(secured, mark):
    accounts = secured.app.state.authenticator.logins
    assert accounts.device_of("ada", mark) == accounts.device_of("nobody", mark) == ""


def test_a_device_cookie_is_for_one_user_and_password(secured):
    accounts = secured.app.state.authenticator.logins
    mark = accounts.device_cookie("ada")
    assert accounts.device_of("ada", mark) == mark.partition(".")[0] != ""
    assert accounts.device_of("otto", mark) == accounts.device_of("nobody", mark) == ""
    accounts.set_password("ada", NEW)
    assert accounts.device_of("ada", mark) == ""


def test_logins_take_a_bounded_number_of_threads(secured, monkeypatch):
    line = passwords._PENDING
    assert line.most < THREADS / 2
    assert log_in(secured.client(), "ada").status_code == 303
    monkeypatch.setattr(passwords, "_PENDING", Shares("logins", 0, 2))
    answer = log_in(secured.client(), "ada")
    assert answer.status_code == 503
    assert "too many logins at once" in answer.text
    assert line.taken == 0


def test_one_address_does_not_take_all_places_of_comparisons(secured):
    with passwords._PENDING.place(ELSEWHERE[0]), passwords._PENDING.place(ELSEWHERE[0]):
        assert log_in(secured.client(ELSEWHERE), "ada").status_code == 429
        assert log_in(secured.client(), "ada").status_code == 303


@pytest.mark.parametrize("address", [ELSEWHERE, HERE])
def test_a_login_without_a_free_place_is_no_failure(secured, monkeypatch, caplog, address):
    client = secured.client(address)
    with monkeypatch.context() as patch, caplog.at_level(logging.INFO):
        patch.setattr(passwords, "_PENDING", Shares("logins", most=0, share=2))
        for _ in range(2 * FREE):
            assert log_in(client, "ada").status_code == 503
    events = {each.event for each in caplog.records if each.name.startswith("synergy")}
    assert events == {"request.done"}  # whose number is bounded
    assert log_in(client, "ada").status_code == 303


def test_one_address_does_not_make_a_name_wait_for_others(secured):
    for _ in range(4 * FREE):
        secured.world.clock.advance(ADDRESS_SECONDS)
        assert log_in(secured.client(ELSEWHERE), "ada", NEW).status_code == 401
    assert log_in(secured.client(ELSEWHERE), "ada").status_code == 429
    assert log_in(secured.client(), "ada").status_code == 303


def test_waits_survive_a_restart(secured):
    for _ in range(FREE):
        log_in(secured.client(ELSEWHERE), "ada", NEW)
    secured.another()
    assert log_in(secured.client(ELSEWHERE), "ada").status_code == 429
    file = secured.folder / "mx" / "login_failures.json"
    assert file.stat().st_mode & 0o777 == 0o600
    assert "ada" not in file.read_text()
    assert ELSEWHERE[0] not in file.read_text()
    secured.world.clock.advance(1)
    assert log_in(secured.client(ELSEWHERE), "ada").status_code == 303


def test_two_passwords_are_compared_at_a_time(monkeypatch):
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


# The throttle


def test_waiting_doubles_and_ends(tmp_path):
    clock = SteppedClock(NOW)
    throttle = Throttle(clock, tmp_path / "failures.json")
    for _ in range(FREE - 1):
        assert throttle.attempt("otto", "203.0.113.9") == 0
    waits = []
    for _ in range(14):
        assert throttle.attempt("otto", "203.0.113.9") == 0
        waits.append(throttle.attempt("otto", "203.0.113.9"))
        clock.advance(waits[-1])
    assert waits == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900, 900]
    assert max(waits) == ADDRESS_SECONDS > NAME_SECONDS


def test_failures_are_forgotten(tmp_path):
    clock = SteppedClock(NOW)
    throttle = Throttle(clock, tmp_path / "failures.json")
    for _ in range(FREE):
        throttle.attempt("otto", "203.0.113.9")
    clock.advance(FORGOTTEN_SECONDS + 1)
    assert [throttle.attempt("otto", "203.0.113.9") for _ in range(FREE)] == [0] * FREE


def test_addresses_of_one_ipv6_network_count_as_one(tmp_path):
    throttle = Throttle(SteppedClock(NOW), tmp_path / "failures.json")
    for number in range(FREE):
        throttle.attempt(f"a{number}", f"2001:db8:1:2::{number}")
    assert throttle.attempt("b", "2001:db8:1:2:ffff::1") > 0
    assert throttle.attempt("b", "2001:db8:1:3::1") == 0


def test_the_memory_of_failures_is_bounded(tmp_path):
    clock = SteppedClock(NOW)
    throttle = Throttle(clock, tmp_path / "failures.json")
    for number in range(MOST):
        throttle.attempt(f"{number}" + "x" * 10_000, f"10.0.{number >> 8}.{number & 255}")
    assert len(throttle._failures) == MOST
    assert max(map(len, throttle._failures)) < 100
