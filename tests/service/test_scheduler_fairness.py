"""Order and fairness: slots, processes with much to do, and strict order."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from synergy.model.job import JobState
from synergy.model.unit_of_work import UnitState
from synergy.queries.timetable.causes import Kind
from synergy.worker.outcome import Nothing, Processed
from tests.deployments import HOURLY, a_deployment, a_process
from tests.service.scheduler_harness import SchedulerHarness
from tests.service.two_trees import CONTINUOUS


@pytest.mark.parametrize("slots", [8, 1])
def test_while_a_unit_runs_at_most_one_waits_behind_it_in_the_same_slot_and_grows(slots):
    fields = {"source": "raw", "sink": "hour", "state_machine": CONTINUOUS, "max_active": slots}
    tree = [a_process("Hour", HOURLY, **fields)]
    system = SchedulerHarness(a_deployment({"t": tree}), start="2015052012")
    system.write("raw", "2015052012", 1)
    system.schedule()
    seen = []

    def slow(task):
        for n in range(3):
            system.write("raw", "2015052012", n, key=f"k{n}")
            system.advance(12)
            seen.append(system.unit_states("Hour", "2015052012"))
        return Processed()

    system.round("Hour", slow)
    waiting = [UnitState.IN_PROGRESS, UnitState.REQUESTED]
    assert seen == [waiting] * 3
    first, second = system.units("Hour", "2015052012")
    bounds = system.store.documents.bounds("raw", "2015052012", "2015052013")
    assert first.end_id < second.end_id == bounds.high
    assert not system.round("Hour")  # not published while the first one runs
    system.schedule()
    assert system.round("Hour")
    assert system.unit_states("Hour", "2015052012") == [UnitState.PROCESSED] * 2


def test_max_active_bounds_the_periods_in_flight_oldest_first():
    system = SchedulerHarness(
        a_deployment({"t": [a_process("Hour", HOURLY, sink="hour", max_active=3)]}),
    )
    system.schedule()
    flying = [unit.timeperiod for unit in system.store.units.unfinished()]
    assert flying == ["2015051700", "2015051701", "2015051702"]
    cause = system.why("Hour", "2015051703")
    assert cause.kind is Kind.NO_SLOT
    assert cause.text == (
        "ready; 3 periods are in flight and max_active is 3; the oldest is 2015051700"
    )
    system.work("Hour", work=lambda _: Nothing())
    system.schedule()
    flying = [unit.timeperiod for unit in system.store.units.unfinished()]
    assert flying == ["2015051703", "2015051704", "2015051705"]


@pytest.mark.parametrize(("slots", "kind"), [(1, Kind.BLOCKED), (2, Kind.NO_SLOT)])
def test_why_says_what_holds_back_a_period_that_has_data(slots, kind):
    process = a_process("Hour", HOURLY, source="raw", sink="hour", max_active=slots)
    system = SchedulerHarness(a_deployment({"t": [process]}))
    for hour in range(4):
        system.write("raw", f"201505170{hour}", 1)
    system.schedule()
    cause = system.why("Hour", "2015051703")
    assert (cause.kind, cause.text.split(";")[0]) == (kind, "ready")
    assert {leaf.timeperiod for leaf in cause.causes} == ({"2015051700"} if slots == 1 else set())


def test_one_slot_means_strictly_in_order_even_when_a_period_fails():
    system = SchedulerHarness(
        a_deployment({"t": [a_process("Hour", HOURLY, max_active=1, retry_backoff=60.0)]}),
    )
    order = []

    def work(task):
        order.append((task.timeperiod, task.unit.attempt))
        if task.timeperiod == "2015051701" and task.unit.attempt == 1:
            raise ValueError("no")
        return Processed()

    for _ in range(5):
        system.schedule()
        system.work("Hour", work=work)
    assert order == [("2015051700", 1), ("2015051701", 1)]
    system.advance(61)
    for _ in range(5):
        system.schedule()
        system.work("Hour", work=work)
    assert order[2:5] == [("2015051701", 2), ("2015051702", 1), ("2015051703", 1)]


def test_one_process_with_much_to_do_does_not_hold_up_another():
    deployment = a_deployment(
        {
            "much": [a_process("Much", HOURLY, source="none", sink="much")],
            "little": [a_process("Little", HOURLY, sink="little", max_active=1)],
        }
    )
    system = SchedulerHarness(deployment, start="2005010100")
    system.scheduler.run_once()
    system.scheduler.run_once()
    assert [unit.process for unit in system.store.units.unfinished()] == ["Little"]
    assert system.timetable().place("Much").level.counts[JobState.EMBRYO] > 50_000


@pytest.mark.parametrize("step", [1, -1])
def test_among_equally_busy_processes_the_first_woken_comes_first(step):
    names = [f"Hour{n}" for n in range(8)]
    hours = [
        [a_process(name, HOURLY, source=name, sink=f"of-{name}", state_machine=CONTINUOUS)]
        for name in names
    ]
    deployment = a_deployment(dict(zip(names, hours, strict=True)))
    w = SchedulerHarness(deployment, now=datetime(2015, 5, 17, 0, 30, tzinfo=UTC))
    w.schedule()
    for name in names[::step]:
        w.write(name, "2015051700", 1)
    w.schedule()
    assert [unit.process for unit in w.store.units.unfinished()] == names[::step]


def test_strict_order_does_not_make_an_empty_past_slow():
    hour = a_process("Hour", HOURLY, source="raw", sink="hour", max_active=1)
    system = SchedulerHarness(a_deployment({"t": [hour]}), start="2014052000")
    system.write("raw", "2015051700", 5)
    system.write("raw", "2015051805", 6)
    turns = 0
    while system.scheduler.run_once() == 0:
        turns += 1
    assert turns < 100  # of some 8,800 periods
    assert [unit.timeperiod for unit in system.store.units.unfinished()] == ["2015051700"]
    assert system.state("Hour", "2015051701") is JobState.EMBRYO
    system.settle()
    assert system.rows("hour") == {"2015051700": 5, "2015051805": 6}
    assert system.audit().unfinished == 0
