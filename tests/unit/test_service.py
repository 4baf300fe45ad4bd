"""The kit of services: turns, waits, pauses after failures, and the end."""

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
LONG = 60.0  # seconds that no test waits in full
RULE = RetryRule(waiting="part.waits", failing="part.failed", first=1.0, longest=5.0)


class Part(Service):
    """Answers turns with what it is given; each turn is counted."""

    def __init__(self, *answers, rule=RULE):
        super().__init__("part", SteppedClock(NOW), rule)
        self.answers = list(answers)
        self.turns = threading.Semaphore(0)
        self.nows = []
        self.threads = set()

    def run_once(self, now):
        self.nows.append(now)
        self.threads.add(threading.current_thread())
        answer = self.answers.pop(0) if self.answers else LONG
        self.turns.release()
        if isinstance(answer, Exception):
            raise answer
        return answer

    def has_turned(self, times=1):
        return all(self.turns.acquire(timeout=LONG) for _ in range(times))


class Recorded(Stop):
    """A stop whose pauses are written down, and end at once."""

    def __init__(self):
        super().__init__()
        self.pauses = []

    def wait(self, timeout):
        self.pauses.append(timeout)
        return self.is_set


def test_turns_are_repeated_in_one_thread_after_the_seconds_they_say():
    part = Part(0.0, 0.0, LONG)
    part.start()
    assert part.has_turned(3)
    assert part.started
    assert part.stop()
    assert part.nows == [NOW] * 3
    assert len(part.threads) == 1
    assert not part.started


def test_a_wake_up_ends_the_wait_and_so_does_one_that_came_before():
    part = Part(LONG, LONG, LONG)
    part.start()
    for _ in range(2):
        assert part.has_turned()
        part.wake()
    assert part.has_turned()
    assert part.stop()


@pytest.mark.parametrize("answer", [3600.0, ValueError("no"), StorageUnavailable("away")])
def test_the_wish_to_stop_ends_waits_and_pauses_at_once(answer):
    part = Part(answer, rule=RetryRule("part.waits", "part.failed", first=3600.0, longest=3600.0))
    part.start()
    assert part.has_turned()
    assert part.stop(LONG)


def test_the_thread_ends_when_nothing_is_left_to_do_until_it_is_started_again():
    part = Part(None, None)
    for _ in range(2):
        part.start()
        assert part.has_turned()
        part._thread.join(LONG)
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
    part._thread.join(LONG)
    assert part.stop()
    assert len(part.nows) == 2


def test_a_thread_waits_for_the_one_before_and_a_stop_for_both():
    part, going_on = Part(None), threading.Event()
    part._opened.callback(going_on.wait, LONG)
    part.start()
    assert part.has_turned()
    while part.started:  # until it has found out that nothing is left
        part.wake()
    part.start()
    assert not part.stop(0.1)
    going_on.set()
    assert part.stop()


def test_a_stop_has_a_limit_and_says_whether_the_thread_ended():
    part, going_on = Part(), threading.Event()
    turn = part.run_once
    part.run_once = lambda now: (turn(now), going_on.wait(LONG))[0]
    part.start()
    assert part.has_turned()
    assert not part.stop(0.01)
    assert part.started
    going_on.set()
    assert part.stop()


def test_a_service_may_stop_itself():
    part, ended = Part(), []
    turn = part.run_once
    part.run_once = lambda now: (ended.append(part.stop()), turn(now))[1]
    part.start()
    assert part.has_turned()
    assert part.stop()
    assert ended == [False]


def test_what_a_turn_opened_is_closed_by_the_thread():
    part, closed = Part(), []
    part._opened.callback(lambda: closed.append(threading.current_thread()))
    part.start()
    assert part.has_turned()
    assert part.stop()
    assert set(closed) == part.threads


def test_pauses_grow_with_failures_up_to_a_limit_and_begin_anew_after_a_success():
    stop, told = Recorded(), []
    retry = Retry(RULE, stop, lambda error, times: told.append((str(error), times)))
    results = iter([ValueError("a"), ValueError("b"), ValueError("c"), ValueError("d"), 7.0])

    def step():
        result = next(results, ValueError("e"))
        if isinstance(result, Exception):
            raise result
        return result

    assert [retry.run(step) for _ in range(6)] == [0.0, 0.0, 0.0, 0.0, 7.0, 0.0]
    assert stop.pauses == [1.0, 2.0, 4.0, 5.0, 1.0]
    assert told == [("a", 1), ("b", 2), ("c", 3), ("d", 4), ("e", 1)]


def test_many_failures_make_no_pause_too_long_to_count():
    assert RULE.pause(100_000) == 5.0


def failing(retry, error):
    def step():
        raise error

    return retry.run(step)


def test_an_unforeseen_failure_is_logged_with_its_traceback_each_time(caplog):
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


def test_a_loop_may_retry_outages_alone():
    stop = Recorded()
    retry = Retry(RetryRule("part.waits", "part.failed", retried=UNAVAILABLE), stop)
    errors = iter([StorageUnavailable("away"), ValueError("no")])

    def step():
        raise next(errors)

    with pytest.raises(ValueError, match="no"):
        repeat(step, stop, stop.wait, retry)
    assert len(stop.pauses) == 1


def test_a_wait_that_fails_is_retried_like_the_turn():
    stop, waits = Recorded(), iter([MessagingUnavailable("away"), None])

    def wait(_seconds):
        if (error := next(waits)) is not None:
            raise error
        stop.set()

    repeat(lambda: 1.0, stop, wait, Retry(RULE, stop))
    assert stop.pauses == [1.0]


def test_a_loop_that_was_stopped_before_takes_no_turn():
    stop = Stop()
    stop.set()
    repeat(lambda: pytest.fail("a turn"), stop, stop.wait, Retry(RULE, stop))
