"""Events and finished periods trigger runs."""

from __future__ import annotations

import pytest

from synergy.model.job import JobChange, JobState
from synergy.model.journal import JournalEntry
from synergy.model.schedule import RunState
from synergy.names import DECIDED_EVENT
from tests.deployments import DAILY
from tests.service.agent_harness import NOW, AgentHarness, work


def test_an_event_counts_once_even_if_it_is_repeated_or_read_again(agents):
    agents.add("sum", trigger={"partition": {"dataset": "orders", "n": 2}})
    agents.event("PARTITION", "orders", NOW, "one")
    member = agents.member()
    member.rest()
    agents.store.facts.set(DECIDED_EVENT, "0")
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
    move = JobChange(
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
def test_an_unprocessed_period_triggers_only_schedules_that_name_its_state(factory, after):
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
        b"2026030100 " + word,
        b"2026030200 " + word,
    ]


@pytest.mark.parametrize(
    ("event", "after", "state"),
    [("job.failed", "failed", "failed"), ("job.given_up", "skipped", "given_up")],
)
def test_failures_trigger_only_schedules_that_name_them(factory, event, after, state):
    """The default trigger and a trigger for skipped periods ignore failures."""
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


def test_a_reprocessed_period_triggers_again_with_its_new_generation(factory):
    factory.add("each", trigger={"timetable": "Daily"}, payload="${timeperiod} ${generation}")
    first = {"process": "Daily", "generations": "first"}
    factory.add("first", trigger={"timetable": first})
    member = factory.member()
    finish_jobs(factory, "2026030100", "2026030100")
    member.rest()
    reprocess_job(factory, "2026030100")
    member.rest()
    assert len(factory.runs("first")) == 1
    bodies = [request.body for request in member.sender.requests if request.body]
    assert bodies == [b"2026030100 1", b"2026030100 2"]


def reprocess_job(agents: AgentHarness, period: str, generation: int = 1) -> None:
    day, now = DAILY.parse(period), agents.clock.now()
    move = JobChange(
        "Daily", DAILY, day, day, JobState.PROCESSED, JobState.EMBRYO, generation, "", "anna",
        start_over=True,
    )  # fmt: skip
    assert not agents.store.jobs.move([move], now)
    move = JobChange(
        "Daily", DAILY, day, day, JobState.EMBRYO, JobState.PROCESSED, generation + 1, "", "s"
    )
    assert not agents.store.jobs.move([move], now)


def test_a_timetable_trigger_without_statuses_means_processed_periods(factory):
    factory.add("old", trigger={"timetable": "Daily"})
    (row,) = factory.store.schedules.get(["old"])
    assert row.definition["trigger"] == {"timetable": {"process": "Daily"}}  # no statuses
    member = factory.member()
    member.rest()
    finish_jobs(factory, "2026030100", "2026030100", JobState.SKIPPED)
    finish_jobs(factory, "2026030200", "2026030200")
    member.rest()
    assert [run.detail.cause["timeperiod"] for run in factory.runs("old")] == ["2026030200"]


def test_a_schedule_runs_after_the_process_that_triggers_it(factory):
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


def test_periods_finished_before_the_first_agent_starts_trigger_runs(factory):
    factory.add("b", trigger={"program": "Daily"})
    finish_jobs(factory, "2026030100", "2026030100")
    member = factory.member()
    member.rest()
    assert len(factory.runs("b")) == 1


def test_periods_finished_before_a_schedule_was_created_trigger_nothing(factory):
    finish_jobs(factory, "2026030100", "2026030100")
    factory.add("b", trigger={"program": "Daily"})
    member = factory.member()
    member.rest()
    assert not factory.runs("b")
    finish_jobs(factory, "2026030200", "2026030200", JobState.SKIPPED)
    member.rest()
    assert not factory.runs("b")  # skipped is not processed
