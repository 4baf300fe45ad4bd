"""One-off jobs run once for each time that they are given."""

from __future__ import annotations

from datetime import timedelta

import pytest

from synergy.errors import Refused
from synergy.model.schedule import RunState
from tests.service.agent_harness import NOW, OPERATOR, TARGET
from tests.service.schedule_kit import (
    ALICE,
    AT_NOON,
    AT_ONE,
    JOB,
    NOON,
    edit,
    everything,
    keys,
    stored,
)


def test_an_unnamed_job_that_is_added_twice_is_one_job(agents):
    data = {"target": TARGET, "when": "2026-03-10T12:05:00Z", "payload": "x"}
    first = agents.actions.create(data, ALICE, NOW)
    before = everything(agents)
    assert agents.actions.create(data, ALICE, NOW + timedelta(hours=1)).name == first.name
    assert everything(agents) == before
    assert first.is_enabled
    assert agents.actions.create({**data, "payload": "y"}, ALICE, NOW).name != first.name


def test_a_job_whose_time_is_past_runs_at_once(agents):
    member = agents.member()
    agents.actions.create({**JOB, "when": "2026-03-10T11:00:00Z"}, ALICE, NOW)
    member.rest()
    (run,) = agents.runs("job")
    assert (run.state, run.key) == (RunState.PROCESSED, "due:2026-03-10T11:00:00Z")
    assert len(member.sender.requests) == 1


def test_a_canceled_job_never_runs_and_has_its_record(agents):
    member = agents.member()
    agents.actions.create(JOB, ALICE, NOW)
    run = agents.actions.cancel_job("job", ALICE, NOW)
    assert (run.state, run.reason) == (RunState.CANCELED, "for the audit")
    agents.advance(member, 300)
    (record,) = agents.runs("job")
    assert (record.state, record.key) == (RunState.CANCELED, "due:2026-03-10T12:05:00Z")
    assert not stored(agents, "job").is_enabled
    assert member.sender.requests == []


def test_only_an_enabled_one_off_job_that_has_not_ended_can_be_canceled(agents):
    member = agents.member()
    agents.actions.create(JOB, ALICE, NOW)
    agents.actions.create({**JOB, "name": "off", "enabled": False}, ALICE, NOW)
    agents.actions.create(NOON, ALICE, NOW, enable=True)
    before = everything(agents)
    agents.actions.cancel_job("job", ALICE, NOW, dry_run=True)
    for name, reason in (("off", "disabled already"), ("noon", "no one-off job")):
        with pytest.raises(Refused, match=reason):
            agents.actions.cancel_job(name, ALICE, NOW)
    assert everything(agents) == before
    agents.advance(member, 300)
    before = everything(agents)
    with pytest.raises(Refused, match="is processed: it has ended"):
        agents.actions.cancel_job("job", ALICE, NOW)
    assert everything(agents) == before


@pytest.mark.parametrize(
    ("fields", "first", "second"),
    [
        ({"cron": "0 0 1 1 *", "first_run": "immediately"}, "first", "first/2"),
        ({"when": AT_NOON}, f"due:{AT_NOON}", f"due:{AT_NOON}/2"),
    ],
)
def test_a_one_off_job_added_again_has_its_own_runs(agents, fields, first, second):
    member = agents.member()
    for key in (first, second):
        agents.add("job", **fields)
        member.rest()
        assert keys(agents)[-1] == (key, RunState.PROCESSED)
        agents.actions.remove("job", OPERATOR, agents.clock.now())
        agents.clock.advance(1)
    assert len(member.sender.requests) == 2


def test_a_job_that_has_run_does_not_run_again_when_it_is_edited(agents):
    member = agents.member()
    agents.add("job", when=AT_NOON)
    member.rest()
    for by in ("me", "you"):
        edit(agents, "job", {"when": AT_NOON, "target": TARGET, "by": by})
        member.rest()
    assert keys(agents) == [(f"due:{AT_NOON}", RunState.PROCESSED)]
    with pytest.raises(Refused, match="has ended"):
        agents.actions.cancel_job("job", OPERATOR, NOW)


def test_a_job_that_waits_when_it_is_edited_runs_as_edited(agents):
    member = agents.member()
    night = [{"time_window": {"start": "22:00", "end": "23:00"}}]
    agents.add("job", when=AT_NOON, constraints=night)
    member.rest()
    edit(agents, "job", {"when": AT_NOON, "target": TARGET})
    member.rest()
    assert keys(agents) == [
        (f"due:{AT_NOON}", RunState.ABORTED),
        (f"due:{AT_NOON}/2", RunState.PROCESSED),
    ]


def test_a_job_edited_to_another_time_runs_then_or_at_once_if_past(agents):
    member = agents.member()
    agents.add("job", when=AT_NOON)
    member.rest()
    edit(agents, "job", {"when": "2026-03-10T11:00:00Z", "target": TARGET})
    member.rest()
    edit(agents, "job", {"when": AT_ONE, "target": TARGET})
    agents.advance(member, 3600)
    assert {key for key, state in keys(agents) if state is RunState.PROCESSED} == {
        f"due:{AT_NOON}", "due:2026-03-10T11:00:00Z/2", f"due:{AT_ONE}/3",
    }  # fmt: skip


@pytest.mark.parametrize("ending", ["cancel", "disable"])
def test_a_canceled_or_disabled_job_runs_once_it_is_enabled(agents, ending):
    member = agents.member()
    from_one = [{"time_window": {"start": "13:00", "end": "14:00"}}]
    agents.add("job", when=AT_NOON, constraints=from_one)
    if ending == "disable":
        member.rest()
        agents.actions.disable("job", OPERATOR, NOW)
    else:
        agents.actions.cancel_job("job", OPERATOR, NOW)
        assert keys(agents)[0][1] is RunState.CANCELED
        agents.actions.disable("job", OPERATOR, NOW)
    agents.actions.enable("job", OPERATOR, NOW)
    agents.advance(member, 3600)
    assert keys(agents)[1:] == [(f"due:{AT_NOON}/2", RunState.PROCESSED)]


def test_a_job_that_has_run_does_not_run_again_when_it_is_enabled(agents):
    member = agents.member()
    agents.add("job", when=AT_NOON)
    member.rest()
    agents.actions.disable("job", OPERATOR, NOW)
    agents.actions.enable("job", OPERATOR, NOW)
    member.rest()
    assert keys(agents) == [(f"due:{AT_NOON}", RunState.PROCESSED)]


def test_a_job_that_ran_by_hand_can_still_be_canceled(agents):
    member = agents.member()
    agents.add("job", when=AT_ONE)
    agents.actions.trigger("job", OPERATOR, NOW)
    member.rest()
    assert agents.actions.cancel_job("job", OPERATOR, NOW).state is RunState.CANCELED
    agents.advance(member, 7200)
    assert keys(agents)[1:] == [(f"due:{AT_ONE}", RunState.CANCELED)]
