"""Several agents share deliveries, and take over those of a lost one."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from random import Random

import pytest

from synergy.delivery.request import NotSent, Request, Response, SendOutcome, failed, sent
from synergy.errors import StorageUnavailable
from synergy.messaging.message import UnitMessage
from synergy.model.schedule import RunChange, RunState
from synergy.names import DELIVERIES
from tests.service.agent_harness import (
    AgentHarness,
    SteppedAgent,
    answering,
    once,
    refused,
)


def test_ten_agents_make_one_delivery_of_one_job(agents):
    members = [agents.member(f"agent-{n}", receiver=lambda _: None) for n in range(10)]
    for member in members:
        member.decide()
    once(agents)
    random = Random(1)
    for _ in range(40):
        random.shuffle(members)
        for member in members:
            member.decide()
            member.deliver()
        agents.clock.advance(4)
        with agents.store.batch() as batch:  # the message arrives again
            (run,) = agents.runs()
            agents.bus.publish(DELIVERIES, [UnitMessage(run.id, 0)], batch)
    assert sum(len(member.sender.requests) for member in members) == 1
    assert sum(member.agent.decides for member in members) == 1


def test_agents_share_deliveries_by_their_capacity(agents):
    members = [agents.member(f"agent-{n}", rooms=5, receiver=lambda _: None) for n in range(3)]
    for number in range(30):
        once(agents, f"s{number}")
    for _ in range(15):
        for member in members:
            member.decide()
            member.deliver()
        agents.clock.advance(4)
    assert [len(member.sender.requests) for member in members] == [5, 5, 5]
    keys = [request.key for member in members for request in member.sender.requests]
    assert len(set(keys)) == 15


def lose(
    agents: AgentHarness, lost: SteppedAgent, others: list[SteppedAgent], seconds: int
) -> None:
    """Time passes without the lost agent."""
    for _ in range(seconds):
        agents.clock.advance(1)
        for member in others:
            member.rest()


def test_runs_of_a_lost_agent_are_taken_over_once_after_its_lease(agents):
    lost = agents.member("agent-1", receiver=lambda _: None)
    others = [agents.member(f"agent-{n}") for n in (2, 3)]
    for member in [lost, *others]:
        member.decide()
    once(agents)
    lost.rest()
    (run,) = agents.runs()
    assert (run.owner, run.attempt) == ("agent-1", 1)
    lose(agents, lost, others, 17)
    assert not any(member.sender.requests for member in others)
    lose(agents, lost, others, 10)
    requests = [request for member in others for request in member.sender.requests]
    assert [(request.key, request.attempt) for request in requests] == [(run.id, 2)]
    assert agents.states() == {RunState.PROCESSED: 1}


@pytest.mark.parametrize("is_alone", [False, True])
def test_a_paused_agent_sends_only_claims_that_it_still_has(agents, is_alone):
    away = agents.member("agent-1")
    others = [] if is_alone else [agents.member("agent-2", receiver=lambda _: None)]
    for member in [away, *others]:
        member.decide()
    once(agents)
    away.decide()  # launches and claims it; nothing is sent yet
    lose(agents, away, others, 30)
    away.rest()
    assert [request.attempt for request in away.sender.requests] == ([1] if is_alone else [])
    assert [request.attempt for member in others for request in member.sender.requests] == (
        [] if is_alone else [2]
    )


def checked(request: Request) -> Response:
    """The answer of a sender that looks at the claim right before it sends."""
    try:
        asyncio.run(request.assert_current())
    except NotSent as error:
        return failed(str(error), SendOutcome.STOPPED)
    return sent(200)


def not_sent(member: SteppedAgent) -> str:
    """Why the request that waits in the member's sender is not sent; empty if it is."""
    ((request, _),) = member.sender.under_way
    return checked(request).error


@pytest.mark.parametrize("is_alone", [False, True])
def test_a_request_that_waited_while_its_agent_was_away_is_not_sent(agents, is_alone):
    """Alone, the agent gives the claim back and makes a new one."""
    away = agents.member("agent-1", receiver=lambda _: None)
    others = [] if is_alone else [agents.member("agent-2")]
    for member in [away, *others]:
        member.decide()
    once(agents)
    away.rest()
    assert not_sent(away) == ""
    lose(agents, away, others, 30)
    assert "older than the lease" in not_sent(away)
    away.decide()  # it is a member again
    away.sender.receiver = checked
    away.rest()
    (run,) = agents.runs()
    assert (run.state, run.attempt) == (RunState.PROCESSED, 2)
    outcomes = [answer["outcome"] for answer in run.detail.answers]
    assert outcomes == (["stopped", "sent"] if is_alone else ["sent"])
    assert len(away.sender.requests) == (2 if is_alone else 1)


@pytest.mark.parametrize(
    "taken", [{"owner": "agent-2"}, {"owner": "agent-1", "attempt": 2}, {"owner": None}]
)
def test_a_claim_that_only_the_row_shows_as_lost_is_not_sent(agents, taken):
    """The clock of a paused virtual machine stood still."""
    paused = agents.member("agent-1", receiver=lambda _: None)
    paused.decide()
    once(agents)
    paused.rest()
    (run,) = agents.runs()
    agents.store.runs.change([RunChange(replace(run, **taken), "", "another agent")])
    assert "another agent or attempt" in not_sent(paused)


def test_a_request_whose_claim_cannot_be_checked_is_not_sent(agents, monkeypatch):
    member = agents.member("agent-1", receiver=lambda _: None)
    member.decide()
    once(agents)
    member.rest()

    def unavailable(_):
        raise StorageUnavailable("the disk is full")

    monkeypatch.setattr(agents.store.runs, "get", unavailable)
    assert not_sent(member) == "its claim could not be checked: the disk is full"


def test_a_claim_whose_answer_was_lost_is_sent(agents, monkeypatch):
    once(agents)
    member = agents.member(rooms=0)
    member.decide()
    member.sender.rooms = 9
    claims = []

    def unanswered(changes):
        claims.append(changes)
        raise StorageUnavailable("not within its time")

    with monkeypatch.context() as patch:
        patch.setattr(agents.store.runs, "change", unanswered)
        with pytest.raises(StorageUnavailable):
            member.deliver()
    assert agents.bus.purge(DELIVERIES) == 1  # its message is lost as well
    assert member.deliver() <= 1
    assert not member.sender.requests
    assert agents.store.runs.change(claims[0]) == []
    agents.clock.advance(1)
    member.deliver()
    assert [request.attempt for request in member.sender.requests] == [1]
    agents.clock.advance(60)
    member.rest()
    assert agents.states() == {RunState.PROCESSED: 1}


def test_late_answers_to_a_lost_agent_change_nothing(agents):
    lost = agents.member("agent-1", receiver=lambda _: None)
    other = agents.member("agent-2", receiver=lambda _: None)
    lost.decide()
    other.decide()
    once(agents)
    lost.rest()
    lose(agents, lost, [other], 30)
    assert len(other.sender.requests) == 1
    lost.sender.receiver = answering(refused(500))
    lost.sender.answer()
    lost.deliver()
    (run,) = agents.runs()
    assert (run.owner, run.attempt, run.detail.answers) == ("agent-2", 2, ())


def test_a_live_agent_keeps_its_slow_delivery(agents):
    slow = agents.member("agent-1", receiver=lambda _: None)
    other = agents.member("agent-2")
    slow.decide()
    other.decide()
    once(agents)
    slow.rest()
    lose(agents, slow, [slow, other], 300)
    assert not other.sender.requests
    assert len(slow.sender.requests) == 1


def test_a_claim_ends_after_half_an_hour_even_if_its_agent_lives(agents):
    stuck = agents.member("agent-1", receiver=lambda _: None)
    stuck.decide()
    once(agents)
    stuck.rest()
    assert len(stuck.sender.requests) == 1
    other = agents.member("agent-2")
    for _ in range(2000):
        agents.clock.advance(1)
        stuck.decide()
        other.rest()
    assert len(other.sender.requests) == 1
    assert agents.states() == {RunState.PROCESSED: 1}


def test_an_agent_claims_nothing_after_its_membership_lease_expired(agents):
    once(agents)
    member = agents.member()
    member.decide()
    agents.clock.advance(11)  # its lease has expired
    member.deliver()
    assert not member.sender.requests
    member.rest()
    assert len(member.sender.requests) == 1
