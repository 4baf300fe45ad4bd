"""What operators do to jobs and processes: reprocess, skip, switch, trigger, extend."""

from __future__ import annotations

from datetime import UTC, datetime

from synergy.model.job import JobState
from synergy.model.unit_of_work import UnitState
from synergy.queries.timetable.causes import Kind
from synergy.worker.outcome import Processed
from tests.service.hour_and_day import hour_and_day
from tests.service.scheduler_harness import OPERATOR, SchedulerHarness


def test_a_trigger_by_hand_schedules_a_process_before_its_time_of_day():
    system, hour = SchedulerHarness(hour_and_day(trigger_frequency="at 02:00")), "2015052011"
    system.schedule()
    system.advance(3600)
    assert system.state("Hour", hour) is JobState.EMBRYO
    system.process_commands.trigger("Hour", OPERATOR, system.clock.now())
    system.schedule()
    assert system.state("Hour", hour) is JobState.NOOP


def test_extending_by_hours_of_a_finished_day_reprocesses_the_day():
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


def test_reprocess_starts_over_exactly_what_the_dry_run_lists(system):
    system.write("raw", "2015051701", 5)
    system.settle()
    periods = ("2015051701", "2015051701")
    now = system.clock.now()
    planned = system.reprocess("Hour", periods, OPERATOR, now, dry_run=True)
    assert system.generation("Hour", "2015051701") == 1
    touched = system.reprocess("Hour", periods, OPERATOR, now)
    assert touched == planned
    names = {(t.process, t.timeperiod) for t in touched}
    assert {("Hour", "2015051701"), ("Day", "2015051700"), ("ClientDay", "2015051700")} <= names
    system.settle()
    assert system.generation("Hour", "2015051701") == 2
    assert system.unit_states("Hour", "2015051701") == [UnitState.PROCESSED] * 2
    assert system.unit_states("Day", "2015051700") == [UnitState.PROCESSED] * 2
    assert system.state("Day", "2015051700") is JobState.PROCESSED
    assert system.rows("day") == {"2015051700": 5}


def test_a_reprocess_of_a_running_job_restarts_it_and_the_old_result_is_refused(system):
    system.write("raw", "2015051701", 5)
    system.schedule()

    def overtaken(task):
        periods = ("2015051701", "2015051701")
        system.reprocess("Hour", periods, OPERATOR, system.clock.now())
        system.schedule()
        task.sink.replace(task.timeperiod, [{"domain": "d", "n": 999}])
        return Processed()

    system.round("Hour", overtaken)
    assert system.rows("hour") == {}
    system.new_workers()
    system.settle()
    assert system.rows("hour") == {"2015051701": 5}
    assert system.unit_states("Hour", "2015051701") == [UnitState.CANCELED, UnitState.PROCESSED]
    assert system.state("Hour", "2015051701") is JobState.PROCESSED


def test_a_skip_wins_over_the_result_of_earlier_work(system):
    system.write("raw", "2015051701", 5)
    system.schedule()

    def overtaken(task):
        system.skip("Hour", ("2015051701", "2015051701"), OPERATOR, system.clock.now())
        task.sink.replace(task.timeperiod, [{"domain": "d", "n": 999}])
        return Processed()

    system.round("Hour", overtaken)
    system.settle()
    assert system.state("Hour", "2015051701") is JobState.SKIPPED
    assert system.rows("hour") == {}


def test_a_parent_whose_children_are_all_skipped_is_skipped(system):
    system.write("raw", "2015051705", 1)
    system.clock.set_wall(datetime(2015, 5, 18, 12, tzinfo=UTC))
    system.store.facts.set_default("timetable.start", "2015051700")
    system.skip("Hour", ("2015051700", "2015051723"), OPERATOR, system.clock.now())
    system.settle()
    assert system.state("Day", "2015051700") is JobState.SKIPPED


def test_switching_off_stops_new_units_and_switching_on_resumes_them(system):
    now = system.clock.now()
    system.process_commands.switch("Hour", False, OPERATOR, now)
    system.write("raw", "2015051701", 5)
    system.settle()
    assert system.units("Hour", "2015051701") == []
    assert system.why("Hour", "2015051701").kind is Kind.SWITCHED_OFF
    system.process_commands.switch("Hour", True, OPERATOR, now)
    system.settle()
    assert system.state("Hour", "2015051701") is JobState.PROCESSED


def test_a_changed_trigger_takes_effect_at_once_and_is_read_again_from_the_store(system):
    system.schedule()
    change = system.process_commands.set_trigger("Hour", "at 23:00", OPERATOR, system.clock.now())
    assert change.after == "at 23:00"
    system.advance(3600 + 301)
    assert system.state("Hour", "2015052012") is JobState.EMBRYO  # closed, but not scheduled yet
    system.scheduler._forget()
    system.schedule()
    system.process_commands.set_trigger("Hour", "every 60", OPERATOR, system.clock.now())
    system.advance(61)
    assert system.state("Hour", "2015052012") is JobState.NOOP


def test_extending_the_timetable_adds_and_processes_earlier_periods(system):
    system.settle()
    system.write("raw", "2015051603", 8)
    system.timetable_commands.extend("2015051600", OPERATOR, system.clock.now())
    system.settle()
    assert system.rows("day") == {"2015051600": 8}
    assert system.audit().unfinished == 0


def test_canceling_a_unit_fails_its_job_and_no_other(system):
    system.write("raw", "2015051701", 5)
    system.write("raw", "2015051702", 5)
    system.schedule()
    unit = system.units("Hour", "2015051701")[0]
    system.unit_commands.cancel(unit, OPERATOR, system.clock.now())
    system.settle()
    assert system.state("Hour", "2015051701") is JobState.FAILED
    assert system.state("Hour", "2015051702") is JobState.PROCESSED
