"""A timetable that is extended by years, or skipped, and the schedules that listen to it."""

from __future__ import annotations

import tracemalloc
from collections import Counter

import pytest

from synergy.commands.schedules import ScheduleCommands
from synergy.model.job import JobChange, JobState
from synergy.model.schedule import Run, RunState
from synergy.schedule.progress.old_periods import RECENT
from tests.deployments import HOURLY, a_deployment, a_process
from tests.service.agent_harness import (
    OPERATOR,
    TARGET,
    AgentHarness,
    RecordingSender,
    SteppedAgent,
)
from tests.service.scheduler_harness import SchedulerHarness

YEARS = 3 * 365 * 24
LIMIT = 60  # `catchup_max`, unless a schedule says otherwise


class SchedulerWithAgent:
    """A system with one hourly process, and an agent beside its scheduler."""

    def __init__(self) -> None:
        site = a_process("Site", HOURLY, source="raw", sink="site")
        self.system = system = SchedulerHarness(a_deployment({"site": [site]}))
        self.schedules = ScheduleCommands(system.store, system.bus, system.deployment)
        self.member = SteppedAgent(system.workplace("", "agent-1"), RecordingSender())
        system.settle()

    def add(self, name: str, trigger: object, **fields: object) -> None:
        given = {"name": name, "target": TARGET, "trigger": trigger, **fields}
        self.schedules.create(given, OPERATOR, self.system.clock.now(), enable=True)

    def settle(self) -> None:
        for _ in range(1000):
            self.system.settle()
            self.member.rest()
            if self.system.scheduler.run_once() > 0:
                return
        raise AssertionError("the system never comes to rest")

    def runs(self, schedule: str) -> list[Run]:
        return all_runs(self.system, schedule)

    def close(self) -> None:
        self.member.consumer.close()


@pytest.fixture
def both():
    both = SchedulerWithAgent()
    yield both
    both.close()


def all_runs(place: SchedulerHarness | AgentHarness, schedule: str) -> list[Run]:
    found: list[Run] = []
    cursor: str | None = None
    while True:
        runs, cursor = place.store.runs.find(schedule=schedule, limit=1000, cursor=cursor)
        found += runs
        if cursor is None:
            return found


def accounted(runs: list[Run]) -> Counter[str]:
    """How often each hour was launched or recorded as skipped."""
    found: Counter[str] = Counter()
    for run in runs:
        cause = run.detail.cause
        if run.state is not RunState.SKIPPED:
            found[cause["timeperiod"]] += 1
            continue
        for text in cause["periods"]:
            first, _, last = text.partition(" to ")
            ordinals = range(HOURLY.parse(first), HOURLY.parse(last or first) + 1)
            found.update(HOURLY.timeperiod(ordinal) for ordinal in ordinals)
    return found


def hours(first: str, number: int) -> list[str]:
    ordinal = HOURLY.parse(first)
    return [HOURLY.timeperiod(ordinal + n) for n in range(number)]


def test_years_without_data_trigger_nothing_unless_noop_is_named(both):
    noop = {"process": "Site", "statuses": ["processed", "noop"]}
    both.add("usual", {"timetable": "Site"})
    both.add("each", {"timetable": noop}, payload="${timeperiod}")
    both.settle()
    both.system.timetable_commands.extend("2012051700", OPERATOR, both.system.clock.now())
    both.settle()
    assert both.runs("usual") == []
    runs = both.runs("each")
    launched = [run for run in runs if run.state is RunState.PROCESSED]
    assert len(launched) == len(both.member.sender.requests) == LIMIT
    assert len(runs) - LIMIT < 100  # each record covers many hours
    years = hours("2012051700", YEARS)
    assert accounted(runs) == Counter(years)
    assert {r.body.decode() for r in both.member.sender.requests} <= set(years)


def test_a_range_that_is_skipped_triggers_nothing_unless_skipped_is_named(both):
    skipped = {"process": "Site", "statuses": "skipped"}
    both.add("usual", {"timetable": "Site"})
    both.add("each", {"timetable": skipped})
    both.settle()
    system, years = both.system, hours("2012051700", YEARS)
    system.timetable_commands.extend(years[0], OPERATOR, system.clock.now())
    system.skip("Site", (years[0], years[-1]), OPERATOR, system.clock.now())
    both.settle()
    assert both.runs("usual") == []
    assert len(both.member.sender.requests) == LIMIT
    runs = both.runs("each")
    assert accounted(runs) == Counter(years)
    assert len(runs) - LIMIT < 100


@pytest.fixture
def agents():
    return AgentHarness(a_deployment({"site": [a_process("Site", HOURLY)]}))


def process_each(agents: AgentHarness, first: str, number: int, generation: int = 1) -> None:
    """Processes the hours one by one."""
    ordinals = range(HOURLY.parse(first), HOURLY.parse(first) + number)
    start_over = [
        JobChange(
            "Site", HOURLY, at, at, JobState.PROCESSED, JobState.EMBRYO, generation - 1, "", "anna",
            start_over=True,
        )
        for at in ordinals
        if generation > 1
    ]  # fmt: skip
    moves = [
        JobChange("Site", HOURLY, at, at, JobState.EMBRYO, JobState.PROCESSED, generation, "", "s")
        for at in ordinals
    ]
    assert not agents.store.jobs.move([*start_over], agents.clock.now())
    assert not agents.store.jobs.move(moves, agents.clock.now())


def test_years_of_processed_hours_launch_up_to_the_limit_and_record_the_rest(agents):
    agents.add("tell", trigger={"timetable": "Site"})
    agents.add("more", trigger={"timetable": "Site"}, catchup_max=100)
    member = agents.member()
    years = hours("2022051700", YEARS)
    for begin in range(0, YEARS, 900):  # as workers finish them while an agent runs
        some = years[begin : begin + 900]
        process_each(agents, some[0], len(some))
        member.rest()
    for name, limit in (("tell", LIMIT), ("more", 100)):
        runs = all_runs(agents, name)
        assert sum(run.state is RunState.PROCESSED for run in runs) == limit
        assert len(runs) <= limit + YEARS // 900 + 1
        assert accounted(runs) == Counter(years)
    assert len(member.sender.requests) == LIMIT + 100


def test_a_reprocessed_old_period_triggers_beyond_the_limit(agents):
    agents.add(
        "tell", trigger={"timetable": "Site"}, payload="${timeperiod} ${generation} ${state}"
    )
    member = agents.member()
    process_each(agents, "2022051700", 1000)
    member.rest()
    assert len(member.sender.requests) == LIMIT
    process_each(agents, "2022051705", 1, generation=2)
    process_each(agents, "2022070100", 1)
    member.rest()
    assert [r.body for r in member.sender.requests[LIMIT:]] == [b"2022051705 2 processed"]


def test_recent_periods_trigger_beyond_the_limit(agents):
    agents.add("tell", trigger={"timetable": "Site"}, payload="${timeperiod}")
    member = agents.member()
    process_each(agents, "2022051700", 1000)
    member.rest()
    before = len(member.sender.requests)
    newest = HOURLY.at(agents.clock.now()) - 1
    process_each(agents, HOURLY.timeperiod(newest - RECENT + 1), RECENT)
    member.rest()
    assert len(member.sender.requests) == before + RECENT


def test_a_journal_entry_of_many_years_needs_little_memory(agents):
    noop = {"process": "Site", "statuses": ["noop"]}
    for number in range(20):
        agents.add(f"s{number}", trigger={"timetable": noop})
    member = agents.member()
    member.rest()
    first = HOURLY.parse("1975051700")
    number = 400_000  # hours, of 45 years
    moves = [
        JobChange(
            "Site", HOURLY, first, first + number - 1, JobState.EMBRYO, JobState.NOOP, 1, "", "s"
        )
    ]
    assert not agents.store.jobs.move(moves, agents.clock.now())
    tracemalloc.start()
    try:
        member.rest()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(agents.runs()) == 20 * (LIMIT + 1)
    assert peak < 40e6
