"""`pause_after_failures`: a schedule whose runs fail in a row is disabled."""

from __future__ import annotations

from dataclasses import replace

import pytest

from synergy.agent.deciding.failure_pauses import FailurePauses
from synergy.delivery.request import sent
from synergy.model.journal_event import JournalEvent
from synergy.model.schedule import RunState, ScheduleChange
from synergy.names import PAUSED_SCHEDULES
from synergy.queries.health.failed_runs import paused
from synergy.runtime.paused_schedules import paused_schedules
from tests.malformed_rows import loosened
from tests.service.agent_harness import NOW, OPERATOR, refused
from tests.service.schedule_kit import journal_of, stored

HOURLY = {"cron": "0 * * * *", "budget": "1s"}
HOUR = 3600
FAILED, PROCESSED = RunState.FAILED, RunState.PROCESSED


@pytest.fixture
def member(agents):
    agents.add("hook", pause_after_failures=3, **HOURLY)
    return agents.member(receiver=lambda _: refused(500))


def test_a_schedule_is_paused_after_so_many_failures_in_a_row(agents, member):
    agents.advance(member, 2 * HOUR + 60)
    assert stored(agents, "hook").is_enabled
    agents.advance(member, 5 * HOUR)
    row = stored(agents, "hook")
    runs = agents.runs("hook")
    assert [run.state for run in runs] == [FAILED] * 3
    assert (row.is_enabled, row.wake_at) == (False, None)
    assert row.reason == (
        f"paused after 3 runs in a row failed; the last one is {runs[-1].id}: {runs[-1].reason}"
    )
    event, why, who = journal_of(agents, "hook")[-1]
    assert (event, why, who) == (JournalEvent.SCHEDULE_DISABLED, row.reason, "agent agent-1")


def test_a_success_begins_the_count_anew(agents):
    agents.add("hook", pause_after_failures=2, **HOURLY)
    answers = [refused(500), sent(200), refused(500), sent(200)]
    member = agents.member(
        receiver=lambda request: answers[(request.scheduled_at - NOW).seconds // HOUR - 1]
    )
    agents.advance(member, 4 * HOUR + 60)
    assert [run.state for run in agents.runs()] == [FAILED, PROCESSED, FAILED, PROCESSED]
    assert stored(agents, "hook").is_enabled


def test_enabling_begins_the_count_anew(agents, member):
    agents.advance(member, 4 * HOUR)
    assert [row.name for row in paused_schedules(agents.store)] == ["hook"]
    agents.actions.enable("hook", OPERATOR, agents.clock.now())
    assert paused_schedules(agents.store) == []
    agents.advance(member, 2 * HOUR + 60)
    assert stored(agents, "hook").is_enabled
    assert agents.states("hook") == {FAILED: 5}
    agents.advance(member, HOUR)
    assert not stored(agents, "hook").is_enabled
    assert agents.states("hook") == {FAILED: 6}


def test_runs_that_wait_are_dropped_with_the_reason(agents):
    agents.add(
        "hook",
        trigger={"partition": "visits"},
        budget="1s",
        pause_after_failures=1,
        overlap="buffer_all",
    )
    member = agents.member(receiver=lambda _: None)
    for id_ in ("a", "b"):
        agents.event("PARTITION", "visits", NOW, id_)
        member.rest()
    member.sender.receiver = lambda _: refused(500)
    agents.advance(member, 60)
    first, second = sorted(agents.runs(), key=lambda run: run.key)
    assert (first.state, second.state) == (FAILED, RunState.ABORTED)
    assert second.reason == f"its schedule was disabled: {stored(agents, 'hook').reason}"


def test_the_verdict_names_paused_schedules(agents, member):
    agents.advance(member, 4 * HOUR)
    (one,) = paused(agents.store)
    row = stored(agents, "hook")
    assert (one.schedule, one.why, one.since) == ("hook", row.reason, row.changed_at)


def test_a_malformed_list_of_paused_schedules_stops_no_agent_and_no_verdict(agents, member):
    loosened(agents.store).execute(
        "INSERT INTO fact (name, value) VALUES (?, x'ff00')", (PAUSED_SCHEDULES,)
    )
    assert list(paused(agents.store)) == []
    agents.advance(member, 4 * HOUR)
    assert not stored(agents, "hook").is_enabled


def test_an_agent_that_takes_over_pauses_what_the_one_before_did_not(agents, member, monkeypatch):
    def dies(*_):
        raise KeyboardInterrupt

    agents.advance(member, 2 * HOUR + 60)
    monkeypatch.setattr(FailurePauses, "check", dies)
    with pytest.raises(KeyboardInterrupt):
        agents.advance(member, HOUR)
    monkeypatch.undo()
    agents.clock.advance(300)
    other = agents.member("agent-2", receiver=lambda _: refused(500))
    agents.advance(other, 120)
    assert not stored(agents, "hook").is_enabled
    assert agents.states("hook") == {FAILED: 3}


def test_a_malformed_row_is_left_to_the_decision_about_it(agents, member):
    agents.advance(member, 2 * HOUR + 60)
    (broken,) = agents.store.schedules.get(["hook"])
    agents.store.schedules.change([ScheduleChange(replace(broken, progress={"begun": 5}))])
    agents.advance(member, HOUR)
    assert stored(agents, "hook").reason.startswith("it cannot be decided about: ")
