"""A whole deployment in one thread: jobs, units, dependencies and order."""

from __future__ import annotations

from datetime import UTC, datetime

from synergy.commands.bulk import BulkVerb
from synergy.model.job import JobState
from synergy.model.unit_of_work import UnitState
from synergy.queries.timetable.causes import Kind
from synergy.worker.outcome import Processed
from tests.deployments import HOURLY, a_deployment, a_process
from tests.service.scheduler_harness import OPERATOR, SchedulerHarness
from tests.service.two_trees import CONTINUOUS


def test_an_empty_closed_range_is_finished_without_a_worker(system):
    system.schedule()
    counts = {name: p.level.counts for name, p in system.timetable().places.items()}
    assert counts["Hour"][JobState.NOOP] == 3 * 24 + 11  # 11:00 to 12:00 still settles
    assert counts["Day"][JobState.NOOP] == 3
    assert counts["ClientDay"][JobState.NOOP] == 3
    assert counts["Month"][JobState.NOOP] == 0
    assert system.store.units.unfinished() == []
    assert system.audit().unexplained == ()


def test_data_is_aggregated_up_to_the_year_once_all_periods_are_closed(system):
    for hour, n in (("2015051701", 5), ("2015051723", 7), ("2015051812", 11)):
        system.write("raw", hour, n)
    system.clock.set_wall(datetime(2016, 1, 2, tzinfo=UTC))
    system.settle()
    assert system.rows("hour") == {"2015051701": 5, "2015051723": 7, "2015051812": 11}
    assert system.rows("day") == {"2015051700": 12, "2015051800": 11}
    assert system.rows("month") == {"2015050000": 23}
    assert system.rows("year") == {"2015000000": 23}
    assert system.rows("client") == {"2015051700": 12, "2015051800": 11}
    assert system.state("Year", "2015000000") is JobState.PROCESSED
    result = system.audit()
    assert (result.unfinished, result.unexplained) == (0, ())
    assert result.accounted == result.expected


def test_no_job_is_requested_twice_for_the_same_bounds(system):
    system.write("raw", "2015051701", 5)
    system.settle()
    system.scheduler._forget()  # a restart
    system.settle()
    assert system.unit_states("Hour", "2015051701") == [UnitState.PROCESSED]
    assert system.unit_states("Day", "2015051700") == [UnitState.PROCESSED]


def test_a_discrete_job_waits_strictly_longer_than_its_settle_time():
    system = SchedulerHarness(
        a_deployment({"t": [a_process("Hour", HOURLY, source="raw", sink="hour")]})
    )
    system.write("raw", "2015052011", 3)
    system.clock.set_wall(datetime(2015, 5, 20, 12, 5, 0, tzinfo=UTC))
    system.settle()
    assert system.state("Hour", "2015052011") is JobState.EMBRYO
    assert system.why("Hour", "2015052011").kind is Kind.SETTLING
    system.clock.set_wall(datetime(2015, 5, 20, 12, 5, 0, 1000, tzinfo=UTC))
    system.settle()
    assert system.state("Hour", "2015052011") is JobState.PROCESSED


def test_a_continuous_job_follows_its_open_period_and_ends_with_the_final_bounds():
    system = SchedulerHarness(
        a_deployment(
            {"t": [a_process("Hour", HOURLY, source="raw", sink="hour", state_machine=CONTINUOUS)]}
        )
    )
    system.write("raw", "2015052012", 1)
    system.settle()
    assert system.rows("hour") == {"2015052012": 1}
    assert system.state("Hour", "2015052012") is JobState.IN_PROGRESS
    system.write("raw", "2015052012", 2, key="e")
    system.advance(12)
    system.settle()
    assert system.rows("hour") == {"2015052012": 3}
    system.advance(3600 + 300)
    system.settle()
    assert system.state("Hour", "2015052012") is JobState.PROCESSED
    assert len(system.units("Hour", "2015052012")) == 2  # the last one covered the final bounds


def test_blocking_dependencies_wait_for_the_counterpart_and_skip_with_it(system):
    system.write("raw", "2015051701", 5)
    system.write("raw", "2015051801", 6)
    system.schedule()
    assert system.unit_states("ClientDay", "2015051700") == []
    cause = system.why("ClientDay", "2015051700")
    assert cause.kind is Kind.BLOCKED
    assert {leaf.process for leaf in cause.leaves()} == {"Hour"}
    system.skip("Day", ("2015051700", "2015051700"), OPERATOR, system.clock.now())
    system.settle()
    assert system.state("ClientDay", "2015051700") is JobState.SKIPPED
    assert system.state("ClientDay", "2015051800") is JobState.PROCESSED


def test_a_failing_unit_is_retried_with_growing_waits_then_given_up_with_its_error(system):
    system.write("raw", "2015051701", 5)

    def fail(_task):
        raise ValueError("disk on fire")

    attempts = []
    for wait in (0, 61, 121, 300):
        system.advance(wait)
        system.work("Hour", work=fail)
        system.schedule()
        attempts.append([(u.attempt, u.failures) for u in system.units("Hour", "2015051701")])
    assert attempts[:2] == [[(1, 1)], [(2, 2)]]
    assert attempts[2][0][1] == 3
    assert system.unit_states("Hour", "2015051701") == [UnitState.CANCELED]
    assert system.state("Hour", "2015051701") is JobState.FAILED
    assert "disk on fire" in system.why("Hour", "2015051701").text
    assert system.state("Hour", "2015051702") is JobState.NOOP


def test_a_unit_that_is_given_up_has_its_job_failed_at_once(system):
    system.write("raw", "2015051701", 5)
    system.schedule()

    def fail(_task):
        raise ValueError("no")

    for wait in (61, 121):
        system.work("Hour", work=fail)
        system.advance(wait)
    system.work("Hour", work=fail)
    system.schedule()
    assert system.unit_states("Hour", "2015051701") == [UnitState.CANCELED]
    assert system.state("Hour", "2015051701") is JobState.FAILED


def test_a_grouped_process_runs_at_its_checkpoints_over_what_they_cover():
    grouped = a_process("Hour", HOURLY, source="raw", sink="hour", time_grouping=5)
    system = SchedulerHarness(a_deployment({"t": [grouped]}))
    system.write("raw", "2015051706", 1)
    system.write("raw", "2015051710", 2)
    system.write("raw", "2015051711", 4)
    system.settle()
    assert system.rows("hour") == {"2015051710": 3, "2015051715": 4}
    assert system.state("Hour", "2015051706") is JobState.NOOP
    system.write("raw", "2015051707", 8)
    system.advance(16)
    system.settle()
    assert system.rows("hour") == {"2015051710": 11, "2015051715": 4}


def test_the_journal_has_the_story_of_a_job(system):
    system.write("raw", "2015051701", 5)
    system.settle()
    system.reprocess("Hour", ("2015051701", "2015051701"), OPERATOR, system.clock.now())
    system.settle()
    story = system.store.journal.of_job("Hour", "2015051701")[::-1]
    events = [entry.event for entry in story if entry.event.startswith("job.")]
    once = [event for event in events if event != "job.final_run"]
    assert once in (
        [
            "job.in_progress",
            "job.processed",
            "job.started_over",
            "job.in_progress",
            "job.processed",
        ],
        ["job.processed", "job.started_over", "job.processed"],
    )
    again = next(entry for entry in story if entry.event == "job.started_over")
    assert (again.who, again.why, again.generation) == ("an operator", "because", 2)


def test_a_clock_set_back_repeats_nothing_and_ticks_continue(system):
    system.write("raw", "2015052001", 5)
    system.settle()
    before = [(u.id, u.state) for u in system.units("Hour", "2015052001")]
    system.clock.set_wall(datetime(2015, 5, 19, 12, tzinfo=UTC))
    system.settle()
    assert [(u.id, u.state) for u in system.units("Hour", "2015052001")] == before
    system.write("raw", "2015052002", 6)
    system.advance(16)
    system.settle()
    assert system.rows("hour") == {"2015052001": 5, "2015052002": 6}
    hour = system.scheduler._loop.known_state.processes["Hour"]
    assert (hour.next_tick - system.clock.now()).total_seconds() <= 600


def test_rows_that_no_store_can_keep_fail_their_own_unit_only(system):
    system.write("raw", "2015051701", 5)
    system.write("raw", "2015051702", 6)
    system.schedule()

    def work(task):
        bad = object() if task.timeperiod == "2015051701" else 1
        task.sink.replace(task.timeperiod, [{"domain": "d", "n": bad}])
        return Processed()

    system.work("Hour", work=work)
    system.work("Hour", work=work)
    assert system.unit_states("Hour", "2015051701") == [UnitState.INVALID]
    assert system.unit_states("Hour", "2015051702") == [UnitState.PROCESSED]
    assert "cannot be stored" in system.units("Hour", "2015051701")[0].reason


def test_a_parent_that_failed_is_not_finished_before_its_children(system):
    system.write("raw", "2015051701", 5)
    system.settle()
    system.reprocess("Hour", ("2015051701", "2015051701"), OPERATOR, system.clock.now())
    system.schedule()
    day = [u for u in system.units("Day", "2015051700") if not u.state.is_finished]
    if day:  # it may run at any time, on the present rows
        system.unit_commands.cancel(day[-1], OPERATOR, system.clock.now())
        system.schedule()
        assert system.state("Day", "2015051700").is_active
    system.work("Hour")
    system.settle()
    system.act(BulkVerb.RETRY, "Day", "2015051700")
    system.settle()
    assert system.state("Day", "2015051700").is_finished
    assert system.audit().unexplained == ()
