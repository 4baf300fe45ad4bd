"""What is seen of a deployment: that it is true, and that looking changes nothing."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synergy.commands.maintenance import Maintenance
from synergy.errors import InvalidValue, NotFound
from synergy.lifecycle.moves import move_job
from synergy.lifecycle.transitions import Move
from synergy.messaging.message import EventsMessage
from synergy.model.actor import Actor
from synergy.model.box import SILENT_AFTER, ObservedProcess
from synergy.model.job import JobState
from synergy.model.process import DaemonProcess, Deployment, LateData
from synergy.model.unit_of_work import UnitState, unit_id
from synergy.queries.reads import Reads
from synergy.queries.timetable.audit import audit
from synergy.queries.views import Window
from synergy.storage.protocol import LogLine
from synergy.timeperiod import Qualifier
from tests.deployments import DAILY, HOURLY, a_deployment, a_process
from tests.factories import a_hint, a_unit
from tests.service.scheduler_harness import OPERATOR, SchedulerHarness

EVENTS = DaemonProcess(
    name="Events", classname="x.Y.start", token="e", present_on_boxes=(".*",), instances=2
)


def a_site(**hourly) -> Deployment:
    return a_deployment(
        {
            "site": [
                a_process("Day", DAILY, source="hour", sink="day", trigger_frequency="every 600"),
                a_process("Hour", HOURLY, source="raw", sink="hour", **hourly),
            ]
        }
    )


@pytest.fixture
def system():
    declared = a_site()
    return SchedulerHarness(Deployment({**declared.processes, "Events": EVENTS}, declared.trees))


@pytest.fixture
def reads(system):
    return reads_of(system)


def reads_of(system: SchedulerHarness) -> Reads:
    return Reads(system.store, system.bus, system.deployment, system.clock)


def jobs(reads: Reads, process: str, first: str = "", end: str = ""):
    levels = [
        level for tree in reads.trees(None, Window.between(first, end)) for level in tree.processes
    ]
    return {job.timeperiod: job for level in levels if level.name == process for job in level.jobs}


# Processes


def test_a_process_is_shown_as_declared_until_an_operator_says_otherwise(system, reads):
    system.schedule()
    day = reads.process("Day")
    assert (day.kind, day.qualifier, day.tree, day.queue) == ("managed", "daily", "site", "Day")
    assert (day.is_on, day.trigger) == (True, "every 600")
    assert day.next_due == datetime(2015, 5, 20, 12, 10, tzinfo=UTC)
    now = system.clock.now()
    system.process_commands.set_trigger("Day", "at 3:05", OPERATOR, now)
    assert reads.process("Day").trigger == "at 03:05"
    assert reads.process("Day").next_due == datetime(2015, 5, 21, 3, 5, tzinfo=UTC)
    system.process_commands.switch("Day", False, OPERATOR, now)
    assert not reads.process("Day").is_on
    assert reads.process("Day").next_due is None


def test_a_daemon_has_neither_qualifier_nor_trigger(reads):
    events = next(p for p in reads.processes() if p.name == "Events")
    assert (events.kind, events.instances) == ("daemon", 2)
    assert (events.qualifier, events.tree, events.trigger, events.next_due) == (None,) * 4


def test_unknown_names_are_told_with_those_that_there_are(reads, system):
    with pytest.raises(NotFound, match="Day, Hour, Events"):
        reads.process("Dya")
    system.schedule()
    with pytest.raises(NotFound, match="there are: site"):
        reads.trees("sight")
    with pytest.raises(NotFound):
        reads.unit("no such")


# Trees and windows


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
    begin, end = Window(first, first + length).ordinals(qualifier)
    start, stop = hours.start(first), hours.start(first + length)
    for ordinal in {begin + near, end + near}:
        overlaps = qualifier.start(ordinal) < stop and qualifier.start(ordinal + 1) > start
        assert overlaps is (begin <= ordinal < end)


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


def test_what_waits_only_for_its_process_is_ready(system, reads):
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


# Standing: is it done for good?


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


# Units, queues, collector, boxes


def test_units_are_paged_newest_first(system, reads):
    for hour in range(5):
        system.write("raw", f"20150517{hour:02}", 1)
    system.schedule()
    first = reads.units("Hour", limit=3)
    rest = reads.units("Hour", limit=3, cursor=first.next)
    ids = [unit.id for unit in (*first.items, *rest.items)]
    assert len(set(ids)) == 5
    assert rest.next is None
    assert reads.units(state=UnitState.PROCESSED).items == ()
    assert reads.unit(ids[0]).id == ids[0]


def test_the_log_of_a_unit(system, reads):
    system.write("raw", "2015051700", 1)
    system.schedule()
    (unit,) = reads.units("Hour").items
    line = LogLine(system.clock.now(), 1, "info", "hello")
    system.store.logs.append(unit.id, [line])
    assert reads.unit_log(unit.id) == [line]


def test_the_journal_of_a_job_is_newest_first(system, reads):
    system.write("raw", "2015051700", 1)
    system.settle()
    events = [entry.event for entry in reads.journal("Hour", "2015051700").items]
    assert events[0] == "job.processed"
    assert {"unit.requested", "unit.in_progress", "unit.processed"} <= set(events)


def test_queues_of_all_processes_are_shown_and_those_that_nobody_reads(system, reads):
    with system.store.batch() as batch:
        system.bus.publish("Nobody", [EventsMessage([])], batch)
    queues = {queue.name: queue for queue in reads.queues()}
    assert set(queues) == {"Day", "Hour", "Events", "Nobody"}
    assert (queues["Nobody"].process, queues["Nobody"].waiting) == (None, 1)
    assert (queues["Hour"].process, queues["Hour"].waiting) == ("Hour", 0)


def test_the_collector_shows_its_runs_and_what_is_unfinished(system, reads):
    system.write("raw", "2015051700", 1)
    system.schedule()
    seq = system.maintenance.request_collection("", True, OPERATOR, system.clock.now())
    assert reads.collector_run_after(seq, "")[0] is None
    system.schedule()
    entry, _ = reads.collector_run_after(seq, "")
    seen = reads.collector()
    assert seen.is_led
    assert seen.units == {"Hour": {"requested": 1}}
    assert seen.runs[0] == entry


def test_what_the_collector_would_do_is_what_it_then_does(system, reads):
    system.write("raw", "2015051700", 1)
    system.schedule()
    system.bus.purge("Hour")  # a message is lost
    (planned,) = reads.collection_plan()
    assert (planned.process, planned.verdict) == ("Hour", "publish")
    assert reads.collection_plan("Day") == []
    system.advance(61)
    assert system.bus.depths() == {"Hour": 1}
    assert reads.collection_plan() == []


def test_the_collector_leaves_what_waits_behind_a_running_unit(system, reads):
    system.write("raw", "2015051700", 1)
    system.schedule()
    (requested,) = system.store.units.unfinished()
    (running,) = system.store.units.claim([a_hint(requested)], "a worker", system.clock.now())
    key = (running.process, running.timeperiod, 1, 1, 2)
    behind = replace(
        a_unit(), id=unit_id(*key), process=running.process, timeperiod=running.timeperiod,
        start_id=1, end_id=2,
    )  # fmt: skip
    system.store.units.create([behind], "scheduler")
    assert reads.collection_plan() == []


def test_boxes_show_what_is_assigned_and_what_was_seen(system, reads):
    now = system.clock.now()
    system.store.boxes.assign("b1", ["Day", "Hour"])
    system.store.boxes.switch("b1", "Day", False, "op", now)
    system.store.boxes.assign("b2", ["Day"])
    running = [ObservedProcess("b1", "Hour", n, "running", pid=n) for n in (2, 1)]
    system.store.boxes.report("b1", [*running, ObservedProcess("b1", "Gone", 1, "running")], now)
    first, second = reads.boxes()
    assert (first.id, first.seen_at, second.id, second.seen_at) == ("b1", now, "b2", None)
    assert [(p.process, p.is_on) for p in first.processes] == [
        ("Day", False), ("Gone", None), ("Hour", True),
    ]  # fmt: skip
    assert [seen.instance for seen in first.processes[2].observed] == [1, 2]
    places = {place.box: place for place in reads.process("Day").boxes}
    assert (places["b1"].is_on, places["b2"].is_on) == (False, True)
    assert reads.process("Hour").boxes[0].running == 2
    assert (first.age, first.is_silent, second.age, second.is_silent) == (0, False, None, True)

    system.clock.advance(SILENT_AFTER.total_seconds() + 1)
    first, _ = reads.boxes()
    assert (first.age, first.is_silent) == (46, True)
    assert reads.process("Hour").boxes[0].running == 0  # as far as anybody knows


# Looking changes nothing


def test_looking_changes_nothing(system, reads, tmp_path):
    system.write("raw", "2015051701", 5)
    system.schedule()
    unit = reads.units("Hour").items[0]

    def everything():
        system.store.backup(tmp_path / f"copy{len(list(tmp_path.iterdir()))}.db")
        newest = sorted(tmp_path.iterdir())[-1]
        return newest.read_bytes()

    before = everything()
    reads.processes(), reads.trees(None, Window()), reads.boxes(), reads.queues(), reads.dead()
    reads.why("Day", "2015051700"), reads.audit(), reads.standing("Day", "2015051700")
    reads.journal("Hour", "2015051701"), reads.unit_log(unit.id), reads.collector()
    reads.collection_plan(flush=True), reads.collector_run_after(0, ""), reads.store_status()
    for process, period in (("Hour", "2014010100"), ("Hour", "2030010100")):
        with pytest.raises(NotFound):
            reads.why(process, period)
        with pytest.raises(NotFound):
            reads.standing(process, period)
    assert everything() == before


# Upkeep


@pytest.fixture
def upkeep(system):
    return Maintenance(system.store, system.bus, system.deployment)


def test_a_box_gets_what_it_lacks_and_nothing_is_switched_back_on(system, upkeep):
    now = system.clock.now()
    assert upkeep.assign("b", ["Day"], OPERATOR, now, dry_run=True) == ["Day"]
    assert system.store.boxes.assignments("b") == []
    assert upkeep.assign("b", ["Day"], OPERATOR, now, dry_run=False) == ["Day"]
    assert upkeep.switch_on_box("b", "Day", False, OPERATOR, now, dry_run=True)
    assert system.store.boxes.assignments("b")[0].is_on
    assert upkeep.switch_on_box("b", "Day", False, OPERATOR, now, dry_run=False)
    assert not upkeep.switch_on_box("b", "Day", False, OPERATOR, now, dry_run=False)
    assert upkeep.assign("b", ["Day", "Hour"], OPERATOR, now, dry_run=False) == ["Hour"]
    is_on = {a.process: a.is_on for a in system.store.boxes.assignments("b")}
    assert is_on == {"Day": False, "Hour": True}
    with pytest.raises(NotFound, match="box sync"):
        upkeep.switch_on_box("b", "Events", True, OPERATOR, now, dry_run=False)
    with pytest.raises(NotFound):
        upkeep.refuse_if_unknown_box("c")


def test_messages_in_quarantine_are_replayed_all_or_some_or_not_at_all(system, upkeep):
    now = system.clock.now()
    for n in range(3):
        system.store.messages.bury("Events", b"%d" % n, "odd", now + timedelta(seconds=n))
    seqs = sorted(message.seq for message in system.bus.dead())
    with pytest.raises(NotFound):
        upkeep.replay([seqs[0], 9999], OPERATOR, now, dry_run=False)
    assert upkeep.replay([seqs[0]], OPERATOR, now, dry_run=True) == {"Events": 1}
    assert system.bus.depths() == {}
    assert upkeep.replay([seqs[0]], OPERATOR, now, dry_run=False) == {"Events": 1}
    assert upkeep.replay(None, OPERATOR, now, dry_run=False) == {"Events": 2}
    assert (system.bus.depths(), system.bus.dead()) == ({"Events": 3}, [])
    events = [(e.event, e.why, e.who) for e in system.store.journal.find("", 2)]
    assert events[0] == ("queue.replayed", "Events 2; because", "an operator")


def test_purging_drops_what_waits_and_says_how_much(system, upkeep):
    now = system.clock.now()
    with system.store.batch() as batch:
        system.bus.publish("Events", [EventsMessage([]), EventsMessage([])], batch)
    assert upkeep.purge("Events", OPERATOR, now, dry_run=True) == 2
    assert upkeep.purge("Events", OPERATOR, now, dry_run=False) == 2
    assert upkeep.purge("Events", OPERATOR, now, dry_run=False) == 0
    with pytest.raises(NotFound):
        upkeep.purge("Evnets", OPERATOR, now, dry_run=False)
    system.store.messages.bury("Events", b"x", "odd", now)
    assert upkeep.purge_dead(OPERATOR, now, dry_run=False) == 1
    assert system.bus.dead() == []


def test_a_job_that_reads_earlier_periods_is_not_settled_while_those_are_late():
    alert = a_process("Alert", DAILY, source="day", sink="alert", also_reads=(-2,))
    site = a_site()
    trees = {"site": [site.managed()["Day"], site.managed()["Hour"]], "alert": [alert]}
    system = SchedulerHarness(a_deployment(trees, {"alert": ("site",)}))
    system.settle()
    reads = reads_of(system)
    assert reads.standing("Alert", "2015051900").is_settled
    system.write("raw", "2015051705", 5)
    standing = reads.standing("Alert", "2015051900")
    assert (standing.late.process, standing.late.timeperiod) == ("Hour", "2015051705")


# The audit while a scheduler catches up


@pytest.fixture
def catching_up():
    """A scheduler that has made one turn over some thousand empty hours, and has more to do."""
    hour = a_process("Hour", HOURLY, source="raw", sink="hour")
    system = SchedulerHarness(a_deployment({"site": [hour]}), start="2014010100")
    system.scheduler.run_once()
    assert system.timetable().place("Hour").level.counts[JobState.NOOP] > 100
    assert system.timetable().place("Hour").level.counts[JobState.EMBRYO] > 1000
    return system


def test_periods_that_a_scheduler_at_work_has_not_come_to_are_explained(catching_up):
    result = catching_up.audit()
    assert result.unexplained == ()
    assert result.accounted == result.expected
    assert result.unfinished > 1000


def test_they_are_not_once_it_has_ceased_to_work(catching_up):
    catching_up.clock.advance(11)
    result = catching_up.audit()
    assert len(result.unexplained) == min(result.unfinished, 1000)


def test_a_period_that_it_has_passed_by_is_not_explained(catching_up):
    place = catching_up.timetable().place("Hour")
    forgotten = move_job(place, place.level.start + 3, Move.START_OVER, OPERATOR.why, OPERATOR.who)
    assert catching_up.store.jobs.move([forgotten], catching_up.clock.now()) == []
    (found,) = catching_up.audit().unexplained
    assert found.timeperiod == "2014010103"


def test_a_period_that_is_moved_while_the_audit_looks_is_explained(catching_up):
    now = catching_up.clock.now()
    before = catching_up.timetable()
    catching_up.schedule()
    assert audit(catching_up.store, before, now).unexplained == ()
