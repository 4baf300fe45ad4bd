"""Late data reprocesses exactly the periods that depend on it."""

from __future__ import annotations

import pytest

from synergy.model.job import JobState
from synergy.model.process import Blocking, LateData
from synergy.queries.timetable.causes import Kind
from synergy.worker.outcome import Nothing, Processed
from tests.deployments import DAILY, HOURLY, a_deployment, a_process
from tests.service.scheduler_harness import OPERATOR, SchedulerHarness


def test_late_data_reprocesses_exactly_the_periods_that_it_changes(system):
    system.write("raw", "2015051701", 5)
    system.write("raw", "2015051801", 6)
    system.settle()
    system.write("raw", "2015051701", 9, key="late")
    system.schedule()
    assert system.state("Hour", "2015051701") is JobState.PROCESSED  # its quiet time runs
    assert [u.timeperiod for u in system.audit().unexplained] == ["2015051701"]
    assert system.why("Hour", "2015051701").kind is Kind.LATE_DATA
    system.advance(9)
    assert system.generation("Hour", "2015051701") == 1
    system.advance(2)
    system.settle()
    assert system.rows("hour") == {"2015051701": 14, "2015051801": 6}
    assert system.rows("day") == {"2015051700": 14, "2015051800": 6}
    assert system.rows("client") == {"2015051700": 14, "2015051800": 6}
    assert system.generation("Hour", "2015051701") == 2
    assert system.generation("Hour", "2015051801") == 1
    assert system.generation("Day", "2015051800") == 1
    assert system.audit().unexplained == ()


def test_late_data_reprocesses_a_noop_period(system):
    system.settle()
    assert system.state("Hour", "2015051701") is JobState.NOOP
    system.write("raw", "2015051701", 4)
    system.advance(16)
    system.settle()
    assert system.rows("day") == {"2015051700": 4}


def test_late_data_is_found_even_if_it_came_while_no_scheduler_ran(system):
    system.write("raw", "2015051701", 5)
    system.settle()
    system.advance(10)
    system.scheduler._forget()
    system.write("raw", "2015051701", 9, key="late")
    system.advance(16)
    system.settle()
    assert system.rows("day") == {"2015051700": 14}


def test_rows_written_before_a_skip_never_undo_it(system):
    system.settle()
    system.advance(20)
    system.write("raw", "2015052003", 5)
    system.scheduler._forget()
    system.reprocess("Hour", ("2015052003", "2015052003"), OPERATOR, system.clock.now())
    system.skip("Hour", ("2015052003", "2015052003"), OPERATOR, system.clock.now())
    system.advance(30)
    system.settle()
    assert system.state("Hour", "2015052003") is JobState.SKIPPED
    system.write("raw", "2015052003", 6, key="later")
    system.advance(16)
    system.settle()
    assert system.state("Hour", "2015052003") is JobState.SKIPPED
    system.reprocess("Hour", ("2015052003", "2015052003"), OPERATOR, system.clock.now())
    system.settle()
    assert system.state("Hour", "2015052003") is JobState.PROCESSED


def test_writing_unchanged_rows_reprocesses_nothing(system):
    system.write("raw", "2015051701", 5)
    system.settle()
    system.write("raw", "2015051701", 5)
    system.advance(30)
    system.settle()
    assert system.generation("Hour", "2015051701") == 1


@pytest.mark.parametrize("policy", [LateData.MARK, LateData.IGNORE])
def test_late_data_is_only_marked_or_ignored_if_its_process_says_so(policy):
    hour = a_process("Hour", HOURLY, source="raw", sink="hour", late_data=policy)
    system = SchedulerHarness(a_deployment({"t": [hour]}))
    system.write("raw", "2015051701", 5)
    system.settle()
    system.write("raw", "2015051701", 6, key="late")
    system.advance(30)
    system.settle()
    place = system.timetable().place("Hour")
    ordinal = place.level.ordinal("2015051701")
    assert place.level.is_stale(ordinal) == (policy is LateData.MARK)
    assert system.rows("hour") == {"2015051701": 5}


def test_a_reprocess_without_results_removes_the_rows(system):
    system.write("raw", "2015051701", 5)
    system.settle()

    def nothing(_task):
        return Nothing()

    system.reprocess("Hour", ("2015051701", "2015051701"), OPERATOR, system.clock.now())
    system.schedule()
    system.new_workers()
    system.work("Hour", work=nothing)
    system.new_workers()
    system.settle()
    assert system.rows("hour") == {}
    assert system.rows("day") == {"2015051700": 0}
    assert system.state("Hour", "2015051701") is JobState.NOOP


def test_a_job_that_also_reads_an_earlier_period_waits_for_it_and_follows_its_changes():
    deployment = a_deployment(
        {
            "site": [a_process("Day", DAILY, source="raw", sink="day")],
            "alert": [
                a_process(
                    "Alert", DAILY, source="day", sink="alert",
                    blocking=Blocking.DEPENDENCIES, also_reads=(-2,),
                )
            ],
        },
        {"alert": ("site",)},
    )  # fmt: skip
    system = SchedulerHarness(deployment)

    def compare(task):
        before = list(task.source.between("2015051700", "2015051800"))
        row = {"domain": "d", "n": sum(int(str(r["n"])) for r in before)}
        task.sink.replace(task.timeperiod, [row])
        return Processed()

    system.write("raw", "2015051700", 5)
    system.process_commands.switch("Day", False, OPERATOR, system.clock.now())
    system.schedule()
    assert {leaf.timeperiod for leaf in system.why("Alert", "2015051900").leaves()} == {
        "2015051700",
        "2015051900",
    }
    system.process_commands.switch("Day", True, OPERATOR, system.clock.now())
    for _ in range(3):
        system.schedule()
        system.work("Day")
        system.work("Alert", work=compare)
    assert system.rows("alert")["2015051900"] == 5
    assert system.state("Alert", "2015051800") is JobState.NOOP
    system.write("raw", "2015051700", 6, key="late")
    system.advance(16)
    for _ in range(3):
        system.schedule()
        system.work("Day")
        system.work("Alert", work=compare)
    assert system.rows("alert")["2015051900"] == 11
    assert system.generation("Alert", "2015051900") == 2
    assert system.audit().unexplained == ()
