"""Due times of the past that no run has done are run on request."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from synergy.delivery.request import failed, sent
from synergy.errors import InvalidValue, NotFound, Refused
from synergy.model.schedule import RunState
from tests.service.agent_harness import NOW, TARGET, answering, work
from tests.service.schedule_kit import ALICE, NOON, REPORT, a_run, everything, stored

HOUR = timedelta(hours=1)
HOURLY = {"name": "hourly", "target": TARGET, "trigger": "cron 0 * * * *"}


def hour(number: int) -> datetime:
    return NOW.replace(hour=number)


def backfill(agents, name="hourly", first=6, end=9, **more):
    now = agents.clock.now()
    return agents.actions.backfill(name, hour(first), hour(end), ALICE, now, **more)


def dues(found):
    """The hour of each due time, whether its run is new, and its state."""
    return [(one.due_at.hour, one.is_new, one.state) for one in found]


def test_each_due_time_in_the_range_is_run_with_its_own_values(agents):
    agents.add("hourly", trigger="cron 0 * * * *", payload="${scheduledTime}")
    member = agents.member()
    found = backfill(agents)
    assert dues(found) == [(number, True, "pending_constraint") for number in (6, 7, 8)]
    member.rest()
    assert [request.body.decode() for request in member.sender.requests] == [
        f"2026-03-10T0{number}:00:00.000Z" for number in (6, 7, 8)
    ]
    assert [run.id for run in agents.runs()] == [one.run for one in found]
    assert agents.states() == {RunState.PROCESSED: 3}
    (run, *_) = agents.runs()
    assert run.detail.cause["remark"] == "backfill, alice@services: for the audit"


def test_the_runs_wait_for_each_other_oldest_first(agents):
    agents.add("hourly", trigger="cron 0 * * * *")
    member = agents.member(receiver=lambda _: None)
    found = backfill(agents)
    member.rest()
    assert [request.key for request in member.sender.requests] == [found[0].run]
    member.sender.receiver = answering(sent(200))
    member.rest()
    assert [request.key for request in member.sender.requests] == [one.run for one in found]


def test_the_runs_wait_for_the_constraints(agents):
    agents.add("hourly", trigger="cron 0 * * * *", constraints=[{"at_most": {"n": 1, "per": "1h"}}])
    member = agents.member()
    backfill(agents)
    member.rest()
    assert len(member.sender.requests) == 1
    assert agents.states() == {RunState.PROCESSED: 1, RunState.PENDING_CONSTRAINT: 2}


def test_runs_of_a_worker_follow_each_other_beside_what_comes_due(agents):
    agents.add("export", process="Report", trigger="cron 0 * * * *")
    member = agents.member()
    backfill(agents, "export")
    member.rest()
    agents.clock.advance(3600)  # one more comes due meanwhile, and waits for its turn
    member.rest()
    order = []
    while agents.states() != {RunState.PROCESSED: 4}:
        (launched,) = (run for run in agents.runs() if run.state is RunState.LAUNCHED)
        order.append(launched.due_at.hour)
        work(agents, "Report")
        agents.advance(member, 60)
    assert order == [6, 7, 8, 13]


def test_a_second_backfill_repeats_nothing(agents):
    agents.add("hourly", trigger="cron 0 * * * *")
    member = agents.member()
    first = backfill(agents)
    assert dues(backfill(agents)) == [(n, False, "pending_constraint") for n in (6, 7, 8)]
    member.rest()
    again = backfill(agents, end=10)
    done = [(number, False, "processed") for number in (6, 7, 8)]
    assert dues(again) == [*done, (9, True, "pending_constraint")]
    assert [one.run for one in again[:3]] == [one.run for one in first]


def test_due_times_that_the_schedule_skipped_or_failed_are_run(agents):
    agents.add("hourly", trigger="cron 0 * * * *", catchup="latest")
    member = agents.member(receiver=answering(failed("no", may_retry=False), sent(200)))
    member.rest()
    agents.clock.advance(4 * 3600)  # 13, 14 and 15 are skipped, 16 fails
    agents.advance(member, 600)
    assert agents.states() == {RunState.SKIPPED: 3, RunState.FAILED: 1}
    found = backfill(agents, first=13, end=16)
    assert dues(found) == [(n, True, "pending_constraint") for n in (13, 14, 15)]
    agents.advance(member, 600)
    now = agents.clock.now()
    found = agents.actions.backfill("hourly", hour(13), hour(16) + HOUR / 10, ALICE, now)
    done = [(number, False, "processed") for number in (13, 14, 15)]
    assert dues(found) == [*done, (16, True, "pending_constraint")]


def test_a_failed_backfill_can_be_repeated(agents):
    agents.add("hourly", trigger="cron 0 * * * *")
    member = agents.member(
        receiver=answering(failed("no", may_retry=False), failed("no", may_retry=False), sent(200))
    )
    for _ in range(3):
        backfill(agents, end=7)
        agents.advance(member, 600)
    states = [run.state for run in agents.runs()]
    assert states == [RunState.FAILED, RunState.FAILED, RunState.PROCESSED]
    assert dues(backfill(agents, end=7)) == [(6, False, "processed")]


@pytest.mark.parametrize("state", [RunState.LAUNCHED, RunState.PROCESSED])
def test_a_due_time_whose_failed_run_was_retried_is_left_alone(agents, state):
    agents.actions.create_all([REPORT], ALICE, hour(7), enable=True)
    a_run(agents, RunState.FAILED, schedule="report", key="due:2026-03-10T08:00:00Z")
    (failed_run,) = agents.runs()
    again = agents.actions.retry(failed_run.id, ALICE, NOW)
    if state is RunState.PROCESSED:
        assert work(agents, "Report") == 1
        agents.member().rest()
    (found,) = backfill(agents, "report", 8, 9)
    assert (found.run, found.is_new, found.state) == (again.id, False, state.value)


def test_a_due_time_that_the_schedule_has_yet_to_decide_is_left_to_it(agents):
    agents.actions.create_all([HOURLY], ALICE, hour(10), enable=True)
    (before, undecided) = backfill(agents, first=10, end=12)
    assert (before.is_new, undecided.is_new, undecided.run) == (True, False, None)
    assert "left to the schedule" in undecided.reason
    agents.member().rest()
    assert [run.due_at.hour for run in agents.runs()] == [10, 11, 12]


def test_a_due_time_after_the_last_run_is_left_alone(agents):
    agents.actions.create_all([{**HOURLY, "max_runs": 1}], ALICE, hour(10), enable=True)
    agents.advance(agents.member(), 3600)
    (done, after) = backfill(agents, first=11, end=13)
    assert (done.state, after.run) == ("processed", None)
    assert after.reason == "max_runs: all runs are made"


def test_a_day_that_a_country_skipped_gets_a_record_once(agents):
    agents.add("noon", trigger="cron 0 12 * * *", zone="Pacific/Apia")
    begin, end = datetime(2011, 12, 30, 1, tzinfo=UTC), datetime(2011, 12, 31, 1, tzinfo=UTC)
    for is_new in (True, False):
        found = agents.actions.backfill("noon", begin, end, ALICE, NOW)
        skipped = [one for one in found if one.reason == "no such local time"]
        assert [(one.is_new, one.state) for one in skipped] == [(is_new, "skipped")]


def test_a_dry_run_tells_and_changes_nothing(agents):
    agents.add("hourly", trigger="cron 0 * * * *")
    before = everything(agents)
    found = backfill(agents, dry_run=True)
    assert [(one.is_new, one.run) for one in found] == [(True, None)] * 3
    assert everything(agents) == before


def test_a_thousand_due_times_are_one_backfill(agents):
    agents.add("seconds", trigger="every 1", payload="x")
    now = agents.clock.now()
    begin = hour(6)
    end = begin + timedelta(seconds=1000)
    found = agents.actions.backfill("seconds", begin, end, ALICE, now)
    assert sum(one.is_new for one in found) == 1000
    again = agents.actions.backfill("seconds", begin, end, ALICE, now)
    assert [one.run for one in again] == [one.run for one in found]


def test_nothing_before_the_start_of_a_schedule_is_run(agents):
    agents.add("hourly", trigger="cron 0 * * * *", **{"from": "2026-03-10T08:00:00Z"})
    assert dues(backfill(agents)) == [(8, True, "pending_constraint")]
    assert backfill(agents, first=6, end=8) == []


@pytest.mark.parametrize(
    ("name", "first", "end", "error", "words"),
    [
        ("hourly", 6, 6, InvalidValue, "from is not before to"),
        ("hourly", 6, 13, InvalidValue, "to is after now"),
        ("seconds", 6, 12, InvalidValue, "such as those before 2026-03-10T06:16:40Z"),
        ("noon", 6, 12, Refused, "noon is disabled"),
        ("loads", 6, 12, Refused, "has no repeated times"),
        ("nobody", 6, 12, NotFound, "nobody"),
    ],
)
def test_what_cannot_be_backfilled_is_refused(agents, name, first, end, error, words):
    agents.add("hourly", trigger="cron 0 * * * *")
    agents.add("seconds", trigger="every 1")
    agents.add("loads", trigger={"partition": {"dataset": "visits"}})
    agents.actions.create(NOON, ALICE, NOW)
    before = everything(agents)
    with pytest.raises(error, match=words):
        backfill(agents, name, first, end)
    assert everything(agents) == before


def test_a_backfill_of_a_process_that_is_switched_off_is_refused(agents):
    agents.add("export", process="Report", trigger="cron 0 * * * *")
    process = agents.deployment.processes["Report"]
    agents.deployment.processes["Report"] = replace(process, is_on=False)
    with pytest.raises(Refused, match="Report is switched off"):
        backfill(agents, "export")
    assert stored(agents, "export").is_enabled
