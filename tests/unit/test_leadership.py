"""Leases: one holder, no comparison of clocks, and a takeover after the wait."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from synergy.clock import SteppedClock
from synergy.errors import StorageUnavailable
from synergy.runtime import identity
from synergy.runtime.leadership import RENEW_SECONDS, VALID_SECONDS, WAIT_SECONDS, Leadership
from synergy.storage.sqlite.engine import SqliteStore

START = datetime(2015, 5, 20, tzinfo=UTC)
NAME = "scheduler/tree/site"


@pytest.fixture
def leases():
    store = SqliteStore.open(":memory:")
    yield store.leases
    store.close()


class Candidate:
    """A candidate that takes the lease whenever it is free."""

    def __init__(self, leases, holder, clock, names=(NAME,)):
        self.leadership = Leadership(leases, clock, "scheduler/", holder)
        self.names = names

    def tick(self) -> bool:
        self.leadership.tick()
        for name in self.names:
            if self.leadership.is_free(name):
                self.leadership.take(name)
        return self.is_held

    @property
    def is_held(self) -> bool:
        return all(self.leadership.is_held(name) for name in self.names)

    @property
    def epoch(self) -> int:
        return self.leadership.epoch(NAME)


def test_a_free_lease_is_taken_at_once_and_kept_by_renewing(leases):
    clock = SteppedClock(START)
    first = Candidate(leases, "a", clock)
    assert first.tick()
    for _ in range(10):
        clock.advance(RENEW_SECONDS)
        assert first.tick()
    assert first.epoch == 1


def test_many_leases_are_renewed_and_read_in_two_calls(leases):
    clock = SteppedClock(START)
    names = [f"scheduler/tree/{n}" for n in range(50)]
    first = Candidate(leases, "a", clock, names)
    assert first.tick()
    calls = []
    for method in ("read", "all", "take", "renew", "renew_all", "release"):
        real = getattr(leases, method)
        setattr(
            leases,
            method,
            lambda *arguments, m=method, r=real: (calls.append(m), r(*arguments))[1],
        )
    clock.advance(RENEW_SECONDS)
    assert first.tick()
    assert calls == ["renew_all", "all"]


def test_a_second_candidate_stands_by_while_the_first_renews(leases):
    clock = SteppedClock(START)
    first, second = Candidate(leases, "a", clock), Candidate(leases, "b", clock)
    first.tick()
    for _ in range(20):
        clock.advance(RENEW_SECONDS)
        first.tick()
        assert not second.tick()


def test_a_silent_holder_loses_the_lease_before_it_can_be_taken_over(leases):
    clock = SteppedClock(START)
    first, second = Candidate(leases, "a", clock), Candidate(leases, "b", clock)
    first.tick()
    assert not second.tick()
    clock.advance(VALID_SECONDS)
    assert not first.is_held
    assert not second.tick()
    clock.advance(WAIT_SECONDS - VALID_SECONDS)
    assert second.tick()
    assert second.epoch == 2
    assert not first.tick()


def test_a_candidate_reads_the_lease_exactly_when_it_may_be_taken_over(leases):
    clock = SteppedClock(START)
    Candidate(leases, "a", clock).tick()
    second = Candidate(leases, "b", clock)
    second.tick()
    looks = []
    while not second.is_held:
        clock.advance(second.leadership.due_in())
        second.tick()
        looks.append(clock.monotonic())
    assert looks == [4, 8, 12, 16, WAIT_SECONDS]


def test_a_released_lease_is_taken_without_waiting(leases):
    clock = SteppedClock(START)
    first, second = Candidate(leases, "a", clock), Candidate(leases, "b", clock)
    first.tick()
    first.leadership.resign()
    assert not first.is_held
    assert second.tick()


def test_the_lease_of_a_provably_dead_process_is_taken_without_waiting(leases):
    clock = SteppedClock(START)
    mine = identity.incarnation()
    gone = identity.Incarnation(mine.host, mine.boot, mine.pid, mine.started - 1, "x")
    elsewhere = identity.Incarnation("other", "another-boot", mine.pid, mine.started - 1, "y")
    Candidate(leases, str(gone), clock).tick()
    second = Candidate(leases, str(elsewhere), clock)
    assert second.tick()
    assert not Candidate(
        leases, str(mine), clock
    ).tick()  # processes of another host cannot be proven dead


def test_a_paused_holder_is_refused_when_it_renews_after_a_takeover(leases):
    clock, other = SteppedClock(START), SteppedClock(START)
    first, second = Candidate(leases, "a", clock), Candidate(leases, "b", other)
    first.tick()
    second.tick()
    for _ in range(2):
        other.advance(WAIT_SECONDS / 2)
        second.tick()
    assert second.is_held
    assert not first.tick()  # its own clock stood still, but the row has moved on


def test_a_candidate_that_could_not_read_the_lease_starts_its_wait_again(leases):
    clock = SteppedClock(START)
    first, second = Candidate(leases, "a", clock), Candidate(leases, "b", clock)
    first.tick()
    second.tick()
    clock.advance(3 * WAIT_SECONDS)  # during an outage of the store, no renewal or read is possible
    assert not second.tick()
    assert first.tick()
    assert first.epoch == 1


def test_a_lease_survives_a_renewal_whose_answer_was_lost(leases):
    clock = SteppedClock(START)
    first = Candidate(leases, "a", clock)
    first.tick()
    leases.renew(leases.read(NAME))  # succeeded, but its answer was lost
    clock.advance(RENEW_SECONDS)
    assert first.tick()
    assert first.epoch == 1


def test_a_holder_keeps_the_lease_during_an_outage_until_it_expires(leases, monkeypatch):
    clock = SteppedClock(START)
    first = Candidate(leases, "a", clock)
    first.tick()

    def unavailable(_leases):
        raise StorageUnavailable("it is away")

    with monkeypatch.context() as away:
        away.setattr(leases, "renew_all", unavailable)
        clock.advance(VALID_SECONDS - 1)
        with pytest.raises(StorageUnavailable):
            first.tick()
        assert first.is_held
        clock.advance(1)
        assert not first.is_held
    assert first.tick()
    assert first.epoch == 1  # no other candidate took it meanwhile
