"""Queries of trees, windows and jobs, and whether a job is settled."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synergy.errors import InvalidValue, NotFound
from synergy.messaging.message import EventsMessage
from synergy.model.actor import Actor
from synergy.model.job import JobState
from synergy.model.process import LateData
from synergy.queries.reads import Reads
from synergy.queries.views import Window
from synergy.timeperiod import Qualifier
from synergy.timetable.level import Level
from tests.deployments import a_process
from tests.service.query_kit import a_site, a_watched_site, reads_of
from tests.service.scheduler_harness import OPERATOR, SchedulerHarness


@pytest.fixture
def system():
    return a_watched_site()


@pytest.fixture
def reads(system):
    return reads_of(system)


def jobs(reads: Reads, process: str, first: str = "", end: str = ""):
    levels = [
        level for tree in reads.trees(None, Window.between(first, end)) for level in tree.processes
    ]
    return {job.timeperiod: job for level in levels if level.name == process for job in level.jobs}


def test_counts_are_of_all_jobs_and_the_frontier_is_the_first_unfinished(system, reads):
    system.write("raw", "2015051801", 5)
    system.schedule()
    (tree,) = reads.trees()
    day, hour = tree.processes
    assert (tree.name, day.name, hour.name) == ("site", "Day", "Hour")
    assert hour.counts["in_progress"] == 1
    assert sum(hour.counts.values()) == 3 * 24 + 13
    assert set(hour.counts) == {state.word for state in JobState}
    assert (hour.first, hour.last, hour.frontier) == ("2015051700", "2015052012", "2015051801")
    assert day.frontier == "2015051800"
    assert day.jobs is hour.jobs is None


@given(
    qualifier=st.sampled_from(Qualifier),
    first=st.integers(350_000, 700_000),  # from 2009 on
    length=st.integers(1, 20_000),
    near=st.integers(-30, 30),
)
def test_a_window_holds_exactly_the_periods_that_overlap_it(qualifier, first, length, near):
    hours = Qualifier.HOURLY
    start, stop = hours.start(first), hours.start(first + length)
    level = Level(a_process("P", qualifier), qualifier.at(start) - 40, qualifier.at(stop) + 40)
    within = Window(first, first + length).within(level)
    for ordinal in {within.start + near, within.stop + near}:
        overlaps = qualifier.start(ordinal) < stop and qualifier.start(ordinal + 1) > start
        assert overlaps is (ordinal in within)


def test_a_window_is_limited_to_the_timetable():
    level = Level(a_process("P", Qualifier.HOURLY), 100, 200)
    assert Window().within(level) == Window(50, 250).within(level) == range(100, 200)
    assert Window(120, 150).within(level) == range(120, 150)
    assert not Window(20, 50).within(level)
    assert not Window(210, 250).within(level)


def test_a_window_may_be_open_but_not_empty():
    assert Window.between("", "") == Window(None, None)
    with pytest.raises(InvalidValue):
        Window.between("2015051800", "2015051800")
    with pytest.raises(InvalidValue):
        Window.between("2015051801", "2015051800")
    with pytest.raises(InvalidValue):
        Window.between("tomorrow", "")


def test_a_window_of_hours_shows_the_day_that_they_belong_to(system, reads):
    system.schedule()
    assert list(jobs(reads, "Hour", "2015051801", "2015051803")) == ["2015051801", "2015051802"]
    assert list(jobs(reads, "Day", "2015051801", "2015051803")) == ["2015051800"]
    assert list(jobs(reads, "Day", "2015051823", "2015051901")) == ["2015051800", "2015051900"]
    assert list(jobs(reads, "Day", "", "2015051700")) == []
    assert len(jobs(reads, "Hour", "2015000000", "2016000000")) == 3 * 24 + 13


def test_a_job_shows_the_newest_unit_of_its_present_generation(system, reads):
    system.write("raw", "2015051801", 5)
    system.settle()
    (unit,) = system.units("Hour", "2015051801")
    seen = jobs(reads, "Hour")["2015051801"]
    assert (seen.state, seen.generation, seen.unit, seen.reason) == ("processed", 1, unit.id, "")
    period = ("2015051801", "2015051801")
    system.reprocess("Hour", period, OPERATOR, system.clock.now())
    seen = jobs(reads, "Hour")["2015051801"]
    assert (seen.state, seen.generation, seen.unit) == ("embryo", 2, None)
    system.settle()
    newest = system.units("Hour", "2015051801")[-1]
    assert newest.generation == 2
    assert jobs(reads, "Hour")["2015051801"].unit == newest.id


def test_reasons_of_finished_jobs_come_from_the_journal_each_its_own(system, reads):
    system.schedule()
    now = system.clock.now()
    seen = jobs(reads, "Hour")
    assert seen["2015051705"].reason == "its source is empty"
    over = Actor("op", "again")
    system.reprocess("Hour", ("2015051705", "2015051705"), over, now)
    given_up = Actor("op", "the disk burnt")
    system.skip("Hour", ("2015051705", "2015051705"), given_up, now)
    seen = jobs(reads, "Hour")
    assert (seen["2015051705"].state, seen["2015051705"].reason) == ("skipped", "the disk burnt")
    assert seen["2015051704"].reason == seen["2015051706"].reason == "its source is empty"


def test_reasons_of_closed_jobs_say_what_they_wait_for(system, reads):
    system.write("raw", "2015051801", 5)
    system.schedule()
    assert jobs(reads, "Hour")["2015051801"].reason == "its unit waits for a worker"
    assert jobs(reads, "Day")["2015051800"].reason == "waits for child Hour 2015051801"

    def fail(_task):
        raise ValueError("disk on fire")

    system.work("Hour", work=fail)
    assert "disk on fire" in jobs(reads, "Hour")["2015051801"].reason
    system.process_commands.switch("Day", False, OPERATOR, system.clock.now())
    assert jobs(reads, "Day")["2015051800"].reason == "the process is switched off"


def test_a_job_that_waits_only_for_its_process_is_ready(system, reads):
    for hour in range(24):
        system.write("raw", f"20150518{hour:02}", hour)
    system.schedule()  # eight of the hours are in flight
    seen = jobs(reads, "Hour", "2015051800", "2015051900")
    reasons = Counter(job.reason for job in seen.values())
    assert reasons == {"its unit waits for a worker": 8, "ready": 16}


def test_an_open_period_needs_no_reason(system, reads):
    system.schedule()
    seen = jobs(reads, "Hour")
    assert (seen["2015052012"].state, seen["2015052012"].reason) == ("embryo", "")
    assert seen["2015052011"].reason == ""  # over, but it settles until 12:05


def test_a_stale_job_says_so():
    system = SchedulerHarness(a_site(late_data=LateData.MARK))
    system.settle()
    system.write("raw", "2015051705", 5)
    system.advance(20)
    seen = jobs(reads_of(system), "Hour")["2015051705"]
    assert (seen.state, seen.is_stale) == ("noop", True)
    assert "source changed" in seen.reason


def test_a_job_is_settled_when_it_is_finished_and_covers_its_source(system, reads):
    system.write("raw", "2015051801", 5)
    system.schedule()
    standing = reads.standing("Day", "2015051800")
    assert not standing.is_settled
    assert (standing.finished, standing.total) == (23, 25)
    system.settle()
    standing = reads.standing("Day", "2015051800")
    assert standing.is_settled
    assert (standing.state, standing.finished, standing.total) == (JobState.PROCESSED, 25, 25)


def test_late_data_below_a_finished_job_unsettles_it_before_the_scheduler_acts(system, reads):
    system.settle()
    assert reads.standing("Day", "2015051800").is_settled
    system.write("raw", "2015051801", 5)
    standing = reads.standing("Day", "2015051800")
    assert standing.state.is_finished
    assert (standing.late.process, standing.late.timeperiod) == ("Hour", "2015051801")
    assert not standing.is_settled
    assert reads.standing("Day", "2015051700").is_settled


def test_events_that_wait_unsettle_a_finished_job(system, reads):
    system.settle()
    with system.store.batch() as batch:
        system.bus.publish("Events", [EventsMessage([{"n": 1}])], batch)
    standing = reads.standing("Day", "2015051800")
    assert (standing.events_waiting, standing.is_settled) == (1, False)
    system.bus.purge("Events")
    assert reads.standing("Day", "2015051800").is_settled


def test_looking_changes_nothing(system, reads, tmp_path):
    system.write("raw", "2015051701", 5)
    system.schedule()
    unit = reads.units("Hour").items[0]

    def everything():
        system.store.backup(tmp_path / f"copy{len(list(tmp_path.iterdir()))}.db")
        newest = sorted(tmp_path.iterdir())[-1]
        return newest.read_bytes()

    before = everything()
    (
        reads.processes(),
        reads.trees(None, Window()),
        reads.boxes(),
        reads.queues(),
        reads.dead_letters(9, None, 9),
    )
    (
        reads.dead_letters(9, None, 9),
        reads.why("Day", "2015051700"),
        reads.audit(),
        reads.standing("Day", "2015051700"),
    )
    reads.journal("Hour", "2015051701"), reads.unit_log(unit.id), reads.collector()
    reads.collection_plan(flush=True), reads.collector_run_after(0, ""), reads.store_status()
    for process, period in (("Hour", "2014010100"), ("Hour", "2030010100")):
        with pytest.raises(NotFound):
            reads.why(process, period)
        with pytest.raises(NotFound):
            reads.standing(process, period)
    assert everything() == before
