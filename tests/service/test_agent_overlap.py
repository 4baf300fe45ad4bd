"""Runs that are triggered during a run of their schedule: `overlap`, on agents and workers."""

from __future__ import annotations

from datetime import timedelta

import pytest

from synergy.agent.deciding.cancellation import cancel_active
from synergy.delivery.request import sent
from synergy.model.schedule import RunState
from synergy.model.unit_of_work import Hint, UnitState
from tests.service.agent_harness import NOW, OPERATOR, refused, work

EXPORT = {"cron": "0 * * * *", "process": "Export"}
HOUR = 3600
UNDER_WAY = "a run is under way"
LAUNCHED, SKIPPED = RunState.LAUNCHED, RunState.SKIPPED
PENDING, CANCELED = RunState.PENDING_CONSTRAINT, RunState.CANCELED


def states(agents):
    return [run.state for run in agents.runs()]


def test_buffer_one_keeps_one_run_waiting_and_skips_the_others(factory):
    factory.add("export", **EXPORT, overlap="buffer_one")
    member = factory.member()
    factory.advance(member, 4 * HOUR)
    assert states(factory) == [LAUNCHED, PENDING, SKIPPED, SKIPPED]
    assert {run.reason for run in factory.runs()[2:]} == {
        "a run is under way, and another one waits for its end"
    }
    work(factory, "Export")
    member.rest()
    assert states(factory) == [RunState.PROCESSED, LAUNCHED, SKIPPED, SKIPPED]
    factory.advance(member, HOUR)
    assert states(factory)[-1] is PENDING


def test_buffer_one_drops_the_runs_that_a_window_held_back_together(factory):
    window = {"time_window": {"start": "16:30", "end": "17:00"}}
    factory.add("export", **EXPORT, overlap="buffer_one", constraints=[window])
    member = factory.member()
    factory.advance(member, 4 * HOUR)
    assert states(factory) == [PENDING] * 4  # it is 16:00
    factory.advance(member, 1800)
    assert states(factory) == [LAUNCHED, PENDING, SKIPPED, SKIPPED]


def test_buffer_all_launches_one_run_after_the_other(factory):
    factory.add("export", **EXPORT, overlap="buffer_all")
    member = factory.member()
    factory.advance(member, 3 * HOUR)
    assert states(factory) == [LAUNCHED, PENDING, PENDING]
    for done in (1, 2):
        work(factory, "Export")
        member.rest()
        assert states(factory)[done] is LAUNCHED
    assert factory.runs()[2].detail.waits == ()


def test_allow_launches_runs_of_a_process_beside_each_other(factory):
    factory.add("export", **EXPORT, overlap="allow")
    factory.advance(factory.member(), 3 * HOUR)
    assert states(factory) == [LAUNCHED] * 3
    assert work(factory, "Export") == 3


@pytest.mark.parametrize("fields", [{"process": "Export"}, {}])
def test_skip_applies_to_events_and_requests_too(factory, fields):
    factory.add("after", trigger={"partition": "visits"}, overlap="skip", **fields)
    member = factory.member(receiver=lambda _: None)
    for number in range(3):
        factory.event("PARTITION", "visits", NOW, f"v{number}")
        member.rest()
    assert factory.states() == {LAUNCHED: 1, SKIPPED: 2}
    assert [run.reason for run in factory.runs() if run.state is SKIPPED] == [UNDER_WAY] * 2


def test_cancel_other_cancels_the_unit_that_runs(factory):
    factory.add("export", **EXPORT, overlap="cancel_other", constraints=[{"concurrency": 1}])
    member = factory.member()
    factory.advance(member, HOUR)
    (first,) = factory.runs()
    unit = began(factory, first.id)
    factory.advance(member, HOUR)
    assert states(factory) == [CANCELED, LAUNCHED]
    canceled, second = factory.runs()
    assert canceled.reason == "canceled for the next run of its schedule"
    (row,) = factory.store.units.get([unit])
    assert row.state is UnitState.CANCELED
    assert work(factory, "Export") == 1
    member.rest()
    assert factory.runs()[1].id == second.id
    assert states(factory) == [CANCELED, RunState.PROCESSED]


def began(agents, id_):
    """The unit of a run, which a worker has begun."""
    (unit,) = agents.store.units.get([id_])
    agents.store.units.claim([Hint(id_, unit.attempt)], "worker", agents.clock.now())
    return unit.id


def test_cancel_other_takes_back_no_request_but_ignores_its_answer(factory):
    factory.add("hook", cron="0 * * * *", overlap="cancel_other")
    answers = []
    member = factory.member(receiver=lambda _: answers.pop() if answers else None)
    factory.advance(member, HOUR)
    assert (states(factory), len(member.sender.requests)) == ([LAUNCHED], 1)
    factory.advance(member, HOUR)
    assert (states(factory), len(member.sender.requests)) == ([CANCELED, LAUNCHED], 2)
    answers += [sent(200), sent(200)]
    member.rest()
    assert states(factory) == [CANCELED, RunState.PROCESSED]


def test_a_unit_that_has_just_ended_is_not_canceled(factory):
    factory.add("export", **EXPORT, overlap="cancel_other")
    member = factory.member()
    factory.advance(member, HOUR)
    work(factory, "Export")  # no agent has seen it yet
    factory.advance(member, HOUR)
    assert states(factory) == [RunState.PROCESSED, LAUNCHED]


def test_runs_by_hand_are_canceled_too_and_cancel_nothing(factory):
    factory.add("export", **EXPORT, overlap="cancel_other")
    member = factory.member()
    by_hand = factory.actions.trigger("export", OPERATOR, factory.clock.now())
    factory.actions.trigger("export", OPERATOR, factory.clock.now())
    member.rest()
    assert factory.states() == {LAUNCHED: 2}
    factory.advance(member, HOUR)
    assert factory.states() == {CANCELED: 2, LAUNCHED: 1}
    assert by_hand in {run.id for run in factory.runs() if run.state is CANCELED}


@pytest.mark.parametrize("rule", [{"overlap": "skip"}, {"constraints": [{"concurrency": 1}]}])
def test_runs_that_were_not_launched_do_not_count_for_max_runs(factory, rule):
    factory.add("export", **EXPORT, max_runs=2, **rule)
    member = factory.member()
    factory.advance(member, 3 * HOUR)
    work(factory, "Export")
    factory.advance(member, 3 * HOUR)
    work(factory, "Export")
    factory.advance(member, 3 * HOUR)
    done = [run.state for run in factory.runs() if run.launched_at is not None]
    assert done == [RunState.PROCESSED] * 2
    (row,) = factory.store.schedules.get(["export"])
    assert (row.wake_at, row.is_enabled) == (None, True)


def test_a_run_that_began_shortly_before_a_due_time_counts(factory):
    factory.add("hook", cron="0 * * * *", overlap="skip")
    member = factory.member(receiver=lambda _: None)
    factory.advance(member, HOUR - 5)  # the agent has computed the decision about the due time
    factory.actions.trigger("hook", OPERATOR, factory.clock.now())
    factory.advance(member, 60)
    assert states(factory) == [LAUNCHED, SKIPPED]


def test_the_run_of_a_unit_that_has_ended_is_not_canceled(factory):
    factory.add("export", **EXPORT)
    factory.advance(factory.member(), HOUR)
    work(factory, "Export")  # no agent has seen it yet
    (run,) = factory.runs()
    assert cancel_active(factory.store, [run.id], "agent", NOW) == []
    assert states(factory) == [LAUNCHED]


def test_cancel_other_ends_the_attempts_of_a_request(factory):
    factory.add("hook", cron="0 * * * *", overlap="cancel_other", budget="5h")
    member = factory.member(receiver=lambda _: refused(500))
    factory.advance(member, HOUR + 1800)
    first = {request.key for request in member.sender.requests}
    assert len(member.sender.requests) > 1
    factory.advance(member, 1801)
    member.sender.requests.clear()
    factory.advance(member, 1800)
    assert states(factory) == [CANCELED, LAUNCHED]
    assert first.isdisjoint(request.key for request in member.sender.requests)
    assert member.sender.requests


@pytest.mark.parametrize("rules", [[], [{"delay": "1m"}]])
def test_runs_of_a_process_that_is_switched_off_do_not_count_for_max_runs(factory, rules):
    factory.add("export", **EXPORT, max_runs=1, constraints=rules)
    member = factory.member()
    factory.store.controls.set_on("Export", False, "me", "", NOW)
    factory.advance(member, HOUR + 120)
    factory.store.controls.set_on("Export", True, "me", "", NOW)
    factory.advance(member, 2 * HOUR)
    assert states(factory) == [RunState.ABORTED, LAUNCHED]


def test_runs_of_a_backfill_that_are_dropped_give_no_run_back(factory):
    window = {"time_window": {"start": "12:59", "end": "14:30"}}
    factory.add("hook", cron="0 * * * *", max_runs=2, timeout="30m", constraints=[window])
    member = factory.member()
    factory.advance(member, 3 * HOUR)
    now = factory.clock.now()
    begin = now.replace(hour=6)
    factory.actions.backfill("hook", begin, begin + timedelta(hours=2), OPERATOR, now)
    factory.advance(member, HOUR)
    assert factory.states() == {RunState.PROCESSED: 2, RunState.ABORTED: 2}
    (row,) = factory.store.schedules.get(["hook"])
    assert row.wake_at is None


def test_what_was_collected_and_dropped_gives_no_run_back(factory):
    two = {"partition": {"dataset": "visits", "n": 2}}
    factory.add("hook", trigger=two, max_runs=2, timeout="1h")
    member = factory.member()

    def arrive(number, then=0):
        for _ in range(number):
            factory.event("PARTITION", "visits", NOW)
        factory.advance(member, then)

    arrive(2)
    arrive(1, HOUR + 1)  # dropped after the timeout
    arrive(2)
    arrive(2)
    assert factory.states() == {RunState.PROCESSED: 2, RunState.ABORTED: 1}
