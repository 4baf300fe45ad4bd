"""Due times without a decision when a schedule changes, and unreadable definitions."""

from __future__ import annotations

import pytest

from synergy.delivery.request import sent
from synergy.model.schedule import RunState, Schedule
from synergy.queries.schedules.reads import ScheduleReads
from tests.service.agent_harness import NOW, OPERATOR, TARGET
from tests.service.schedule_kit import edit, keys

HOURLY = {"cron": "0 * * * *", "target": TARGET}


def test_the_first_run_is_not_repeated_when_its_record_is_gone(agents):
    member = agents.member()
    fields = {**HOURLY, "first_run": "immediately"}
    agents.add("job", **fields)
    member.rest()
    agents.store.runs.prune(agents.clock.now().replace(year=2027), 10)
    edit(agents, "job", {**fields, "by": "me"})
    member.rest()
    assert keys(agents) == []


@pytest.mark.parametrize("ending", ["edit", "disable", "remove"])
def test_undecided_due_times_are_recorded(agents, ending):
    """Due times of three hours without an agent are recorded, not launched."""
    agents.add("hourly", cron="0 * * * *", catchup_max=2)
    agents.clock.advance(3 * 3600 + 1)
    now = agents.clock.now()
    if ending == "edit":
        edit(agents, "hourly", {**HOURLY, "by": "me"})
    else:
        getattr(agents.actions, ending)("hourly", OPERATOR, now)
    member = agents.member()
    member.rest()
    reason = {
        "edit": "superseded by version 2",
        "remove": "its schedule was removed",
        "disable": "its schedule was disabled: disabled by an operator",
    }[ending]
    assert [(run.due_at.hour, run.state, run.reason) for run in agents.runs()] == [
        (13, RunState.SKIPPED, "missed: more than 2 due times"),
        (14, RunState.SKIPPED, reason),
        (15, RunState.SKIPPED, reason),
    ]
    agents.advance(member, 3600)
    assert len(agents.runs()) == (4 if ending == "edit" else 3)


def test_a_decision_that_comes_too_late_launches_nothing(agents, monkeypatch):
    """The schedule is disabled after the agent has read it."""
    agents.add("hourly", cron="0 * * * *")
    member = agents.member()
    member.rest()
    agents.clock.advance(3600)
    due = agents.store.schedules.due

    def read_then_disabled(*args):
        rows = due(*args)
        if rows:
            agents.actions.disable("hourly", OPERATOR, agents.clock.now())
        return rows

    monkeypatch.setattr(agents.store.schedules, "due", read_then_disabled)
    member.rest()
    assert [run.state for run in agents.runs()] == [RunState.SKIPPED]
    assert member.sender.requests == []


GARBAGE = [
    ({}, {}),
    ({"name": "x", "process": ["a"], "trigger": "every 60"}, {"collecting": 1}),
    ({"name": "x", "process": "Gone", "cron": "0 * * * *"}, {"collecting": {"number": 3}}),
    ({"name": "x", "target": "ftp://x", "cron": "0 * * * *"}, {"begun": "yesterday"}),
    ({"name": "x", "target": TARGET, "cron": "99 * * * *"}, {}),
    ({"name": "x", "target": TARGET, "cron": "0 * * * *", "zone": "Mars/X"}, {}),
    ({"name": "x", "target": TARGET, "cron": "0 * * * *"}, {"begun": "yesterday"}),
]


@pytest.mark.parametrize(("definition", "progress"), GARBAGE)
def test_an_unreadable_schedule_delays_no_other(agents, definition, progress):
    agents.add("good", cron="0 * * * *")
    broken = Schedule(
        name="x", definition=definition, progress=progress, is_enabled=True, wake_at=NOW,
        keys=("FILE|/a",), created_at=NOW, changed_at=NOW,
    )  # fmt: skip
    agents.store.schedules.create([broken], "me")
    reads = ScheduleReads(agents.store, agents.deployment, agents.clock)
    assert [one.name for one in reads.list_schedules().items] == ["good", "x"]
    assert reads.show_schedule("x").is_enabled
    assert reads.pending("x") == []
    member = agents.member()
    agents.advance(member, 3600)
    assert [run.state for run in agents.runs("good")] == [RunState.PROCESSED]
    (row,) = agents.store.schedules.get(["x"])
    assert not row.is_enabled
    assert row.reason
    disabled = [e for e in agents.store.journal.find() if e.event == "schedule.disabled"]
    assert [entry.process for entry in disabled] == ["x"]
    edit(agents, "x", HOURLY)
    agents.actions.enable("x", OPERATOR, agents.clock.now())
    agents.advance(member, 3600)
    assert [run.state for run in agents.runs("x")] == [RunState.PROCESSED]


@pytest.mark.parametrize(("definition", "progress"), GARBAGE)
def test_an_unreadable_schedule_can_be_edited_disabled_and_removed(agents, definition, progress):
    broken = Schedule(
        name="x", definition=definition, progress=progress, is_enabled=True, wake_at=NOW,
        created_at=NOW, changed_at=NOW,
    )  # fmt: skip
    agents.store.schedules.create([broken], "me")
    edit(agents, "x", HOURLY)
    agents.actions.remove("x", OPERATOR, NOW)
    agents.store.schedules.create([broken], "me")
    agents.actions.disable("x", OPERATOR, NOW)
    assert keys(agents) == []


def test_the_last_run_is_the_one_that_ended_last_also_for_the_next_agent(agents):
    agents.add("job", cron="0 0 1 1 *", constraints=[{"since_last_run": "1h"}])
    member = agents.member(receiver=lambda request: None)
    for _ in range(2):
        agents.actions.trigger("job", OPERATOR, agents.clock.now())
        member.rest()
        agents.clock.advance(1)
    for place in (1, 0):  # the second ends at 12:00:02, the first ten minutes later
        _, done = member.sender.under_way[place]
        del member.sender.under_way[place]
        done(sent(200))
        member.rest()
        agents.clock.advance(600)
    edit(agents, "job", {
        "when": "2026-03-10T13:05:00Z", "target": TARGET,
        "constraints": [{"since_last_run": "1h"}],
    })  # fmt: skip
    other = agents.member("agent-2")
    agents.advance(other, 3600)
    (run,) = (run for run in agents.runs() if run.key.startswith("due:"))
    assert run.reason.startswith("the last run succeeded at 2026-03-10T12:10:02Z")


def test_a_run_by_hand_postpones_an_elapsed_trigger(agents):
    member = agents.member()
    agents.add("job", trigger={"elapsed": "1h"})
    agents.advance(member, 1800)
    agents.actions.trigger("job", OPERATOR, agents.clock.now())
    agents.advance(member, 3599)
    assert len(agents.runs()) == 1
    agents.advance(member, 1)
    assert keys(agents)[1:] == [("due:2026-03-10T13:30:00Z", RunState.PROCESSED)]
