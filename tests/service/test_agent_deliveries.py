"""Deliveries of an agent: answers, retries and capacity."""

from __future__ import annotations

import threading
from collections import Counter
from datetime import timedelta

import pytest

from synergy.agent.delivering import deliverer
from synergy.agent.delivering.deferred_runs import KEPT_BACK
from synergy.delivery.request import UNREACHED, Response, SendOutcome, failed, sent
from synergy.messaging.message import EventsMessage
from synergy.model.schedule import RunState
from synergy.names import DELIVERIES
from tests.service.agent_harness import (
    NOW,
    OPERATOR,
    SteppedAgent,
    answering,
    once,
    refused,
)

SECOND = timedelta(seconds=1)


def test_a_run_of_an_event_is_late_since_it_was_taken_not_since_its_timestamp(agents):
    life = [{"type": "FILE", "resourceId": "/in", "lifeDuration": 3600}]
    agents.add("files", dependencies=life)
    member = agents.member()
    member.rest()
    agents.event("FILE", "/in/a", NOW - timedelta(hours=2))
    agents.add("late", when=(NOW - timedelta(seconds=7)).isoformat())
    member.rest()
    assert agents.states() == {RunState.PROCESSED: 2}
    durations = member.agent._meter.durations()
    assert durations["job_executed_delay_seconds", "first"][1] == 7


def test_an_accepted_delivery_is_processed_and_its_answer_kept(agents):
    once(agents, payload={"a": 1}, headers={"X-Mine": "1"})
    member = agents.member(receiver=answering(sent(201, b"thanks")))
    member.rest()
    (run,) = agents.runs()
    assert (run.state, run.attempt, run.owner) == (RunState.PROCESSED, 1, None)
    (answer,) = run.detail.answers
    assert (answer["status"], answer["body"], answer["outcome"]) == (201, "thanks", "sent")
    (request,) = member.sender.requests
    assert (request.body, request.headers, request.key) == (b'{"a": 1}', {"X-Mine": "1"}, run.id)


def test_a_failed_delivery_is_repeated_with_the_same_key(agents):
    once(agents)
    member = agents.member(receiver=answering(refused(500), refused(503), sent()))
    agents.advance(member, 10)
    (run,) = agents.runs()
    assert (run.state, run.attempt) == (RunState.PROCESSED, 3)
    assert [answer["status"] for answer in run.detail.answers] == [500, 503, None]
    assert {request.key for request in member.sender.requests} == {run.id}
    assert [request.attempt for request in member.sender.requests] == [1, 2, 3]


def test_a_delivery_fails_when_its_budget_is_used_up(agents):
    once(agents, budget="60s")
    member = agents.member(receiver=answering(refused(500)))
    agents.advance(member, 3600)
    (run,) = agents.runs()
    assert (run.state, run.reason) == (RunState.FAILED, "answered 500")
    assert run.finished_at <= NOW + 61 * SECOND
    assert 5 <= run.attempt <= 10
    assert len(run.detail.answers) <= 10
    assert len(member.sender.requests) == run.attempt


def test_a_retried_delivery_has_a_new_budget(agents):
    once(agents, budget="10s")
    member = agents.member(receiver=answering(refused(500)))
    agents.advance(member, 60)
    (run,) = agents.runs()
    agents.actions.retry(run.id, OPERATOR, agents.clock.now())
    member.sender.receiver = answering(refused(500), refused(500), sent())
    agents.advance(member, 10)
    (again,) = agents.runs()
    assert (again.state, again.attempt) == (RunState.PROCESSED, run.attempt + 3)
    assert {request.key for request in member.sender.requests} == {run.id}


def test_a_delivery_answered_404_fails_after_three_attempts(agents):
    once(agents)
    member = agents.member(receiver=answering(refused(404)))
    agents.advance(member, 600)
    (run,) = agents.runs()
    assert (run.state, run.attempt) == (RunState.FAILED, 3)


def test_the_retry_after_of_a_receiver_is_respected(agents):
    once(agents)
    member = agents.member(receiver=answering(refused(429, retry_after=90.0), sent()))
    agents.advance(member, 89)
    assert len(member.sender.requests) == 1
    agents.advance(member, 2)
    assert agents.states() == {RunState.PROCESSED: 1}


GONE = Response(
    ok=False, outcome=SendOutcome.REFUSED, may_retry=False, status=410, error="answered 410",
    disables=True,
)  # fmt: skip


@pytest.mark.parametrize("change", ["edited", "recreated"])
def test_a_410_of_an_earlier_target_does_not_disable_the_changed_schedule(agents, change):
    agents.add("hourly", cron="0 * * * *")
    member = agents.member(receiver=lambda _: None)
    agents.advance(member, 3600)
    other = {"target": "https://other.example/", "cron": "0 * * * *"}
    if change == "edited":
        agents.actions.replace("hourly", other, OPERATOR, agents.clock.now())
    else:
        agents.actions.remove("hourly", OPERATOR, agents.clock.now())
        agents.clock.advance(1)
        agents.add("hourly", **other)
    member.sender.receiver = answering(GONE)
    member.rest()
    assert agents.states() == {RunState.FAILED: 1}
    (row,) = agents.store.schedules.get(["hourly"])
    assert row.is_enabled


def test_a_receiver_that_answers_410_disables_the_schedule(agents):
    agents.add("hourly", cron="0 * * * *")
    member = agents.member(receiver=answering(GONE))
    agents.advance(member, 3 * 3600)
    assert agents.states() == {RunState.FAILED: 1}
    (row,) = agents.store.schedules.get(["hourly"])
    assert (row.is_enabled, row.wake_at) == (False, None)
    assert row.reason == "the receiver wants no more: answered 410"


def test_a_blocked_delivery_fails_at_once(agents):
    once(agents)
    member = agents.member(
        receiver=answering(failed("blocked", SendOutcome.BLOCKED, may_retry=False))
    )
    agents.advance(member, 600)
    (run,) = agents.runs()
    assert (run.state, run.reason, run.attempt) == (RunState.FAILED, UNREACHED, 1)
    assert [answer["error"] for answer in run.detail.answers] == ["blocked"]


def test_a_long_payload_is_filled_in_when_it_is_sent(agents):
    once(agents, payload="${runId} " + "x" * 70_000)
    member = agents.member()
    member.rest()
    (run,) = agents.runs()
    assert member.sender.requests[0].body == f"{run.id} ".encode() + b"x" * 70_000
    assert "payload" in run.request


def test_a_payload_that_is_lost_fails_the_run_and_nothing_else(agents):
    once(agents, "lost", payload="x" * 70_000)
    once(agents, "sound", payload="y" * 70_001)
    member = agents.member()
    member.decide()
    kept = [r.request["payload"] for r in agents.runs("sound")]
    agents.store.payloads.prune(kept)
    member.rest()
    assert {run.schedule: run.state for run in agents.runs()} == {
        "lost": RunState.FAILED,
        "sound": RunState.PROCESSED,
    }


def test_a_delivery_within_capacity_needs_no_message(agents):
    once(agents)
    member = agents.member()
    member.decide()
    assert not agents.bus.depths()
    (run,) = agents.runs()
    assert (run.state, run.owner, run.attempt) == (RunState.LAUNCHED, "agent-1", 1)
    member.deliver()
    assert len(member.sender.requests) == 1


def test_a_delivery_canceled_before_its_repetition_is_not_sent(agents):
    once(agents)
    member = agents.member(receiver=answering(refused(500)))
    member.rest()
    (run,) = agents.runs()
    agents.actions.cancel(run.id, OPERATOR, agents.clock.now())
    agents.advance(member, 600)
    assert len(member.sender.requests) == 1
    assert agents.states() == {RunState.CANCELED: 1}


def test_an_unexpected_message_in_the_queue_goes_into_quarantine(agents):
    with agents.store.batch() as batch:
        agents.bus.publish(DELIVERIES, [EventsMessage([{}])], batch)
    once(agents)
    member = agents.member()
    member.rest()
    assert agents.states() == {RunState.PROCESSED: 1}
    assert [dead.reason for dead in agents.bus.dead()] == ["expected a run"]


def test_a_destination_that_hangs_holds_up_no_other(agents):
    for number in range(20):
        once(agents, f"slow{number}", target="https://slow.example/")
    for number in range(20):
        once(agents, f"quick{number}", target="https://quick.example/")
    member = agents.member(rooms=3)
    member.sender.receiver = lambda r: None if "slow" in r.target.url else sent()
    member.rest()
    ended = Counter(run.program for run in agents.runs() if run.state is RunState.PROCESSED)
    assert ended == {"https://quick.example:443": 20}
    assert Counter(r.target.destination for r in member.sender.requests) == {
        "https://quick.example:443": 20,
        "https://slow.example:443": 3,
    }
    slow = [run for run in agents.runs() if run.state is RunState.LAUNCHED]
    assert Counter(run.owner for run in slow) == {"agent-1": 3, None: 17}
    member.sender.receiver = lambda _: sent()
    member.sender.answer()
    member.rest()
    assert agents.states() == {RunState.PROCESSED: 40}


def test_an_evicted_delivery_of_a_busy_destination_is_announced_again(agents):
    number = KEPT_BACK + 5
    for n in range(number):
        once(agents, f"s{n}")
    member = agents.member(rooms=1, receiver=lambda _: None)
    member.rest()
    assert len(member.sender.requests) == 1
    member.sender.rooms, member.sender.receiver = 2000, lambda _: sent()
    member.sender.answer()
    member.rest()
    assert agents.states() == {RunState.PROCESSED: number - 4, RunState.LAUNCHED: 4}
    agents.advance(member, 61)
    assert agents.states() == {RunState.PROCESSED: number}


def test_a_message_that_was_lost_is_sent_again(agents):
    once(agents)
    member = agents.member(rooms=0)
    member.decide()
    assert agents.bus.purge(DELIVERIES) == 1
    member.sender.rooms = 9
    member.rest()
    assert not member.sender.requests
    agents.advance(member, 61)
    assert agents.states() == {RunState.PROCESSED: 1}


class ObservedEvent(threading.Event):
    """An event that shows whether a thread waits for it."""

    def __init__(self) -> None:
        super().__init__()
        self.is_awaited = threading.Event()

    def wait(self, timeout: float | None = None) -> bool:
        self.is_awaited.set()
        return super().wait(timeout)


def gathering(member: SteppedAgent, until) -> None:
    """Calls `until` while the deliverer gathers outcomes; the call must end the gathering."""
    deliverer = member.agent.deliverer
    deliverer._flush_now = event = ObservedEvent()
    thread = threading.Thread(target=deliverer.gather)
    thread.start()
    assert event.is_awaited.wait(60)
    until()
    thread.join(60)
    assert not thread.is_alive()


@pytest.fixture
def _gathers_for_ten_minutes(monkeypatch):
    monkeypatch.setattr(deliverer, "GATHER_SECONDS", 600.0)


@pytest.mark.usefixtures("_gathers_for_ten_minutes")
def test_outcomes_are_gathered_until_nothing_is_under_way(agents):
    for name in ("one", "two", "three"):
        once(agents, name)
    member = agents.member()
    member.decide()
    member.deliver()
    member.agent.deliverer.gather()  # nothing is answered yet
    *some, last = [done for _, done in member.sender.under_way]
    for done in some:
        done(sent(200))
    gathering(member, lambda: last(sent(200)))
    member.agent.deliverer.gather()  # nothing is under way any more
    member.deliver()
    assert [run.state for run in agents.runs()] == [RunState.PROCESSED] * 3
    member.agent.deliverer.gather()


@pytest.mark.usefixtures("_gathers_for_ten_minutes")
def test_sending_does_not_wait_for_outcomes(agents):
    for name in ("one", "two"):
        once(agents, name)
    member = agents.member()
    member.decide()
    member.deliver()
    member.sender.under_way[0][1](sent(200))
    once(agents, "three")
    gathering(member, member.decide)
    member.deliver()
    assert len(member.sender.requests) == 3
