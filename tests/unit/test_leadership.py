"""The lease: one holder, no clock compared, taken over after the wait."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from synergy.clock import SteppedClock
from synergy.runtime import identity
from synergy.runtime.leadership import RENEW, VALID, WAIT, Leadership
from synergy.storage.sqlite.engine import SqliteStore

START = datetime(2015, 5, 20, tzinfo=UTC)


@pytest.fixture
def leases():
    store = SqliteStore.open(":memory:")
    yield store.leases
    store.close()


def a_candidate(leases, holder, clock):
    return Leadership(leases, clock, "scheduler", holder)


def test_a_free_lease_is_taken_at_once_and_kept_by_renewing(leases):
    clock = SteppedClock(START)
    first = a_candidate(leases, "a", clock)
    assert first.tick()
    for _ in range(10):
        clock.advance(RENEW)
        assert first.tick()
    assert first.epoch == 1


def test_a_second_candidate_stands_by_while_the_first_renews(leases):
    clock = SteppedClock(START)
    first, second = a_candidate(leases, "a", clock), a_candidate(leases, "b", clock)
    first.tick()
    for _ in range(20):
        clock.advance(RENEW)
        first.tick()
        assert not second.tick()


def test_a_silent_holder_loses_its_right_before_anybody_may_take_it(leases):
    clock = SteppedClock(START)
    first, second = a_candidate(leases, "a", clock), a_candidate(leases, "b", clock)
    first.tick()
    assert not second.tick()
    clock.advance(VALID)
    assert not first.is_held
    assert not second.tick()
    clock.advance(WAIT - VALID)
    assert second.tick()
    assert second.epoch == 2
    assert not first.tick()


def test_a_released_lease_is_taken_without_waiting(leases):
    clock = SteppedClock(START)
    first, second = a_candidate(leases, "a", clock), a_candidate(leases, "b", clock)
    first.tick()
    first.resign()
    assert not first.is_held
    assert second.tick()


def test_the_lease_of_a_process_that_is_provably_gone_is_taken_without_waiting(leases):
    clock = SteppedClock(START)
    mine = identity.incarnation()
    gone = identity.Incarnation(mine.host, mine.boot, mine.pid, mine.started - 1, "x")
    elsewhere = identity.Incarnation("other", "another-boot", mine.pid, mine.started - 1, "y")
    a_candidate(leases, str(gone), clock).tick()
    second = a_candidate(leases, str(elsewhere), clock)
    assert second.tick()
    assert not a_candidate(leases, str(mine), clock).tick()  # nothing is provable of elsewhere


def test_a_paused_holder_is_refused_when_it_renews_after_a_takeover(leases):
    clock, other = SteppedClock(START), SteppedClock(START)
    first, second = a_candidate(leases, "a", clock), a_candidate(leases, "b", other)
    first.tick()
    second.tick()
    other.advance(WAIT)
    assert second.tick()
    assert not first.tick()  # its own clock stood still, but the row has moved on


def test_a_renewal_whose_answer_was_lost_does_not_cost_the_lease(leases):
    clock = SteppedClock(START)
    first = a_candidate(leases, "a", clock)
    first.tick()
    leases.renew(leases.read("scheduler"))  # made, but nobody heard of it
    clock.advance(RENEW)
    assert first.tick()
    assert first.epoch == 1
