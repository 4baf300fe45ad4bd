"""The verdicts of the collector, as tables."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from synergy.lifecycle.reclaim import SLACK, Observed, Verdict, judge
from synergy.model.process import FreerunProcess
from synergy.model.unit_of_work import UnitOfWork, UnitState
from tests.deployments import HOURLY, a_process

NOW = datetime(2015, 5, 20, 12, tzinfo=UTC)
PROCESS = a_process("P", HOURLY, max_attempts=3)
FREE = FreerunProcess(name="F", classname="x.Y.start", token="F", present_on_boxes=())


def a_unit(state, **fields):
    defaults = {"created_at": NOW - timedelta(minutes=5), "published_at": NOW, **fields}
    return UnitOfWork(
        "u", "P", "2015052010", 1, "2015052010", "2015052011", 1, 2, state=state, **defaults
    )


def seen(**fields):
    return Observed(**{
        "silent_for": 0.0, "owner_is_gone": False, "queue_is_empty": False, "superseded": False,
        "flush": False, **fields,
    })  # fmt: skip


R, RUN, V = UnitState.REQUESTED, UnitState.IN_PROGRESS, UnitState.INVALID
LEAVE, PUBLISH, HAND_OUT, CANCEL = (
    Verdict.LEAVE, Verdict.PUBLISH, Verdict.HAND_OUT, Verdict.CANCEL,
)  # fmt: skip
OLD = NOW - timedelta(hours=48, seconds=1)


@pytest.mark.parametrize(
    ("unit", "observed", "verdict", "failed"),
    [
        # a live unit is left alone, however long it runs
        (a_unit(RUN), seen(silent_for=59.9), LEAVE, False),
        (a_unit(RUN, created_at=OLD), seen(silent_for=59.9), LEAVE, False),
        (a_unit(RUN), seen(silent_for=60.0), HAND_OUT, True),
        (a_unit(RUN), seen(owner_is_gone=True), HAND_OUT, True),
        (a_unit(RUN, failures=1), seen(silent_for=60.0), HAND_OUT, True),
        (a_unit(RUN, failures=2), seen(silent_for=60.0), CANCEL, True),
        (a_unit(RUN), seen(superseded=True), CANCEL, False),
        # requested
        (a_unit(R, published_at=None), seen(), PUBLISH, False),
        (a_unit(R), seen(), LEAVE, False),
        (a_unit(R), seen(queue_is_empty=True), PUBLISH, False),
        (a_unit(R, published_at=NOW - timedelta(hours=1)), seen(), LEAVE, False),
        (a_unit(R, published_at=NOW - timedelta(seconds=3601)), seen(), PUBLISH, False),
        # its age counts from its first claim
        (a_unit(R, first_claimed_at=NOW - timedelta(hours=48)), seen(), LEAVE, False),
        (a_unit(R, first_claimed_at=OLD), seen(), CANCEL, False),
        # a unit that was never claimed is not given up
        (a_unit(R, created_at=OLD), seen(), LEAVE, False),
        (a_unit(R, created_at=NOW - timedelta(days=400)), seen(flush=True), LEAVE, False),
        (a_unit(R, created_at=OLD, published_at=None), seen(), PUBLISH, False),
        (a_unit(R, published_at=None, not_before=NOW + timedelta(seconds=1)), seen(), LEAVE, False),
        (
            a_unit(R, published_at=None, not_before=NOW + timedelta(seconds=1)),
            seen(flush=True), PUBLISH, False,
        ),
        # invalid
        (a_unit(V, failures=1, not_before=NOW + timedelta(seconds=1)), seen(), LEAVE, False),
        (a_unit(V, failures=1, not_before=NOW), seen(), HAND_OUT, False),
        (
            a_unit(V, failures=1, not_before=NOW + timedelta(seconds=1)),
            seen(flush=True), HAND_OUT, False,
        ),
        (a_unit(V, failures=3), seen(), CANCEL, False),
        (a_unit(V, failures=3), seen(flush=True), CANCEL, False),
        (a_unit(V, failures=1, first_claimed_at=OLD), seen(), CANCEL, False),
        (a_unit(V, failures=1, created_at=OLD, first_claimed_at=NOW), seen(), HAND_OUT, False),
    ],
)  # fmt: skip
def test_the_collectors_verdict_for_each_unit_of_a_job(unit, observed, verdict, failed):
    judgement = judge(unit, PROCESS, observed, NOW)
    assert (judgement.verdict, judgement.failed) == (verdict, failed)


def test_a_unit_that_must_wait_has_a_time_to_look_again():
    due = NOW + timedelta(seconds=30)
    assert judge(a_unit(V, failures=1, not_before=due), PROCESS, seen(), NOW).again_at == due


def test_the_reason_of_a_cancellation_contains_the_last_error():
    judgement = judge(a_unit(V, failures=3, reason="ValueError: 7"), PROCESS, seen(), NOW)
    assert "ValueError: 7" in judgement.why


@pytest.mark.parametrize(
    ("unit", "observed", "verdict", "failed", "why"),
    [
        # a run is retried only if its process says so: the schedule creates the next one
        (a_unit(RUN), seen(silent_for=59.9), LEAVE, False, ""),
        (a_unit(RUN), seen(silent_for=60.0), CANCEL, True, "its worker's heartbeat stopped"),
        (a_unit(RUN), seen(owner_is_gone=True), CANCEL, True, "its worker is gone"),
        (a_unit(V, failures=1, reason="ValueError: 7"), seen(), CANCEL, False,
         "failed: ValueError: 7"),
        # returned by its worker and not claimed since
        (a_unit(R, attempt=2, published_at=None), seen(), PUBLISH, False, "never published"),
        (a_unit(R), seen(queue_is_empty=True), PUBLISH, False, "its message is lost"),
        # without a job that could be skipped, it has failed
        (a_unit(R, first_claimed_at=OLD), seen(), CANCEL, True, "not done within 172800 s"),
        (a_unit(R, created_at=OLD), seen(), LEAVE, False, ""),
    ],
)  # fmt: skip
def test_the_collectors_verdict_for_each_unit_of_a_run(unit, observed, verdict, failed, why):
    judgement = judge(unit, FREE, observed, NOW)
    assert (judgement.verdict, judgement.failed, judgement.why) == (verdict, failed, why)


LIMITED = a_process("P", HOURLY, max_attempts=3, timeout=20.0, retry_backoff=60.0)


@pytest.mark.parametrize(
    ("observed", "verdict"),
    [
        (seen(running_for=20.0), LEAVE),  # the worker still has time to end it
        (seen(running_for=20.0 + SLACK - 0.1), LEAVE),
        (seen(running_for=20.0 + SLACK), Verdict.TIME_OUT),
        (seen(running_for=20.0 + SLACK, owner_is_gone=True), HAND_OUT),
        (seen(running_for=20.0 + SLACK, silent_for=60.0), HAND_OUT),
        (seen(running_for=20.0 + SLACK, superseded=True), CANCEL),
    ],
)
def test_a_unit_is_timed_out_if_its_worker_does_not_end_it(observed, verdict):
    assert judge(a_unit(RUN), LIMITED, observed, NOW).verdict is verdict


def test_a_timed_out_unit_waits_before_its_next_attempt():
    unit = a_unit(RUN, failures=1)
    judgement = judge(unit, LIMITED, seen(running_for=99.0), NOW)
    assert (judgement.why, judgement.failed) == ("timed out after 20 s", True)
    assert judgement.again_at == NOW + timedelta(seconds=120)


def test_without_a_timeout_a_unit_may_run_forever():
    assert judge(a_unit(RUN), PROCESS, seen(running_for=1e9), NOW).verdict is LEAVE


def test_the_loss_of_a_worker_is_the_last_of_several_failures():
    judgement = judge(a_unit(RUN, failures=2), PROCESS, seen(owner_is_gone=True), NOW)
    assert judgement.why == "failed 3 times; last: its worker is gone"
