"""Queries of processes, units, queues, the collector and boxes."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from synergy.errors import NotFound
from synergy.messaging.message import EventsMessage
from synergy.model.box import SILENT_AFTER, ObservedProcess
from synergy.model.unit_of_work import UnitState, unit_id
from synergy.names import POOL
from synergy.storage.protocol import LogLine
from tests.factories import a_hint, a_unit
from tests.service.pools import a_pooled_system, pooled
from tests.service.query_kit import a_watched_site, reads_of
from tests.service.scheduler_harness import OPERATOR


@pytest.fixture
def system():
    return a_watched_site()


@pytest.fixture
def reads(system):
    return reads_of(system)


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


def test_unknown_names_are_refused_with_the_known_ones(reads, system):
    with pytest.raises(NotFound, match="Day, Hour, Events"):
        reads.process("Dya")
    system.schedule()
    with pytest.raises(NotFound, match="there are: site"):
        reads.trees("sight")
    with pytest.raises(NotFound):
        reads.unit("no such")


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


def test_queues_of_all_processes_and_unread_queues_are_shown(system, reads):
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


def test_a_dry_run_of_the_collector_equals_the_run(system, reads):
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
    assert reads.process("Hour").boxes[0].running == 0  # as far as reports show


def test_a_pooled_process_is_shown_with_the_members_of_each_box():
    system = a_pooled_system(pooled("A"), size=2)
    reads, now = reads_of(system), system.clock.now()
    states = {"box": ("running", "running"), "large": ("running", "backoff", "running")}
    for box, seen in states.items():
        members = [ObservedProcess(box, POOL, n, state) for n, state in enumerate(seen, 1)]
        system.store.boxes.assign(box, ["A", POOL])
        system.store.boxes.report(box, members, now)
    shown = reads.process("A")
    assert (shown.is_pooled, shown.instances) == (True, 0)
    assert [(p.box, p.running, p.wanted) for p in shown.boxes] == [("box", 2, 2), ("large", 2, 3)]
    pool = reads.process(POOL)
    assert (pool.is_pooled, pool.instances) == (False, 2)
    assert [(p.box, p.running, p.wanted) for p in pool.boxes] == [("box", 2, 2), ("large", 2, 3)]
    [a, _] = reads.boxes()[0].processes
    assert (a.process, a.is_pooled, a.observed) == ("A", True, ())
