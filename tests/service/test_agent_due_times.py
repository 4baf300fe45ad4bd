"""An agent decides about due times: catch-up, outages and clocks."""

from __future__ import annotations

from datetime import timedelta

import pytest

from synergy.delivery.request import sent
from synergy.model.schedule import RunState
from tests.service.agent_harness import NOW

HOUR = timedelta(hours=1)


def test_a_cron_schedule_is_sent_to_its_webhook_at_each_due_time(agents):
    agents.add("hourly", cron="0 * * * *", payload="due at ${scheduledTime}")
    member = agents.member()
    agents.advance(member, 2 * 3600)
    assert [request.body for request in member.sender.requests] == [
        b"due at 2026-03-10T13:00:00.000Z",
        b"due at 2026-03-10T14:00:00.000Z",
    ]
    runs = agents.runs("hourly")
    assert [run.due_at for run in runs] == [NOW + HOUR, NOW + 2 * HOUR]
    assert {run.state for run in runs} == {RunState.PROCESSED}
    assert [request.key for request in member.sender.requests] == [run.id for run in runs]
    assert [request.scheduled_at for request in member.sender.requests] == [
        run.due_at for run in runs
    ]


def test_nothing_is_due_a_moment_early(agents):
    agents.add("hourly", cron="0 * * * *")
    member = agents.member()
    agents.advance(member, 3599.999)
    assert not agents.runs()
    agents.advance(member, 0.001)
    assert len(agents.runs()) == 1


def test_a_one_off_job_runs_once(agents):
    agents.add("later", when=(NOW + HOUR).isoformat())
    agents.add("at-once", when=(NOW - HOUR).isoformat())
    member = agents.member()
    agents.advance(member, 7200)
    assert [run.schedule for run in agents.runs()] == ["at-once", "later"]
    assert agents.states() == {RunState.PROCESSED: 2}


def test_an_idle_agent_wakes_only_to_renew_its_leases(agents):
    agents.add("yearly", cron="0 0 1 1 *")
    member = agents.member()
    assert member.rest() == pytest.approx(4.0)


THREE_HOURS = [NOW + n * HOUR for n in (1, 2, 3)]


@pytest.mark.parametrize(
    ("policy", "ran", "skipped"),
    [("all", THREE_HOURS, []), ("latest", THREE_HOURS[2:], THREE_HOURS[:2]),
     ("none", [], THREE_HOURS)],
)  # fmt: skip
def test_an_outage_of_three_hours_under_each_policy(agents, policy, ran, skipped):
    agents.add("hourly", cron="0 * * * *", catchup=policy)
    agents.clock.advance(3 * 3600 + 1800)
    member = agents.member()
    member.rest()
    runs = agents.runs()
    assert [run.due_at for run in runs] == THREE_HOURS
    assert [run.due_at for run in runs if run.state is RunState.PROCESSED] == ran
    assert [run.due_at for run in runs if run.state is RunState.SKIPPED] == skipped
    assert all(run.reason for run in runs if run.state is RunState.SKIPPED)
    assert [request.scheduled_at for request in member.sender.requests] == ran


def test_the_runs_of_a_catch_up_are_sent_one_after_the_other_oldest_first(agents):
    agents.add("hourly", cron="0 * * * *")
    agents.clock.advance(3 * 3600 + 60)
    member = agents.member(receiver=lambda _: None)
    for number in (1, 2, 3):
        member.rest()
        assert [r.scheduled_at for r in member.sender.requests] == THREE_HOURS[:number]
        member.sender.receiver = lambda _: sent()
        assert member.sender.answer() == 1
        member.sender.receiver = lambda _: None


def test_due_times_during_a_catch_up_come_after_it(agents):
    agents.add("minutely", cron="* * * * *")
    agents.clock.advance(3 * 60)
    member = agents.member(receiver=lambda _: None)
    member.rest()
    agents.advance(member, 60)
    minutes = [NOW + timedelta(minutes=number) for number in (1, 2, 3, 4)]
    assert [r.scheduled_at for r in member.sender.requests] == minutes[:1]
    member.sender.receiver = lambda _: sent()
    member.rest()
    assert [r.scheduled_at for r in member.sender.requests] == minutes
    member.sender.receiver = lambda _: None
    agents.advance(member, 120)  # the catch-up is over: no run waits for the one before it
    assert len(member.sender.requests) == 6


def test_all_schedules_that_are_due_at_the_same_time_are_sent(agents):
    for number in range(1201):
        agents.add(f"s{number}", cron="0 * * * *")
    member = agents.member()
    agents.advance(member, 3600)
    assert agents.states() == {RunState.PROCESSED: 1201}
    assert len(member.sender.requests) == 1201


def test_a_clock_set_back_an_hour_repeats_no_run(agents):
    agents.add("minutely", cron="* * * * *")
    member = agents.member()
    agents.advance(member, 600)
    assert len(agents.runs()) == 10
    agents.clock.set_wall(agents.clock.now() - HOUR)
    agents.advance(member, 3600)
    assert len(agents.runs()) == 10
    agents.advance(member, 60)
    assert len(agents.runs()) == 11
    assert agents.states() == {RunState.PROCESSED: 11}


def test_after_a_clock_jump_nothing_is_launched_for_eight_seconds(agents):
    agents.add("minutely", cron="* * * * *")
    member = agents.member()
    member.rest()
    agents.clock.set_wall(NOW + timedelta(minutes=2))
    agents.advance(member, 7.9)
    assert not agents.runs()
    agents.advance(member, 0.1)
    assert len(agents.runs()) == 2
    assert [e.why for e in agents.store.journal.find() if e.event == "clock.jumped"] == [
        "the clock of box moved by +120 s"
    ]


def test_a_clock_set_forward_a_day_is_trusted_after_three_minutes_and_catch_up_is_bounded(agents):
    agents.add("minutely", cron="* * * * *")
    member = agents.member()
    member.rest()
    agents.clock.set_wall(NOW + timedelta(days=1))
    agents.advance(member, 179)
    assert not agents.runs()
    agents.advance(member, 10)
    states = agents.states()
    assert states[RunState.PROCESSED] == len(member.sender.requests) <= 65
    assert states[RunState.SKIPPED] >= 1


def test_a_clock_jump_is_trusted_only_when_other_boxes_agree(agents):
    agents.add("hourly", cron="0 * * * *")
    agents.store.boxes.report("other", [], NOW)
    member = agents.member()
    member.rest()
    agents.clock.set_wall(NOW + timedelta(hours=5))
    for second in range(0, 600, 15):
        agents.advance(member, 15)
        agents.store.boxes.report("other", [], NOW + timedelta(seconds=second))
    assert not agents.runs()
    agents.store.boxes.report("other", [], agents.clock.now())
    agents.advance(member, 10)
    assert len(agents.runs()) == 5
