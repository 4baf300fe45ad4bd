"""The scheduler with a real store: catch-up, order, dependencies, retries, operators."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from synergy.commands.bulk import BulkVerb
from synergy.model.job import JobState
from synergy.model.process import Blocking, LateData, StateMachine
from synergy.model.unit_of_work import UnitState
from synergy.queries.timetable.causes import Kind
from synergy.worker.outcome import Nothing, Processed
from tests.deployments import DAILY, HOURLY, MONTHLY, YEARLY, a_deployment, a_process
from tests.service.scheduler_harness import OPERATOR, SchedulerHarness

CONTINUOUS, DISCRETE = StateMachine.CONTINUOUS, StateMachine.DISCRETE


def site(machine=DISCRETE, blocking=Blocking.NORMAL, **fields):
    return [
        a_process("Year", YEARLY, source="month", sink="year", state_machine=machine,
                  blocking=blocking, **fields),
        a_process("Month", MONTHLY, source="day", sink="month", state_machine=machine,
                  blocking=blocking, **fields),
        a_process("Day", DAILY, source="hour", sink="day", state_machine=machine,
                  blocking=blocking, **fields),
        a_process("Hour", HOURLY, source="raw", sink="hour", state_machine=machine, **fields),
    ]  # fmt: skip


def client(**fields):
    return [
        a_process("ClientDay", DAILY, source="day", sink="client", **fields),
    ]


@pytest.fixture(params=[DISCRETE, CONTINUOUS], ids=["discrete", "continuous"])
def system(request):
    deployment = a_deployment(
        {"site": site(request.param), "client": client(blocking=Blocking.DEPENDENCIES)},
        {"client": ("site",)},
    )
    return SchedulerHarness(deployment)


def test_an_empty_closed_range_is_finished_without_a_worker(system):
    system.schedule()
    counts = {name: p.level.counts for name, p in system.timetable().places.items()}
    assert counts["Hour"][JobState.NOOP] == 3 * 24 + 11  # 11:00 to 12:00 still settles
    assert counts["Day"][JobState.NOOP] == 3
    assert counts["ClientDay"][JobState.NOOP] == 3
    assert counts["Month"][JobState.NOOP] == 0
    assert system.store.units.unfinished() == []
    assert system.audit().unexplained == ()


def test_data_climbs_to_the_year_once_all_is_closed(system):
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


def test_late_data_starts_exactly_the_touched_periods_over(system):
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


def test_late_data_for_an_empty_period_wakes_it(system):
    system.settle()
    assert system.state("Hour", "2015051701") is JobState.NOOP
    system.write("raw", "2015051701", 4)
    system.advance(16)
    system.settle()
    assert system.rows("day") == {"2015051700": 4}


def test_late_data_is_found_even_when_no_scheduler_saw_it_come(system):
    system.write("raw", "2015051701", 5)
    system.settle()
    system.advance(10)
    system.scheduler._forget()
    system.write("raw", "2015051701", 9, key="late")
    system.advance(16)
    system.settle()
    assert system.rows("day") == {"2015051700": 14}


def test_what_was_written_before_a_skip_never_undoes_it(system):
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


def test_writing_the_same_again_starts_nothing_over(system):
    system.write("raw", "2015051701", 5)
    system.settle()
    system.write("raw", "2015051701", 5)
    system.advance(30)
    system.settle()
    assert system.generation("Hour", "2015051701") == 1


@pytest.mark.parametrize("policy", [LateData.MARK, LateData.IGNORE])
def test_late_data_that_is_only_marked_or_ignored(policy):
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


def test_rows_that_are_no_longer_there_are_removed(system):
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


def test_switching_off_stops_requests_and_on_resumes_them(system):
    now = system.clock.now()
    system.process_commands.switch("Hour", False, OPERATOR, now)
    system.write("raw", "2015051701", 5)
    system.settle()
    assert system.units("Hour", "2015051701") == []
    assert system.why("Hour", "2015051701").kind is Kind.SWITCHED_OFF
    system.process_commands.switch("Hour", True, OPERATOR, now)
    system.settle()
    assert system.state("Hour", "2015051701") is JobState.PROCESSED


def test_a_changed_trigger_takes_effect_at_once_and_survives_a_restart(system):
    system.schedule()
    change = system.process_commands.set_trigger("Hour", "at 23:00", OPERATOR, system.clock.now())
    assert change.after == "at 23:00"
    system.advance(3600 + 301)
    assert system.state("Hour", "2015052012") is JobState.EMBRYO  # closed, but not looked at yet
    system.scheduler._forget()
    system.schedule()
    system.process_commands.set_trigger("Hour", "every 60", OPERATOR, system.clock.now())
    system.advance(61)
    assert system.state("Hour", "2015052012") is JobState.NOOP


def test_extending_the_timetable_brings_earlier_periods_in(system):
    system.settle()
    system.write("raw", "2015051603", 8)
    system.timetable_commands.extend("2015051600", OPERATOR, system.clock.now())
    system.settle()
    assert system.rows("day") == {"2015051600": 8}
    assert system.audit().unfinished == 0


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


def test_units_that_no_message_reached_are_published_by_the_collector(system):
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


def test_canceling_a_unit_fails_its_job_and_no_other(system):
    system.write("raw", "2015051701", 5)
    system.write("raw", "2015051702", 5)
    system.schedule()
    unit = system.units("Hour", "2015051701")[0]
    system.unit_commands.cancel(unit, OPERATOR, system.clock.now())
    system.settle()
    assert system.state("Hour", "2015051701") is JobState.FAILED
    assert system.state("Hour", "2015051702") is JobState.PROCESSED


def test_the_journal_tells_the_story_of_a_job(system):
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


def test_a_clock_that_is_set_back_does_nothing_twice_and_ticks_go_on(system):
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
    hour = system.scheduler._managed.known_state.processes["Hour"]
    assert (hour.next_tick - system.clock.now()).total_seconds() <= 600


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
def test_of_processes_with_equally_much_to_do_the_first_that_woke_comes_first(step):
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


def test_a_parent_that_failed_is_not_finished_before_its_children(system):
    system.write("raw", "2015051701", 5)
    system.settle()
    system.reprocess("Hour", ("2015051701", "2015051701"), OPERATOR, system.clock.now())
    system.schedule()
    day = [u for u in system.units("Day", "2015051700") if not u.state.is_finished]
    if day:  # it runs any time, on what is there
        system.unit_commands.cancel(day[-1], OPERATOR, system.clock.now())
        system.schedule()
        assert system.state("Day", "2015051700").is_active
    system.work("Hour")
    system.settle()
    system.act(BulkVerb.RETRY, "Day", "2015051700")
    system.settle()
    assert system.state("Day", "2015051700").is_finished
    assert system.audit().unexplained == ()
