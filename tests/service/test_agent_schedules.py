"""An agent and schedules that are broken, disabled, enabled or edited."""

from __future__ import annotations

from dataclasses import replace

from synergy.agent.deciding.schedules import disabling
from synergy.model.process import Deployment
from synergy.model.schedule import RunState, ScheduleChange
from tests.service.agent_harness import OPERATOR


def test_an_undecidable_schedule_is_disabled_and_delays_no_other(agents):
    for name in ("a", "broken", "z"):
        agents.add(name, cron="0 * * * *")
    (row,) = agents.store.schedules.get(["broken"])
    broken = replace(row, progress={"begun": "yesterday"})
    assert not agents.store.schedules.change([ScheduleChange(broken)])
    member = agents.member()
    agents.advance(member, 3600)
    assert sorted(run.schedule for run in agents.runs()) == ["a", "z"]
    (row,) = agents.store.schedules.get(["broken"])
    assert not row.is_enabled
    assert row.reason.startswith("it cannot be decided about: ")
    assert [e.process for e in agents.store.journal.find() if e.event == "schedule.disabled"] == [
        "broken"
    ]


def test_a_schedule_whose_process_is_gone_is_disabled_with_the_reason(factory):
    factory.add("nightly", cron="0 * * * *", process="Export")
    left = Deployment({}, {})
    factory.deployment = left
    member = factory.member()
    factory.advance(member, 3600)
    (row,) = factory.store.schedules.get(["nightly"])
    assert (row.is_enabled, "Export" in row.reason) == (False, True)
    assert not factory.runs()


def test_disabling_drops_what_is_pending_with_the_reason(agents):
    agents.add("patient", cron="0 * * * *", constraints=[{"delay": "10m"}])
    member = agents.member()
    agents.advance(member, 3660)
    assert agents.states() == {RunState.PENDING_CONSTRAINT: 1}
    agents.actions.disable("patient", OPERATOR, agents.clock.now())
    agents.advance(member, 1)
    (run,) = agents.runs()
    assert run.state is RunState.ABORTED
    assert "disabled" in run.reason
    agents.advance(member, 7200)
    assert len(agents.runs()) == 1


def test_enabling_drops_what_an_agent_that_disabled_it_has_left(agents):
    agents.add("patient", cron="0 * * * *", constraints=[{"delay": "10m"}])
    member = agents.member()
    agents.advance(member, 3660)
    (row,) = agents.store.schedules.get(["patient"])
    change, _ = disabling(row, "the receiver wants no more", "agent", agents.clock.now())
    assert not agents.store.schedules.change([change])
    agents.actions.enable("patient", OPERATOR, agents.clock.now())
    agents.advance(member, 1800)
    (run,) = agents.runs()
    assert (run.state, run.reason) == (RunState.ABORTED, "its schedule was disabled")


def test_editing_drops_what_is_pending_and_fires_nothing_from_before(agents):
    agents.add("patient", cron="0 * * * *", constraints=[{"delay": "10m"}])
    member = agents.member()
    agents.advance(member, 3660)
    agents.actions.replace(
        "patient", {"target": "https://other.example/", "cron": "0 * * * *"}, OPERATOR,
        agents.clock.now(),
    )  # fmt: skip
    agents.advance(member, 3600)
    first, second = agents.runs()
    assert (first.state, first.reason) == (RunState.ABORTED, "superseded by version 2")
    assert (second.state, second.version) == (RunState.PROCESSED, 2)
    assert [r.target.url for r in member.sender.requests] == ["https://other.example/"]
