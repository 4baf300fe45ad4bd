"""Odd moments, each of which once broke a rule."""

from __future__ import annotations

import threading
from collections.abc import Callable
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
from tests.service.scheduler_harness import OPERATOR, SchedulerHarness, copy_rows


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


def a_managed(system: SchedulerHarness, who: str) -> TimetableLoop:
    """Another scheduler's half, that believes to hold every tree."""
    place = system.workplace("", who)
    managed = TimetableLoop(
        place.store, place.bus, place.clock, place.deployment, system.start, who,
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


def claimed(system: SchedulerHarness, process: str) -> UnitOfWork:
    """A unit of the process, in the hands of somebody who never concludes it."""
    consumer = system.bus.consumer(process)
    with system.store.batch() as batch:
        hints = [Hint(d.message.unit, d.message.attempt) for d in consumer.take(9, batch)]
        (unit,) = system.store.units.claim(hints, "somebody", system.clock.now())
    consumer.close()
    return unit


# Answers are lost


def test_a_worker_carries_out_what_it_claimed_although_the_answer_was_lost():
    store = PiecemealStore(lambda _is_write: None)
    system, hour = SchedulerHarness(hour_and_day(), store=store), "2015052010"
    system.write("raw", hour, 1)
    system.schedule()
    real = store.units.claim

    def claim(*arguments: object) -> object:
        real(*arguments)
        raise StorageUnavailable("nobody knows")

    store.units.claim = claim
    with pytest.raises(StorageUnavailable):
        system.round("Hour")
    del store.units.claim
    assert system.round("Hour")
    (unit,) = system.units("Hour", hour)
    assert (unit.state, unit.attempt, unit.failures) == (UnitState.PROCESSED, 1, 0)


def test_a_conclusion_that_was_written_although_the_answer_was_lost_is_not_told_as_refused(caplog):
    store = PiecemealStore(lambda _is_write: None)
    system, hour = SchedulerHarness(hour_and_day(), store=store), "2015052010"
    system.write("raw", hour, 1)
    system.schedule()
    real = store.units.conclude

    def conclude(*arguments: object) -> object:
        real(*arguments)
        raise StorageUnavailable("nobody knows")

    store.units.conclude = conclude
    with pytest.raises(StorageUnavailable):
        system.round("Hour")
    del store.units.conclude
    system.round("Hour")
    assert system.unit_states("Hour", hour) == [UnitState.PROCESSED]
    assert "refused" not in caplog.text


# Others act between the look and the write


@pytest.mark.parametrize("action", ["skip", "reprocess"])
def test_a_further_unit_of_a_job_that_was_just_given_up_or_started_over_is_void(action):
    system, hour = SchedulerHarness(hour_and_day(StateMachine.CONTINUOUS)), "2015052011"
    system.write("raw", hour, 1)
    system.settle()
    system.clock.advance(11)
    system.write("raw", hour, 2, key="e")
    act = getattr(system, action)
    before_the_first(
        system.store.units,
        "create",
        lambda: act("Hour", (hour, hour), OPERATOR, system.clock.now()),
    )
    system.scheduler.run_once()
    open_units = [u for u in system.units("Hour", hour) if not u.state.is_finished]
    is_skipped = system.state("Hour", hour) is JobState.SKIPPED
    assert is_skipped == (action == "skip")
    assert all(u.generation == 2 and not is_skipped for u in open_units)


def test_a_scheduler_that_lost_the_lease_in_mid_turn_leaves_its_successors_unit_alone():
    system, hour = SchedulerHarness(hour_and_day()), "2015052011"
    system.schedule()
    successor = a_managed(system, "scheduler-2")
    system.write("raw", hour, 1)
    system.clock.advance(301)
    before_the_first(system.store.units, "create", successor.turn)
    system.scheduler.run_once()
    assert system.unit_states("Hour", hour) == [UnitState.REQUESTED]
    system.settle()
    assert system.state("Hour", hour) is JobState.PROCESSED


def test_one_changed_job_in_a_range_does_not_keep_the_others_waiting():
    system, hour = SchedulerHarness(hour_and_day(trigger_frequency="every 3600")), "2015051704"
    before_the_first(
        system.store.jobs,
        "move",
        lambda: system.skip("Hour", (hour, hour), OPERATOR, system.clock.now()),
    )
    system.schedule()
    counts = system.timetable().place("Hour").level.counts
    assert (counts[JobState.SKIPPED], counts[JobState.NOOP]) == (1, 3 * 24 + 10)


def test_what_an_operator_does_to_a_period_that_has_just_begun_is_not_missed():
    system, hour = SchedulerHarness(hour_and_day()), "2015052013"
    system.schedule()
    system.clock.advance(3600)
    system.skip("Hour", (hour, hour), OPERATOR, system.clock.now())
    system.schedule()
    lane = system.scheduler._managed.known_state.processes["Hour"]
    assert lane.level.state(lane.level.ordinal(hour)) is JobState.SKIPPED


def test_a_parent_finished_just_when_a_child_is_started_over_is_started_over_too():
    system, hour = (
        SchedulerHarness(hour_and_day(), now=datetime(2015, 5, 18, 0, 4, tzinfo=UTC)),
        "2015051703",
    )
    system.schedule()
    real, todo = system.store.jobs.move, [1]

    def move(moves, now):
        if todo and any((m.process, m.before) == ("Day", JobState.EMBRYO) for m in moves):
            todo.pop()
            system.reprocess("Hour", (hour, hour), OPERATOR, system.clock.now())
        return real(moves, now)

    system.store.jobs.move = move
    system.advance(120)
    assert not todo
    assert system.generation("Hour", hour) == system.generation("Day", "2015051700") == 2
    assert system.state("Day", "2015051700") is JobState.NOOP


# What is in the store, and is not expected there


def test_units_of_a_time_when_the_process_had_another_qualifier_harm_nobody():
    system = SchedulerHarness(hour_and_day())
    system.write("raw", "2015051703", 1)
    system.schedule()
    system.scheduler._leadership.resign()
    changed = SchedulerHarness(
        a_deployment({"site": [a_process("Hour", DAILY, source="raw", sink="hour")]}),
        store=system.store,
    )
    changed.settle()
    assert changed.state("Hour", "2015051700") is JobState.PROCESSED
    assert not changed.audit().unexplained


def test_documents_that_are_filed_under_no_timeperiod_harm_nobody():
    system = SchedulerHarness(hour_and_day())
    system.settle()
    system.write("raw", "20150517xx", 1)
    system.write("raw", "2015051704", 2)
    system.advance(30)
    system.settle()
    assert system.rows("hour") == {"2015051704": 2}
    assert not system.audit().unexplained


def test_more_changes_than_fit_into_a_turn_are_read_without_a_pause(monkeypatch):
    system = SchedulerHarness(hour_and_day())
    system.settle()
    monkeypatch.setattr(feed, "PAGE", 5)
    monkeypatch.setattr(late_data, "PAGE", 5)
    for hour in range(24):
        system.write("raw", f"20150517{hour:02}", 1)
    assert system.scheduler.run_once() == 0


# Clocks


def test_periods_that_a_clock_ahead_of_time_closed_get_their_data_after_all():
    system = SchedulerHarness(hour_and_day())
    system.settle()
    right = system.clock.now()
    system.clock.set_wall(right + timedelta(days=1))
    system.schedule()
    system.clock.set_wall(right)
    system.schedule()
    system.scheduler._forget()  # it comes to lead anew, with the right time
    system.schedule()
    system.write("raw", "2015052014", 7)
    system.advance(4 * 3600)
    for _ in range(3):
        system.settle()
        system.advance(60)
    assert system.rows("hour") == {"2015052014": 7}
    assert not system.audit().unexplained


def test_a_back_off_does_not_grow_when_the_clock_is_set_back():
    system, hour = SchedulerHarness(hour_and_day()), "2015051704"
    system.write("raw", hour, 1)
    system.schedule()
    system.work("Hour", work=fail)
    system.clock.set_wall(system.clock.now() - timedelta(days=1))
    system.advance(120)
    assert system.unit_states("Hour", hour) == [UnitState.REQUESTED]


def test_a_store_that_is_away_for_hours_does_not_end_the_scheduler(monkeypatch):
    system = SchedulerHarness(hour_and_day())
    waits: list[float] = []

    def wait(seconds: float) -> bool:
        waits.append(seconds)
        if len(waits) == 2000:
            system.stop.set()
        return system.stop.is_set

    def unavailable() -> float:
        raise StorageUnavailable("it is away")

    monkeypatch.setattr(system.stop, "wait", wait)
    monkeypatch.setattr(system.scheduler, "run_once", unavailable)
    system.scheduler.start()
    assert max(waits) == waits[-1] == 2.0


# The collector


def test_a_unit_behind_one_that_runs_for_days_is_left_alone_too():
    system, hour = SchedulerHarness(hour_and_day(StateMachine.CONTINUOUS)), "2015052011"
    system.write("raw", hour, 1)
    system.schedule()
    running = claimed(system, "Hour")
    system.advance(12)
    system.write("raw", hour, 1, key="e")
    system.advance(12)
    for _ in range(50 * 6):
        system.clock.advance(600)
        system.store.units.heartbeat([Hint(running.id, running.attempt)], "somebody")
        system.scheduler.run_once()
    assert system.unit_states("Hour", hour) == [UnitState.IN_PROGRESS, UnitState.REQUESTED]


def test_rows_that_no_store_can_keep_are_tried_again_after_the_back_off():
    system, hour = SchedulerHarness(hour_and_day()), "2015051704"
    system.write("raw", hour, 1)
    system.schedule()

    def twice(task: Task) -> Outcome:
        task.sink.replace(task.timeperiod, [{"domain": "d"}, {"domain": "d"}])
        return Processed()

    system.work("Hour", work=twice)
    system.schedule()
    assert system.unit_states("Hour", hour) == [UnitState.INVALID]
    system.advance(61)
    assert system.unit_states("Hour", hour) == [UnitState.REQUESTED]


def test_who_asked_for_a_run_of_the_collector_gets_it_whoever_else_asked():
    system = SchedulerHarness(hour_and_day())
    system.schedule()
    for process in ("Hour", ""):
        system.maintenance.request_collection(process, False, OPERATOR, system.clock.now())
    system.schedule()
    runs = [entry.process for entry in system.store.journal.find() if entry.event == "gc.run"]
    assert sorted(runs) == ["", "Hour"]


# Workers


def test_a_worker_that_lost_a_unit_before_still_gives_one_back_when_it_shall_stop():
    system = SchedulerHarness(hour_and_day())
    for hour in ("2015051704", "2015051705"):
        system.write("raw", hour, 1)
    system.schedule()

    def work(task: Task) -> Outcome:
        if task.timeperiod == "2015051704":
            unit = system.units("Hour", task.timeperiod)[0]
            system.unit_commands.cancel(unit, OPERATOR, system.clock.now())
            system.runner("Hour")._claims.check_current()
        else:
            system.stop.set()
        task.checkpoint()
        raise AssertionError("it goes on")

    system.round("Hour", work)
    system.round("Hour", work)
    (unit,) = system.units("Hour", "2015051705")
    assert (unit.state, unit.attempt, unit.failures) == (UnitState.REQUESTED, 2, 0)


def test_units_that_are_given_back_wait_for_no_collector():
    system = SchedulerHarness(hour_and_day())
    system.write("raw", "2015051704", 1)
    system.schedule()

    def work(task: Task) -> Outcome:
        system.stop.set()
        task.checkpoint()
        raise AssertionError("it goes on")

    system.round("Hour", work)
    assert system.store.messages.depths() == {"Hour": 1}


def test_many_units_that_are_not_long_keep_the_heart_beating_together():
    system = SchedulerHarness(hour_and_day(heartbeat_timeout=6.0, max_active=30))
    for hour in range(24):
        system.write("raw", f"20150517{hour:02}", 1)
    system.schedule()
    beaten = threading.Event()

    def work(task: Task) -> Outcome:
        waiting = [u for u in system.store.units.unfinished() if u.state is UnitState.IN_PROGRESS]
        if len(waiting) > 1 and all(unit.heartbeat for unit in waiting):
            beaten.set()
        beaten.wait(0.2)  # shorter than what counts as long; no wait at all once it has beaten
        return copy_rows(task)

    runner = UnitRunner(
        replace(system.workplace("Hour", "w"), clock=SystemClock()), work, ("domain",)
    )
    runner._group = 64
    consumer = system.bus.consumer("Hour")
    runner.round(consumer)
    runner.close()
    consumer.close()
    assert beaten.is_set()


# What is said about a period


def strictly_in_order_behind_a_failure() -> SchedulerHarness:
    """17 May waits for an hour that fails, 18 May for 17 May."""
    day = a_process("Day", DAILY, source="hour", sink="day", max_active=1)
    hour = a_process("Hour", HOURLY, source="raw", sink="hour", retry_backoff=3600.0)
    system = SchedulerHarness(a_deployment({"site": [day, hour]}))
    system.write("raw", "2015051704", 1)
    system.write("raw", "2015051805", 1)
    system.schedule()
    system.work("Hour", work=lambda t: fail(t) if t.timeperiod == "2015051704" else copy_rows(t))
    system.advance(120)
    return system


def test_why_follows_the_order_of_a_process_that_does_one_period_at_a_time():
    system = strictly_in_order_behind_a_failure()
    (leaf,) = system.why("Day", "2015051800").leaves()
    assert (leaf.kind, leaf.timeperiod) == (Kind.RETRYING, "2015051704")
    assert not system.audit().unexplained


def test_why_a_failed_unit_is_not_tried_again_while_nobody_tries():
    system, hour = SchedulerHarness(hour_and_day()), "2015051704"
    system.write("raw", hour, 1)
    system.schedule()
    system.work("Hour", work=fail)
    system.schedule()
    assert system.why("Hour", hour).kind is Kind.RETRYING
    system.process_commands.switch("Hour", False, OPERATOR, system.clock.now())
    assert system.why("Hour", hour).kind is Kind.SWITCHED_OFF
    system.process_commands.switch("Hour", True, OPERATOR, system.clock.now())
    system.scheduler._leadership.resign()
    assert system.why("Hour", hour).kind is Kind.NO_SCHEDULER


def test_why_names_the_unit_that_runs_before_the_one_behind_it():
    system, hour = SchedulerHarness(hour_and_day(StateMachine.CONTINUOUS)), "2015052011"
    system.write("raw", hour, 1)
    system.schedule()
    claimed(system, "Hour")
    system.advance(12)
    system.write("raw", hour, 1, key="e")
    system.advance(12)
    assert len(system.units("Hour", hour)) == 2
    assert system.why("Hour", hour).kind is Kind.RUNNING


def test_the_audit_asks_the_checkpoint_of_a_grouped_process_for_the_children_it_covers():
    day = a_process("Day", DAILY, source="hour", sink="day", time_grouping=7)
    hour = a_process("Hour", HOURLY, source="raw", sink="hour")
    system = SchedulerHarness(a_deployment({"site": [day, hour]}))
    system.write("raw", "2015051704", 1)
    system.schedule()
    system.work("Hour", work=fail)
    system.schedule()
    assert system.state("Day", "2015051700") is JobState.NOOP
    assert not system.audit().unexplained


def test_a_parent_that_failed_is_tried_again_when_its_children_bring_more():
    day = a_process("Day", DAILY, source="hour", sink="day", max_attempts=1)
    hour = a_process("Hour", HOURLY, source="raw", sink="hour", retry_backoff=3600.0)
    system = SchedulerHarness(a_deployment({"site": [day, hour]}))
    system.write("raw", "2015051704", 1)
    system.write("raw", "2015051705", 1)
    system.schedule()
    system.work("Hour", work=lambda t: fail(t) if t.timeperiod == "2015051704" else copy_rows(t))
    system.schedule()
    system.work("Day", work=fail)
    system.schedule()
    assert system.unit_states("Day", "2015051700") == [UnitState.CANCELED]
    assert system.state("Day", "2015051700") is JobState.FAILED
    assert system.state("Hour", "2015051704").is_active
    assert not system.audit().unexplained
    system.advance(3601)
    system.new_workers()
    system.settle()
    assert system.state("Hour", "2015051704") is JobState.PROCESSED
    assert system.state("Day", "2015051700") is JobState.PROCESSED
    assert system.rows("day")["2015051700"] == 2
    assert not system.audit().unexplained


# Asking


def test_a_process_with_a_time_of_day_looks_when_it_is_triggered():
    system, hour = SchedulerHarness(hour_and_day(trigger_frequency="at 02:00")), "2015052011"
    system.schedule()
    system.advance(3600)
    assert system.state("Hour", hour) is JobState.EMBRYO
    system.process_commands.trigger("Hour", OPERATOR, system.clock.now())
    system.schedule()
    assert system.state("Hour", hour) is JobState.NOOP


def test_extending_into_a_finished_day_starts_the_day_over():
    system = SchedulerHarness(hour_and_day(), start="2015051712")
    system.write("raw", "2015051704", 4)
    system.write("raw", "2015051713", 1)
    system.settle()
    assert system.state("Day", "2015051700") is JobState.PROCESSED
    system.timetable_commands.extend("2015051700", OPERATOR, system.clock.now())
    assert system.state("Day", "2015051700") is JobState.EMBRYO
    system.advance(1)
    system.settle()
    assert system.rows("day")["2015051700"] == 5
    assert system.generation("Day", "2015051800") == 1
