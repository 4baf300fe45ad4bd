"""When a request is sent again; the expected instants are computed by hand."""

from __future__ import annotations

from datetime import timedelta

import pytest

from synergy.delivery.request import Response, SendOutcome
from synergy.delivery.retry import next_attempt
from tests.delivery.conftest import NOW


def a_failure(status: int | None = 500, **more: object) -> Response:
    given = {
        "ok": False,
        "outcome": SendOutcome.REFUSED,
        "may_retry": True,
        "status": status,
    } | more
    return Response(**given)  # type: ignore[arg-type]


def test_pauses_double_up_to_a_fifth_of_the_budget() -> None:
    """Pauses are 1, 2, 4, 8, 16, 32, then 60 s, a fifth of 300 s; a further one would exceed it."""
    begun, now = [0.0], NOW
    while due := next_attempt(len(begun), NOW, now, a_failure()):
        begun.append((due - NOW).total_seconds())
        now = due
    assert begun == [0, 1, 3, 7, 15, 31, 63, 123, 183, 243]


def test_the_budget_ends_inclusively_and_counts_from_the_first_attempt() -> None:
    at_the_end = NOW + timedelta(seconds=240)
    assert next_attempt(9, NOW, at_the_end, a_failure()) == NOW + timedelta(seconds=300)
    assert next_attempt(9, NOW, at_the_end + timedelta(milliseconds=1), a_failure()) is None


@pytest.mark.parametrize(("jitter", "seconds"), [(-1, 3.2), (-0.5, 3.6), (0, 4.0), (1, 4.8)])
def test_jitter_shifts_the_retry_by_up_to_a_fifth(jitter: float, seconds: float) -> None:
    due = next_attempt(3, NOW, NOW, a_failure(), jitter=jitter)
    assert due == NOW + timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("wish", "seconds"), [(0.0, 2.0), (1.0, 2.0), (2.5, 2.5), (300.0, 300.0), (300.5, None)]
)
def test_a_retry_does_not_come_before_retry_after(wish: float, seconds: float | None) -> None:
    due = next_attempt(2, NOW, NOW, a_failure(503, retry_after=wish))
    assert due == (None if seconds is None else NOW + timedelta(seconds=seconds))


def test_retry_after_may_delay_for_an_hour_within_a_longer_budget() -> None:
    due = next_attempt(1, NOW, NOW, a_failure(429, retry_after=3600.0), budget=86_400)
    assert due == NOW + timedelta(hours=1)


@pytest.mark.parametrize(
    ("status", "attempts"), [(404, 3), (302, 3), (408, 10), (425, 10), (429, 10), (500, 10)]
)
def test_lasting_failures_are_tried_three_times(status: int, attempts: int) -> None:
    made, now = 1, NOW
    while due := next_attempt(made, NOW, now, a_failure(status)):
        made, now = made + 1, due
    assert made == attempts


@pytest.mark.parametrize(
    "answer",
    [
        Response(ok=True, outcome=SendOutcome.SENT, may_retry=False, status=200),
        a_failure(410, may_retry=False, disables=True),
        a_failure(None, may_retry=False, outcome=SendOutcome.BLOCKED),
    ],
)
def test_successes_and_final_failures_are_not_retried(answer: Response) -> None:
    assert next_attempt(1, NOW, NOW, answer) is None


def test_without_a_budget_there_is_one_attempt() -> None:
    assert next_attempt(1, NOW, NOW, a_failure(), budget=0) is None
    assert next_attempt(10_000, NOW, NOW, a_failure(), budget=1e9) is not None
