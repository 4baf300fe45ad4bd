"""Concurrent changes between a read of the scheduler and its write."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from synergy.model.job import JobState
from synergy.model.process import StateMachine
from synergy.model.unit_of_work import UnitState
from synergy.scheduler.circuit_breaker import CircuitBreaker
from synergy.scheduler.timetable_loop import TimetableLoop
from tests.service.hour_and_day import hour_and_day
from tests.service.scheduler_harness import OPERATOR, SchedulerHarness


def a_loop(system: SchedulerHarness, name: str) -> TimetableLoop:
    """The timetable loop of another scheduler, which assumes that it leads every tree."""
    place = system.workplace("", name)
    breaker = CircuitBreaker(place.clock)
    loop = TimetableLoop(
        place.store,
        place.bus,
        place.clock,
        place.deployment,
        system.start,
        name,
        breaker,
        lambda _tree: True,
    )
    loop.hold(place.deployment.trees)
    return loop


def before_the_first(thing: object, method: str, act: Callable[[], object]) -> None:
    """Has `act` happen just before `method` is called for the first time."""
    real = getattr(thing, method)
    todo = [act]

    def wrapped(*arguments: object) -> object:
        if todo:
            todo.pop()()
        return real(*arguments)

    setattr(thing, method, wrapped)


@pytest.mark.parametrize("action", ["skip", "reprocess"])
def test_a_unit_requested_for_a_job_that_was_just_skipped_or_reprocessed_is_void(action):
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
    successor = a_loop(system, "scheduler-2")
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


def test_a_skip_of_a_period_that_has_just_begun_is_noticed():
    system, hour = SchedulerHarness(hour_and_day()), "2015052013"
    system.schedule()
    system.clock.advance(3600)
    system.skip("Hour", (hour, hour), OPERATOR, system.clock.now())
    system.schedule()
    lane = system.scheduler._loop.known_state.processes["Hour"]
    assert lane.level.state(lane.level.ordinal(hour)) is JobState.SKIPPED


def test_a_parent_that_finishes_while_its_child_is_reprocessed_is_reprocessed_too():
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
