"""The collector: units without a message, a heartbeat or an end."""

from __future__ import annotations

from synergy.model.job import JobState
from synergy.model.process import StateMachine
from synergy.model.unit_of_work import Hint, UnitState
from synergy.worker.outcome import Outcome, Processed
from synergy.worker.task import Task
from tests.service.hour_and_day import claimed, hour_and_day
from tests.service.scheduler_harness import OPERATOR, SchedulerHarness


def test_the_collector_leaves_a_unit_behind_one_that_runs_for_days():
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


def test_each_request_for_a_run_of_the_collector_is_served():
    system = SchedulerHarness(hour_and_day())
    system.schedule()
    for process in ("Hour", ""):
        system.maintenance.request_collection(process, False, OPERATOR, system.clock.now())
    system.schedule()
    runs = [entry.process for entry in system.store.journal.find() if entry.event == "gc.run"]
    assert sorted(runs) == ["", "Hour"]


def test_units_whose_message_was_lost_are_published_by_the_collector(system):
    system.write("raw", "2015051701", 5)
    system.schedule()
    assert system.bus.purge("Hour") == 1
    assert system.work("Hour") == 0
    system.advance(61)
    system.settle()
    assert system.state("Hour", "2015051701") is JobState.PROCESSED
    assert system.units("Hour", "2015051701")[0].attempt == 1


def test_a_message_twice_or_of_an_old_attempt_changes_nothing(system):
    from synergy.messaging.message import UnitMessage

    system.write("raw", "2015051701", 5)
    system.schedule()
    unit = system.units("Hour", "2015051701")[0]
    with system.store.batch() as batch:
        system.bus.publish("Hour", [UnitMessage(unit.id, 1)] * 3, batch)
        system.bus.publish("Hour", [UnitMessage("unknown", 1)], batch)
    system.settle()
    done = system.units("Hour", "2015051701")
    assert [(u.state, u.attempt) for u in done] == [(UnitState.PROCESSED, 1)]
