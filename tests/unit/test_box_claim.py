"""The claim of a box: one supervisor for one box id, wherever it runs."""

from __future__ import annotations

import os
from datetime import UTC, datetime

import pytest

from synergy.clock import SteppedClock
from synergy.errors import Refused
from synergy.runtime import identity
from synergy.storage.sqlite.engine import SqliteStore
from synergy.supervisor.box_claim import EXPIRY_SECONDS, RENEWAL_SECONDS, BoxClaim

START = datetime(2015, 5, 20, tzinfo=UTC)
ELSEWHERE = identity.Incarnation("host-1", "boot-1", 4711, 99, "abc")


@pytest.fixture
def leases():
    store = SqliteStore.open(":memory:")
    yield store.leases
    store.close()


@pytest.fixture
def clock():
    return SteppedClock(START)


class Waiting:
    """A stop that is never set; each wait advances the clock and then calls `meanwhile`."""

    is_set = False

    def __init__(self, clock, meanwhile=lambda: None):
        self._clock = clock
        self._meanwhile = meanwhile

    def wait(self, timeout):
        self._clock.advance(timeout)
        self._meanwhile()
        return self.is_set


def a_claim(leases, clock, holder=str(ELSEWHERE), predecessor="", box="box-1"):
    return BoxClaim(leases, clock, box, holder, predecessor)


def test_a_free_box_is_taken_at_once(leases, clock):
    assert a_claim(leases, clock).acquire(Waiting(clock))
    assert a_claim(leases, clock, "other", box="box-2").acquire(Waiting(clock))
    assert clock.monotonic() == 0


def test_a_second_supervisor_is_refused_with_host_and_pid_of_the_first(leases, clock):
    first, second = a_claim(leases, clock), a_claim(leases, clock, "second")
    first.acquire(Waiting(clock))
    with pytest.raises(Refused, match=r"host-1 \(pid 4711\).*SYNERGY_BOX_ID"):
        second.acquire(Waiting(clock, first.keep))
    assert clock.monotonic() <= RENEWAL_SECONDS
    first.keep()


def test_an_expired_claim_is_taken_over_and_its_holder_is_refused_once(leases, clock):
    first, second = a_claim(leases, clock), a_claim(leases, clock, "second")
    first.acquire(Waiting(clock))
    assert second.acquire(Waiting(clock))
    assert clock.monotonic() == EXPIRY_SECONDS
    with pytest.raises(Refused, match="box-1 has a supervisor already"):
        first.keep()
    first.keep()
    first.release()
    second.keep()
    with pytest.raises(Refused):
        a_claim(leases, clock, "third").acquire(Waiting(clock, second.keep))


def test_a_released_claim_is_free_at_once(leases, clock):
    first, second = a_claim(leases, clock), a_claim(leases, clock, "second")
    first.acquire(Waiting(clock))
    first.release()
    assert second.acquire(Waiting(clock))
    assert clock.monotonic() == 0


def test_a_claim_released_during_a_wait_goes_to_the_waiting_supervisor(leases, clock):
    first, second = a_claim(leases, clock), a_claim(leases, clock, "second")
    first.acquire(Waiting(clock))
    assert second.acquire(Waiting(clock, first.release))
    assert clock.monotonic() < RENEWAL_SECONDS


def test_a_successor_in_the_same_home_does_not_wait(leases, clock):
    a_claim(leases, clock).acquire(Waiting(clock))
    assert a_claim(leases, clock, "second", predecessor=str(ELSEWHERE)).acquire(Waiting(clock))
    assert clock.monotonic() == 0


def test_the_claim_of_a_provably_dead_process_is_taken_at_once(leases, clock):
    own = identity.incarnation()
    gone = identity.Incarnation(own.host, own.boot, os.getpid(), own.started - 1, "gone")
    a_claim(leases, clock, str(gone)).acquire(Waiting(clock))
    assert a_claim(leases, clock, str(own)).acquire(Waiting(clock))
    assert clock.monotonic() == 0


def test_a_claim_survives_a_renewal_whose_answer_was_lost(leases, clock):
    first = a_claim(leases, clock)
    first.acquire(Waiting(clock))
    leases.renew(leases.read("box/box-1"))
    for _ in range(3):
        clock.advance(RENEWAL_SECONDS)
        first.keep()
    assert leases.read("box/box-1").seq == 4


def test_a_stop_ends_the_wait_for_a_claim(leases, clock):
    a_claim(leases, clock).acquire(Waiting(clock))
    stopped = Waiting(clock)
    stopped.is_set = True
    assert not a_claim(leases, clock, "second").acquire(stopped)
    assert leases.read("box/box-1").holder == str(ELSEWHERE)
