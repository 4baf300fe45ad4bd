"""Odd moments, each of which once broke a rule."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from synergy.clock import SystemClock
from synergy.errors import StorageUnavailable
from synergy.model.job import JobState
from synergy.model.process import StateMachine
from synergy.model.unit_of_work import Hint, UnitOfWork, UnitState
from synergy.queries.timetable.causes import Kind
from synergy.scheduler import feed, late_data
from synergy.scheduler.circuit_breaker import CircuitBreaker
from synergy.scheduler.timetable_loop import TimetableLoop
from synergy.worker.outcome import Outcome, Processed
from synergy.worker.task import Task
from synergy.worker.unit_runner import UnitRunner
from tests.deployments import DAILY, HOURLY, a_deployment, a_process
from tests.service.piecemeal import PiecemealStore
from tests.service.scheduler_harness import OPERATOR, SchedulerHarness, close_worlds, copy_rows


@pytest.fixture(autouse=True)
def _closing() -> Iterator[None]:
    yield
    close_worlds()


def hour_and_day(machine: StateMachine = StateMachine.DISCRETE, **fields: Any):
    """An hourly process and the daily one above it."""
    return a_deployment(
        {
            "site": [
                a_process("Day", DAILY, source="hour", sink="day", state_machine=machine, **fields),
                a_process("Hour", HOURLY, source="raw", sink="hour", state_machine=machine,
                          **fields),
            ]
        }
    )  # fmt: skip


def a_managed(world: SchedulerHarness, who: str) -> TimetableLoop:
    """Another scheduler's half, that believes to hold every tree."""
    place = world.workplace("", who)
    managed = TimetableLoop(
        place.store, place.bus, place.clock, place.deployment, world.start, who,
        CircuitBreaker(place.clock), lambda _tree: True,
    )  # fmt: skip
    managed.hold(place.deployment.trees)
    return managed


def before_the_first(thing: object, method: str, act: Callable[[], object]) -> None:
    """Has `act` happen just before `method` is called for the first time."""
    real = getattr(thing, method)
    todo = [act]

    def wrapped(*arguments: object) -> object:
        if todo:
            todo.pop()()
        return real(*arguments)

    setattr(thing, method, wrapped)


def fail(_task: Task) -> Outcome:
    raise ValueError("no")


def claimed(world: SchedulerHarness, process: str) -> UnitOfWork:
    """A unit of the process, in the hands of somebody who never concludes it."""
    consumer = world.bus.consumer(process)
    with world.store.batch() as batch:
        hints = [Hint(d.message.unit, d.message.attempt) for d in consumer.take(9, batch)]
        (unit,) = world.store.units.claim(hints, "somebody", world.clock.now())
    consumer.close()
    return unit


# Answers are lost


def test_a_worker_carries_out_what_it_claimed_although_the_answer_was_lost():
    store = PiecemealStore(lambda _is_write: None)
    world, hour = SchedulerHarness(hour_and_day(), store=store), "2015052010"
    world.write("raw", hour, 1)
    world.schedule()
    real = store.units.claim

    def claim(*arguments: object) -> object:
        real(*arguments)
        raise StorageUnavailable("nobody knows")

    store.units.claim = claim
    with pytest.raises(StorageUnavailable):
        world.round("Hour")
    del store.units.claim
    assert world.round("Hour")
    (unit,) = world.units("Hour", hour)
    assert (unit.state, unit.attempt, unit.failures) == (UnitState.PROCESSED, 1, 0)


def test_a_conclusion_that_was_written_although_the_answer_was_lost_is_not_told_as_refused(caplog):
    store = PiecemealStore(lambda _is_write: None)
    world, hour = SchedulerHarness(hour_and_day(), store=store), "2015052010"
    world.write("raw", hour, 1)
    world.schedule()
    real = store.units.conclude

    def conclude(*arguments: object) -> object:
        real(*arguments)
        raise StorageUnavailable("nobody knows")

    store.units.conclude = conclude
    with pytest.raises(StorageUnavailable):
        world.round("Hour")
    del store.units.conclude
    world.round("Hour")
    assert world.unit_states("Hour", hour) == [UnitState.PROCESSED]
    assert "refused" not in caplog.text


# Others act between the look and the write


@pytest.mark.parametrize("action", ["skip", "reprocess"])
def test_a_further_unit_of_a_job_that_was_just_given_up_or_started_over_is_void(action):
    world, hour = SchedulerHarness(hour_and_day(StateMachine.CONTINUOUS)), "2015052011"
    world.write("raw", hour, 1)
    world.settle()
    world.clock.advance(11)
    world.write("raw", hour, 2, key="e")
    act = getattr(world, action)
    before_the_first(
        world.store.units,
        "create",
        lambda: act("Hour", (hour, hour), OPERATOR, world.clock.now()),
    )
    world.scheduler.run_once()
    open_units = [u for u in world.units("Hour", hour) if not u.state.is_finished]
    is_skipped = world.state("Hour", hour) is JobState.SKIPPED
    assert is_skipped == (action == "skip")
    assert all(u.generation == 2 and not is_skipped for u in open_units)


def test_a_scheduler_that_lost_the_lease_in_mid_turn_leaves_its_successors_unit_alone():
    world, hour = SchedulerHarness(hour_and_day()), "2015052011"
    world.schedule()
    successor = a_managed(world, "scheduler-2")
    world.write("raw", hour, 1)
    world.clock.advance(301)
    before_the_first(world.store.units, "create", successor.turn)
    world.scheduler.run_once()
    assert world.unit_states("Hour", hour) == [UnitState.REQUESTED]
    world.settle()
    assert world.state("Hour", hour) is JobState.PROCESSED


def test_one_changed_job_in_a_range_does_not_keep_the_others_waiting():
    world, hour = SchedulerHarness(hour_and_day(trigger_frequency="every 3600")), "2015051704"
    before_the_first(
        world.store.jobs,
        "move",
        lambda: world.skip("Hour", (hour, hour), OPERATOR, world.clock.now()),
    )
    world.schedule()
    counts = world.timetable().place("Hour").level.counts
    assert (counts[JobState.SKIPPED], counts[JobState.NOOP]) == (1, 3 * 24 + 10)


def test_what_an_operator_does_to_a_period_that_has_just_begun_is_not_missed():
    world, hour = SchedulerHarness(hour_and_day()), "2015052013"
    world.schedule()
    world.clock.advance(3600)
    world.skip("Hour", (hour, hour), OPERATOR, world.clock.now())
    world.schedule()
    lane = world.scheduler._managed.memory.lanes["Hour"]
    assert lane.level.state(lane.level.ordinal(hour)) is JobState.SKIPPED


def test_a_parent_finished_just_when_a_child_is_started_over_is_started_over_too():
    world, hour = (
        SchedulerHarness(hour_and_day(), now=datetime(2015, 5, 18, 0, 4, tzinfo=UTC)),
        "2015051703",
    )
    world.schedule()
    real, todo = world.store.jobs.move, [1]

    def move(moves, now):
        if todo and any((m.process, m.before) == ("Day", JobState.EMBRYO) for m in moves):
            todo.pop()
            world.reprocess("Hour", (hour, hour), OPERATOR, world.clock.now())
        return real(moves, now)

    world.store.jobs.move = move
    world.advance(120)
    assert not todo
    assert world.generation("Hour", hour) == world.generation("Day", "2015051700") == 2
    assert world.state("Day", "2015051700") is JobState.NOOP


# What is in the store, and is not expected there


def test_units_of_a_time_when_the_process_had_another_qualifier_harm_nobody():
    world = SchedulerHarness(hour_and_day())
    world.write("raw", "2015051703", 1)
    world.schedule()
    world.scheduler._leadership.resign()
    changed = SchedulerHarness(
        a_deployment({"site": [a_process("Hour", DAILY, source="raw", sink="hour")]}),
        store=world.store,
    )
    changed.settle()
    assert changed.state("Hour", "2015051700") is JobState.PROCESSED
    assert not changed.audit().unexplained


def test_documents_that_are_filed_under_no_timeperiod_harm_nobody():
    world = SchedulerHarness(hour_and_day())
    world.settle()
    world.write("raw", "20150517xx", 1)
    world.write("raw", "2015051704", 2)
    world.advance(30)
    world.settle()
    assert world.rows("hour") == {"2015051704": 2}
    assert not world.audit().unexplained


def test_more_changes_than_fit_into_a_turn_are_read_without_a_pause(monkeypatch):
    world = SchedulerHarness(hour_and_day())
    world.settle()
    monkeypatch.setattr(feed, "PAGE", 5)
    monkeypatch.setattr(late_data, "PAGE", 5)
    for hour in range(24):
        world.write("raw", f"20150517{hour:02}", 1)
    assert world.scheduler.run_once() == 0


# Clocks


def test_periods_that_a_clock_ahead_of_time_closed_get_their_data_after_all():
    world = SchedulerHarness(hour_and_day())
    world.settle()
    right = world.clock.now()
    world.clock.set_wall(right + timedelta(days=1))
    world.schedule()
    world.clock.set_wall(right)
    world.schedule()
    world.scheduler._forget()  # it comes to lead anew, with the right time
    world.schedule()
    world.write("raw", "2015052014", 7)
    world.advance(4 * 3600)
    for _ in range(3):
        world.settle()
        world.advance(60)
    assert world.rows("hour") == {"2015052014": 7}
    assert not world.audit().unexplained


def test_a_back_off_does_not_grow_when_the_clock_is_set_back():
    world, hour = SchedulerHarness(hour_and_day()), "2015051704"
    world.write("raw", hour, 1)
    world.schedule()
    world.work("Hour", work=fail)
    world.clock.set_wall(world.clock.now() - timedelta(days=1))
    world.advance(120)
    assert world.unit_states("Hour", hour) == [UnitState.REQUESTED]


def test_a_store_that_is_away_for_hours_does_not_end_the_scheduler(monkeypatch):
    world = SchedulerHarness(hour_and_day())
    waits: list[float] = []

    def wait(seconds: float) -> bool:
        waits.append(seconds)
        if len(waits) == 2000:
            world.stop.set()
        return world.stop.is_set

    def unavailable() -> float:
        raise StorageUnavailable("it is away")

    monkeypatch.setattr(world.stop, "wait", wait)
    monkeypatch.setattr(world.scheduler, "run_once", unavailable)
    world.scheduler.start()
    assert max(waits) == waits[-1] == 2.0


# The collector


def test_a_unit_behind_one_that_runs_for_days_is_left_alone_too():
    world, hour = SchedulerHarness(hour_and_day(StateMachine.CONTINUOUS)), "2015052011"
    world.write("raw", hour, 1)
    world.schedule()
    running = claimed(world, "Hour")
    world.advance(12)
    world.write("raw", hour, 1, key="e")
    world.advance(12)
    for _ in range(50 * 6):
        world.clock.advance(600)
        world.store.units.heartbeat([Hint(running.id, running.attempt)], "somebody")
        world.scheduler.run_once()
    assert world.unit_states("Hour", hour) == [UnitState.IN_PROGRESS, UnitState.REQUESTED]


def test_rows_that_no_store_can_keep_are_tried_again_after_the_back_off():
    world, hour = SchedulerHarness(hour_and_day()), "2015051704"
    world.write("raw", hour, 1)
    world.schedule()

    def twice(task: Task) -> Outcome:
        task.sink.replace(task.timeperiod, [{"domain": "d"}, {"domain": "d"}])
        return Processed()

    world.work("Hour", work=twice)
    world.schedule()
    assert world.unit_states("Hour", hour) == [UnitState.INVALID]
    world.advance(61)
    assert world.unit_states("Hour", hour) == [UnitState.REQUESTED]


def test_who_asked_for_a_run_of_the_collector_gets_it_whoever_else_asked():
    world = SchedulerHarness(hour_and_day())
    world.schedule()
    for process in ("Hour", ""):
        world.maintenance.request_collection(process, False, OPERATOR, world.clock.now())
    world.schedule()
    runs = [entry.process for entry in world.store.journal.find() if entry.event == "gc.run"]
    assert sorted(runs) == ["", "Hour"]


# Workers


def test_a_worker_that_lost_a_unit_before_still_gives_one_back_when_it_shall_stop():
    world = SchedulerHarness(hour_and_day())
    for hour in ("2015051704", "2015051705"):
        world.write("raw", hour, 1)
    world.schedule()

    def work(task: Task) -> Outcome:
        if task.timeperiod == "2015051704":
            unit = world.units("Hour", task.timeperiod)[0]
            world.unit_commands.cancel(unit, OPERATOR, world.clock.now())
            world.crew("Hour")._hold.look()
        else:
            world.stop.set()
        task.checkpoint()
        raise AssertionError("it goes on")

    world.round("Hour", work)
    world.round("Hour", work)
    (unit,) = world.units("Hour", "2015051705")
    assert (unit.state, unit.attempt, unit.failures) == (UnitState.REQUESTED, 2, 0)


def test_units_that_are_given_back_wait_for_no_collector():
    world = SchedulerHarness(hour_and_day())
    world.write("raw", "2015051704", 1)
    world.schedule()

    def work(task: Task) -> Outcome:
        world.stop.set()
        task.checkpoint()
        raise AssertionError("it goes on")

    world.round("Hour", work)
    assert world.store.messages.depths() == {"Hour": 1}


def test_many_units_that_are_not_long_keep_the_heart_beating_together():
    world = SchedulerHarness(hour_and_day(heartbeat_timeout=6.0, max_active=30))
    for hour in range(24):
        world.write("raw", f"20150517{hour:02}", 1)
    world.schedule()
    beaten = threading.Event()

    def work(task: Task) -> Outcome:
        waiting = [u for u in world.store.units.unfinished() if u.state is UnitState.IN_PROGRESS]
        if len(waiting) > 1 and all(unit.heartbeat for unit in waiting):
            beaten.set()
        beaten.wait(0.2)  # shorter than what counts as long; no wait at all once it has beaten
        return copy_rows(task)

    crew = UnitRunner(replace(world.workplace("Hour", "w"), clock=SystemClock()), work, ("domain",))
    crew._group = 64
    consumer = world.bus.consumer("Hour")
    crew.round(consumer)
    crew.close()
    consumer.close()
    assert beaten.is_set()


# What is said about a period


def strictly_in_order_behind_a_failure() -> SchedulerHarness:
    """17 May waits for an hour that fails, 18 May for 17 May."""
    day = a_process("Day", DAILY, source="hour", sink="day", max_active=1)
    hour = a_process("Hour", HOURLY, source="raw", sink="hour", retry_backoff=3600.0)
    world = SchedulerHarness(a_deployment({"site": [day, hour]}))
    world.write("raw", "2015051704", 1)
    world.write("raw", "2015051805", 1)
    world.schedule()
    world.work("Hour", work=lambda t: fail(t) if t.timeperiod == "2015051704" else copy_rows(t))
    world.advance(120)
    return world


def test_why_follows_the_order_of_a_process_that_does_one_period_at_a_time():
    world = strictly_in_order_behind_a_failure()
    (leaf,) = world.why("Day", "2015051800").leaves()
    assert (leaf.kind, leaf.timeperiod) == (Kind.RETRYING, "2015051704")
    assert not world.audit().unexplained


def test_why_a_failed_unit_is_not_tried_again_while_nobody_tries():
    world, hour = SchedulerHarness(hour_and_day()), "2015051704"
    world.write("raw", hour, 1)
    world.schedule()
    world.work("Hour", work=fail)
    world.schedule()
    assert world.why("Hour", hour).kind is Kind.RETRYING
    world.process_commands.switch("Hour", False, OPERATOR, world.clock.now())
    assert world.why("Hour", hour).kind is Kind.SWITCHED_OFF
    world.process_commands.switch("Hour", True, OPERATOR, world.clock.now())
    world.scheduler._leadership.resign()
    assert world.why("Hour", hour).kind is Kind.NO_SCHEDULER


def test_why_names_the_unit_that_runs_before_the_one_behind_it():
    world, hour = SchedulerHarness(hour_and_day(StateMachine.CONTINUOUS)), "2015052011"
    world.write("raw", hour, 1)
    world.schedule()
    claimed(world, "Hour")
    world.advance(12)
    world.write("raw", hour, 1, key="e")
    world.advance(12)
    assert len(world.units("Hour", hour)) == 2
    assert world.why("Hour", hour).kind is Kind.RUNNING


def test_the_audit_asks_the_checkpoint_of_a_grouped_process_for_the_children_it_covers():
    day = a_process("Day", DAILY, source="hour", sink="day", time_grouping=7)
    hour = a_process("Hour", HOURLY, source="raw", sink="hour")
    world = SchedulerHarness(a_deployment({"site": [day, hour]}))
    world.write("raw", "2015051704", 1)
    world.schedule()
    world.work("Hour", work=fail)
    world.schedule()
    assert world.state("Day", "2015051700") is JobState.NOOP
    assert not world.audit().unexplained


def test_a_parent_that_failed_is_tried_again_when_its_children_bring_more():
    day = a_process("Day", DAILY, source="hour", sink="day", max_attempts=1)
    hour = a_process("Hour", HOURLY, source="raw", sink="hour", retry_backoff=3600.0)
    world = SchedulerHarness(a_deployment({"site": [day, hour]}))
    world.write("raw", "2015051704", 1)
    world.write("raw", "2015051705", 1)
    world.schedule()
    world.work("Hour", work=lambda t: fail(t) if t.timeperiod == "2015051704" else copy_rows(t))
    world.schedule()
    world.work("Day", work=fail)
    world.schedule()
    assert world.unit_states("Day", "2015051700") == [UnitState.CANCELED]
    assert world.state("Day", "2015051700") is JobState.FAILED
    assert world.state("Hour", "2015051704").is_active
    assert not world.audit().unexplained
    world.advance(3601)
    world.forget_crews()
    world.settle()
    assert world.state("Hour", "2015051704") is JobState.PROCESSED
    assert world.state("Day", "2015051700") is JobState.PROCESSED
    assert world.rows("day")["2015051700"] == 2
    assert not world.audit().unexplained


# Asking


def test_a_process_with_a_time_of_day_looks_when_it_is_triggered():
    world, hour = SchedulerHarness(hour_and_day(trigger_frequency="at 02:00")), "2015052011"
    world.schedule()
    world.advance(3600)
    assert world.state("Hour", hour) is JobState.EMBRYO
    world.process_commands.trigger("Hour", OPERATOR, world.clock.now())
    world.schedule()
    assert world.state("Hour", hour) is JobState.NOOP


def test_extending_into_a_finished_day_starts_the_day_over():
    world = SchedulerHarness(hour_and_day(), start="2015051712")
    world.write("raw", "2015051704", 4)
    world.write("raw", "2015051713", 1)
    world.settle()
    assert world.state("Day", "2015051700") is JobState.PROCESSED
    world.timetable_commands.extend("2015051700", OPERATOR, world.clock.now())
    assert world.state("Day", "2015051700") is JobState.EMBRYO
    world.advance(1)
    world.settle()
    assert world.rows("day")["2015051700"] == 5
    assert world.generation("Day", "2015051800") == 1
