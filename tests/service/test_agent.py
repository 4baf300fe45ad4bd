"""Schedules are fired, launched and carried out: by time, by events, by what ended before."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, time, timedelta

import pytest

from synergy.agent.deciding.schedules import disabling
from synergy.commands.runs import RunCommands
from synergy.delivery.request import sent
from synergy.model.job import JobMove, JobState
from synergy.model.journal import JournalEntry
from synergy.model.process import Deployment
from synergy.model.schedule import RunState, ScheduleChange
from synergy.model.unit_of_work import UnitState
from tests.deployments import DAILY
from tests.service.agent_harness import NOW, OPERATOR, AgentHarness, work

HOUR = timedelta(hours=1)


# Time


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


def test_an_idle_agent_only_looks_after_its_leases(agents):
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


def test_what_comes_due_during_a_catch_up_comes_after_it(agents):
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
    agents.advance(member, 120)  # it is over: nobody waits for the one before him any more
    assert len(member.sender.requests) == 6


def test_many_that_are_due_at_the_same_time(agents):
    for number in range(1201):
        agents.add(f"s{number}", cron="0 * * * *")
    member = agents.member()
    agents.advance(member, 3600)
    assert agents.states() == {RunState.PROCESSED: 1201}
    assert len(member.sender.requests) == 1201


# The clock


def test_a_clock_that_goes_back_an_hour_fires_nothing_twice(agents):
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


def test_after_a_jump_of_the_clock_nothing_is_fired_for_two_ticks(agents):
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


def test_a_clock_that_goes_forward_a_day_is_believed_after_a_while_and_catch_up_is_bounded(agents):
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


def test_a_jump_is_believed_when_another_box_agrees_and_not_while_one_differs(agents):
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


# What is wrong with one schedule


def test_what_cannot_be_decided_is_disabled_and_holds_up_no_other(agents):
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


# Workers


def test_a_worker_carries_a_run_out_and_its_end_is_the_runs(factory):
    factory.add("export", cron="0 * * * *", process="Export", arguments={"to": "x"})
    member = factory.member()
    factory.advance(member, 3600)
    (run,) = factory.runs()
    assert (run.state, run.request) == (
        RunState.LAUNCHED, {"process": "Export", "arguments": {"to": "x"}},
    )  # fmt: skip
    assert work(factory, "Export") == 1
    member.rest()
    assert factory.states() == {RunState.PROCESSED: 1}


@pytest.mark.parametrize(
    ("end", "state"),
    [(UnitState.NOOP, RunState.NOOP), (UnitState.PROCESSED, RunState.PROCESSED)],
)
def test_a_process_triggered_by_hand_ends_as_its_unit(factory, end, state):
    member = factory.member()
    member.rest()
    now = factory.clock.now()
    process = factory.deployment.freerun()["Export"]
    commands = RunCommands(factory.store, factory.bus, factory.deployment)
    commands.trigger_process(process, OPERATOR, now)
    member.rest()
    assert work(factory, "Export", end) == 1
    member.rest()
    assert factory.states() == {state: 1}


def test_a_tick_during_a_run_does_nothing_and_is_on_record(factory):
    factory.add("export", cron="0 * * * *", process="Export")
    member = factory.member()
    factory.advance(member, 7200)
    assert [run.state for run in factory.runs()] == [RunState.LAUNCHED, RunState.SKIPPED]
    assert factory.runs()[1].reason == "a run is under way"
    work(factory, "Export")
    factory.advance(member, 3600)
    assert factory.states() == {
        RunState.PROCESSED: 1, RunState.SKIPPED: 1, RunState.LAUNCHED: 1,
    }  # fmt: skip


def test_a_process_that_is_switched_off_is_not_run(factory):
    factory.add("export", cron="0 * * * *", process="Export")
    member = factory.member()
    factory.store.controls.set_on("Export", False, "me", "", NOW)
    factory.advance(member, 3600)
    (run,) = factory.runs()
    assert (run.state, run.reason) == (RunState.ABORTED, "Export is switched off")
    factory.store.controls.set_on("Export", True, "me", "", NOW)
    factory.advance(member, 3600)
    assert factory.states() == {RunState.ABORTED: 1, RunState.LAUNCHED: 1}


def test_a_run_without_its_unit_gets_it(factory):
    """As if a store without transactions had been cut off between the two."""
    factory.add("export", cron="0 * * * *", process="Export")
    create, factory.store.units.create = factory.store.units.create, lambda units, who: []
    member = factory.member()
    factory.advance(member, 3600)
    factory.store.units.create = create
    assert not factory.store.units.unfinished()
    factory.advance(member, 61)
    assert work(factory, "Export") == 1


# What happens


def test_part_f_from_end_to_end(agents):
    day = datetime(2026, 3, 10, tzinfo=UTC)
    agents.add(
        "after-files",
        dependencies=[
            {"type": "FILE", "resourceId": "/dir/path/", "lifeDuration": 3600},
            {"type": "TIME BASED", "resourceId": "cron", "lifeDuration": 0},
        ],
    )
    member = agents.member()

    def events(type_: str, resource: str, *times: str) -> int:
        for text in times:
            at = datetime.combine(day, time.fromisoformat(text), UTC)
            agents.event(type_, resource, at)
        member.rest()
        return len(agents.runs())

    assert events("FILE", "/dir/path/a", "11:59:59", "12:04:59", "12:14:50") == 0
    assert events("FILE", "/dir/an_other_path/x", "12:20:00") == 0
    assert events("TIME BASED", "cron", "12:30:00") == 1
    assert events("TIME BASED", "cron", "13:10:00") == 2
    assert events("TIME BASED", "cron", "13:30:00") == 2
    assert agents.states() == {RunState.PROCESSED: 2}


def test_an_event_counts_once_whatever_crashes(agents):
    agents.add("sum", trigger={"partition": {"dataset": "orders", "n": 2}})
    agents.event("PARTITION", "orders", NOW, "one")
    member = agents.member()
    member.rest()
    agents.store.facts.set("agent.events", "0")
    agents.event("PARTITION", "orders", NOW, "one")
    other = agents.member("agent-2")
    agents.advance(other, 30)
    assert other.agent.decides
    assert not agents.runs()
    agents.event("PARTITION", "orders", NOW, "two")
    other.rest()
    assert [run.detail.cause["events"] for run in agents.runs()] == [["one", "two"]]


def test_a_page_of_events_makes_one_change_of_each_schedule(agents):
    agents.add("sum", trigger={"partition": {"dataset": "orders", "n": 100}})
    member = agents.member()
    member.rest()
    (before,) = agents.store.schedules.get(["sum"])
    for number in range(99):
        agents.event("PARTITION", "orders", NOW, f"e{number}")
    member.rest()
    (after,) = agents.store.schedules.get(["sum"])
    assert after.rev == before.rev + 1
    agents.event("PARTITION", "orders", NOW, "the hundredth")
    member.rest()
    assert len(agents.runs()) == 1


def finish_jobs(
    agents: AgentHarness, first: str, last: str, after: JobState = JobState.PROCESSED
) -> None:
    move = JobMove(
        "Daily", DAILY, DAILY.parse(first), DAILY.parse(last), JobState.EMBRYO, after, 1, "", "s"
    )
    assert not agents.store.jobs.move([move], agents.clock.now())


def test_each_period_that_is_finished_triggers_a_run(factory):
    factory.add("mail", trigger={"timetable": "Daily"}, payload="${timeperiod} ${start} ${end}")
    member = factory.member()
    member.rest()
    finish_jobs(factory, "2026030100", "2026030300")
    member.rest()
    assert [request.body for request in member.sender.requests] == [
        b"2026030100 2026030100 2026030200",
        b"2026030200 2026030200 2026030300",
        b"2026030300 2026030300 2026030400",
    ]


@pytest.mark.parametrize("after", [JobState.NOOP, JobState.SKIPPED])
def test_a_period_that_is_not_processed_triggers_who_names_its_state_alone(factory, after):
    factory.add("mail", trigger={"timetable": "Daily"})
    named = {"process": "Daily", "statuses": ["noop", "skipped"]}
    factory.add("named", trigger={"timetable": named}, payload="${timeperiod} ${state}")
    member = factory.member()
    member.rest()
    finish_jobs(factory, "2026030100", "2026030200", after)
    member.rest()
    assert not factory.runs("mail")
    word = after.word.encode()
    assert [request.body for request in member.sender.requests] == [
        b"2026030100 " + word, b"2026030200 " + word,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("event", "after", "state"),
    [("job.failed", "failed", "failed"), ("job.given_up", "skipped", "given_up")],
)
def test_who_wants_to_be_told_of_trouble_is_and_nobody_else(factory, event, after, state):
    """As the journal tells of it; the usual trigger and that for skips hear nothing."""
    factory.add("usual", trigger={"timetable": "Daily"})
    factory.add("skips", trigger={"timetable": {"process": "Daily", "statuses": "skipped"}})
    trouble = {"process": "Daily", "statuses": ["failed", "given_up"]}
    factory.add("alarm", trigger={"timetable": trouble}, payload="${timeperiod} ${state}")
    member = factory.member()
    day, now = "2026030100", factory.clock.now()
    entry = JournalEntry(now, event, "Daily", day, day, "in_progress", after, 1, "no disk", "s")
    factory.store.journal.append([entry])
    member.rest()
    assert [request.body.decode() for request in member.sender.requests] == [f"{day} {state}"]
    assert [run.schedule for run in factory.runs()] == ["alarm"]


def test_a_period_that_is_done_again_triggers_again_and_says_so(factory):
    factory.add("each", trigger={"timetable": "Daily"}, payload="${timeperiod} ${generation}")
    first = {"process": "Daily", "generations": "first"}
    factory.add("first", trigger={"timetable": first})
    member = factory.member()
    finish_jobs(factory, "2026030100", "2026030100")
    member.rest()
    do_again(factory, "2026030100")
    member.rest()
    assert len(factory.runs("first")) == 1
    bodies = [request.body for request in member.sender.requests if request.body]
    assert bodies == [b"2026030100 1", b"2026030100 2"]


def do_again(agents: AgentHarness, period: str, generation: int = 1) -> None:
    day, now = DAILY.parse(period), agents.clock.now()
    move = JobMove(
        "Daily", DAILY, day, day, JobState.PROCESSED, JobState.EMBRYO, generation, "", "anna",
        start_over=True,
    )  # fmt: skip
    assert not agents.store.jobs.move([move], now)
    move = JobMove(
        "Daily", DAILY, day, day, JobState.EMBRYO, JobState.PROCESSED, generation + 1, "", "s"
    )
    assert not agents.store.jobs.move([move], now)


def test_a_definition_that_was_stored_without_these_fields_means_the_usual(factory):
    factory.add("old", trigger={"timetable": "Daily"})
    (row,) = factory.store.schedules.get(["old"])
    assert row.definition["trigger"] == {"timetable": {"process": "Daily"}}  # as ever
    member = factory.member()
    member.rest()
    finish_jobs(factory, "2026030100", "2026030100", JobState.SKIPPED)
    finish_jobs(factory, "2026030200", "2026030200")
    member.rest()
    assert [run.detail.cause["timeperiod"] for run in factory.runs("old")] == ["2026030200"]


def test_b_runs_after_a(factory):
    factory.add("a", cron="0 * * * *", process="Export")
    factory.add("b", trigger={"program": "Export"}, process="Clean")
    factory.add("alarm", trigger={"program": {"process": "Export", "statuses": ["failed"]}})
    member = factory.member()
    factory.advance(member, 3600)
    assert not factory.runs("b")
    work(factory, "Export")
    member.rest()
    assert [run.state for run in factory.runs("b")] == [RunState.LAUNCHED]
    assert not factory.runs("alarm")


def test_what_ended_before_the_first_agent_began_counts(factory):
    factory.add("b", trigger={"program": "Daily"})
    finish_jobs(factory, "2026030100", "2026030100")
    member = factory.member()
    member.rest()
    assert len(factory.runs("b")) == 1


def test_what_ended_before_a_schedule_began_does_not_count(factory):
    finish_jobs(factory, "2026030100", "2026030100")
    factory.add("b", trigger={"program": "Daily"})
    member = factory.member()
    member.rest()
    assert not factory.runs("b")
    finish_jobs(factory, "2026030200", "2026030200", JobState.SKIPPED)
    member.rest()
    assert not factory.runs("b")  # skipped is not processed
