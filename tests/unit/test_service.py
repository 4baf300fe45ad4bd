"""Services: turns, waits, pauses after failures, and stopping."""

from __future__ import annotations

import logging
import threading
from datetime import UTC, datetime

import pytest

from synergy.clock import SteppedClock
from synergy.errors import MessagingUnavailable, StorageUnavailable
from synergy.runtime.service import UNAVAILABLE, Retry, RetryRule, Service, repeat
from synergy.runtime.stop import Stop

NOW = datetime(2026, 3, 10, tzinfo=UTC)
WAIT_SECONDS = 60.0  # a bound: no passing test waits that long
RULE = RetryRule(waiting="part.waits", failing="part.failed", first=1.0, longest=5.0)


class Part(Service):
    """A service whose turns return or raise the given answers; turns are counted."""

    def __init__(self, *answers, rule=RULE):
        super().__init__("part", SteppedClock(NOW), rule)
        self.answers = list(answers)
        self.turns = threading.Semaphore(0)
        self.nows = []
        self.threads = set()

    def run_once(self, now):
        self.nows.append(now)
        self.threads.add(threading.current_thread())
        answer = self.answers.pop(0) if self.answers else WAIT_SECONDS
        self.turns.release()
        if isinstance(answer, Exception):
            raise answer
        return answer

    def has_turned(self, times=1):
        return all(self.turns.acquire(timeout=WAIT_SECONDS) for _ in range(times))


class Recorded(Stop):
    """A stop that records pauses; they end at once."""

    def __init__(self):
        super().__init__()
        self.pauses = []

    def wait(self, timeout):
        self.pauses.append(timeout)
        return self.is_set


def test_turns_repeat_in_one_thread_after_the_seconds_that_they_return():
    part = Part(0.0, 0.0, WAIT_SECONDS)
    part.start()
    assert part.has_turned(3)
    assert part.started
    assert part.stop()
    assert part.nows == [NOW] * 3
    assert len(part.threads) == 1
    assert not part.started


def test_a_wake_up_before_or_during_a_wait_ends_it():
    part = Part(WAIT_SECONDS, WAIT_SECONDS, WAIT_SECONDS)
    part.start()
    for _ in range(2):
        assert part.has_turned()
        part.wake()
    assert part.has_turned()
    assert part.stop()


@pytest.mark.parametrize("answer", [3600.0, ValueError("no"), StorageUnavailable("away")])
def test_a_stop_ends_waits_and_pauses_at_once(answer):
    part = Part(answer, rule=RetryRule("part.waits", "part.failed", first=3600.0, longest=3600.0))
    part.start()
    assert part.has_turned()
    assert part.stop(WAIT_SECONDS)


def test_a_service_without_work_ends_its_thread_and_can_be_started_again():
    part = Part(None, None)
    for _ in range(2):
        part.start()
        assert part.has_turned()
        part._thread.join(WAIT_SECONDS)
        assert not part.started
    assert len(part.nows) == 2
    assert part.stop()


def test_a_start_during_the_last_turn_is_not_lost():
    part = Part()
    turn = part.run_once

    def started_meanwhile(now):
        if turn(now) and len(part.nows) == 1:
            part.start()

    part.run_once = started_meanwhile
    part.start()
    assert part.has_turned(2)
    part._thread.join(WAIT_SECONDS)
    assert part.stop()
    assert len(part.nows) == 2


def test_a_new_thread_waits_for_the_previous_one_and_a_stop_for_both():
    part, gate = Part(None), threading.Event()
    part._opened.callback(gate.wait, WAIT_SECONDS)
    part.start()
    assert part.has_turned()
    while part.started:  # until the service has noticed that no work is left
        part.wake()
    part.start()
    assert not part.stop(0.1)
    gate.set()
    assert part.stop()


def test_a_stop_returns_whether_the_thread_ended_within_the_limit():
    part, gate = Part(), threading.Event()
    turn = part.run_once
    part.run_once = lambda now: (turn(now), gate.wait(WAIT_SECONDS))[0]
    part.start()
    assert part.has_turned()
    assert not part.stop(0.01)
    assert part.started
    gate.set()
    assert part.stop()


def test_a_turn_may_stop_its_own_service():
    part, ended = Part(), []
    turn = part.run_once
    part.run_once = lambda now: (ended.append(part.stop()), turn(now))[1]
    part.start()
    assert part.has_turned()
    assert part.stop()
    assert ended == [False]


def test_resources_are_closed_by_the_thread_of_the_turns():
    part, closed = Part(), []
    part._opened.callback(lambda: closed.append(threading.current_thread()))
    part.start()
    assert part.has_turned()
    assert part.stop()
    assert set(closed) == part.threads


def test_pauses_double_with_failures_up_to_a_limit_and_reset_after_a_success():
    stop, failures = Recorded(), []
    retry = Retry(RULE, stop, lambda error, times: failures.append((str(error), times)))
    results = iter([ValueError("a"), ValueError("b"), ValueError("c"), ValueError("d"), 7.0])

    def step():
        result = next(results, ValueError("e"))
        if isinstance(result, Exception):
            raise result
        return result

    assert [retry.run(step) for _ in range(6)] == [0.0, 0.0, 0.0, 0.0, 7.0, 0.0]
    assert stop.pauses == [1.0, 2.0, 4.0, 5.0, 1.0]
    assert failures == [("a", 1), ("b", 2), ("c", 3), ("d", 4), ("e", 1)]


def test_the_pause_after_very_many_failures_stays_at_the_limit():
    assert RULE.pause(100_000) == 5.0


def failing(retry, error):
    def step():
        raise error

    return retry.run(step)


def test_every_unexpected_failure_is_logged_with_its_traceback(caplog):
    retry = Retry(RULE, Recorded())
    for _ in range(2):
        failing(retry, ValueError("the reason"))
    first, second = caplog.records
    assert (first.event, first.levelno, first.exc_info[0]) == (
        "part.failed",
        logging.ERROR,
        ValueError,
    )
    assert "the reason" in caplog.text
    assert second.event == "part.failed"


def test_an_outage_is_logged_once(caplog):
    retry = Retry(RULE, Recorded())
    for error in (StorageUnavailable("away"), MessagingUnavailable("away too")):
        failing(retry, error)
    assert [(line.event, line.message) for line in caplog.records] == [
        ("part.waits", "Waiting: away")
    ]
    retry.run(lambda: 0.0)
    failing(retry, StorageUnavailable("again"))
    assert caplog.records[-1].message == "Waiting: again"


def test_a_loop_may_retry_only_outages():
    stop = Recorded()
    retry = Retry(RetryRule("part.waits", "part.failed", retried=UNAVAILABLE), stop)
    errors = iter([StorageUnavailable("away"), ValueError("no")])

    def step():
        raise next(errors)

    with pytest.raises(ValueError, match="no"):
        repeat(step, stop, stop.wait, retry)
    assert len(stop.pauses) == 1


def test_a_failed_wait_is_retried_like_a_turn():
    stop, waits = Recorded(), iter([MessagingUnavailable("away"), None])

    def wait(_seconds):
        if (error := next(waits)) is not None:
            raise error
        stop.set()

    repeat(lambda: 1.0, stop, wait, Retry(RULE, stop))
    assert stop.pauses == [1.0]


def test_a_loop_that_is_stopped_already_takes_no_turn():
    stop = Stop()
    stop.set()
    repeat(lambda: pytest.fail("a turn"), stop, stop.wait, Retry(RULE, stop))
