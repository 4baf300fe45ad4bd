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
from tests.service.scheduler_harness import OPERATOR, SchedulerHarness, close_worlds

pytestmark = pytest.mark.usefixtures("_closing")


@pytest.fixture
def _closing():
    yield
    close_worlds()


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
def world(request):
    deployment = a_deployment(
        {"site": site(request.param), "client": client(blocking=Blocking.DEPENDENCIES)},
        {"client": ("site",)},
    )
    return SchedulerHarness(deployment)


def test_an_empty_closed_range_is_finished_without_a_worker(world):
    world.schedule()
    counts = {name: p.level.counts for name, p in world.timetable().places.items()}
    assert counts["Hour"][JobState.NOOP] == 3 * 24 + 11  # 11:00 to 12:00 still settles
    assert counts["Day"][JobState.NOOP] == 3
    assert counts["ClientDay"][JobState.NOOP] == 3
    assert counts["Month"][JobState.NOOP] == 0
    assert world.store.units.unfinished() == []
    assert world.audit().unexplained == ()


def test_data_climbs_to_the_year_once_all_is_closed(world):
    for hour, n in (("2015051701", 5), ("2015051723", 7), ("2015051812", 11)):
        world.write("raw", hour, n)
    world.clock.set_wall(datetime(2016, 1, 2, tzinfo=UTC))
    world.settle()
    assert world.rows("hour") == {"2015051701": 5, "2015051723": 7, "2015051812": 11}
    assert world.rows("day") == {"2015051700": 12, "2015051800": 11}
    assert world.rows("month") == {"2015050000": 23}
    assert world.rows("year") == {"2015000000": 23}
    assert world.rows("client") == {"2015051700": 12, "2015051800": 11}
    assert world.state("Year", "2015000000") is JobState.PROCESSED
    result = world.audit()
    assert (result.unfinished, result.unexplained) == (0, ())
    assert result.accounted == result.expected


def test_no_job_is_requested_twice_for_the_same_bounds(world):
    world.write("raw", "2015051701", 5)
    world.settle()
    world.scheduler._forget()  # a restart
    world.settle()
    assert world.unit_states("Hour", "2015051701") == [UnitState.PROCESSED]
    assert world.unit_states("Day", "2015051700") == [UnitState.PROCESSED]


def test_a_discrete_job_waits_strictly_longer_than_its_settle_time():
    world = SchedulerHarness(
        a_deployment({"t": [a_process("Hour", HOURLY, source="raw", sink="hour")]})
    )
    world.write("raw", "2015052011", 3)
    world.clock.set_wall(datetime(2015, 5, 20, 12, 5, 0, tzinfo=UTC))
    world.settle()
    assert world.state("Hour", "2015052011") is JobState.EMBRYO
    assert world.why("Hour", "2015052011").kind is Kind.SETTLING
    world.clock.set_wall(datetime(2015, 5, 20, 12, 5, 0, 1000, tzinfo=UTC))
    world.settle()
    assert world.state("Hour", "2015052011") is JobState.PROCESSED


def test_a_continuous_job_follows_its_open_period_and_ends_with_the_final_bounds():
    world = SchedulerHarness(
        a_deployment(
            {"t": [a_process("Hour", HOURLY, source="raw", sink="hour", state_machine=CONTINUOUS)]}
        )
    )
    world.write("raw", "2015052012", 1)
    world.settle()
    assert world.rows("hour") == {"2015052012": 1}
    assert world.state("Hour", "2015052012") is JobState.IN_PROGRESS
    world.write("raw", "2015052012", 2, key="e")
    world.advance(12)
    world.settle()
    assert world.rows("hour") == {"2015052012": 3}
    world.advance(3600 + 300)
    world.settle()
    assert world.state("Hour", "2015052012") is JobState.PROCESSED
    assert len(world.units("Hour", "2015052012")) == 2  # the last one covered the final bounds


@pytest.mark.parametrize("slots", [8, 1])
def test_while_a_unit_runs_at_most_one_waits_behind_it_in_the_same_slot_and_grows(slots):
    fields = {"source": "raw", "sink": "hour", "state_machine": CONTINUOUS, "max_active": slots}
    tree = [a_process("Hour", HOURLY, **fields)]
    world = SchedulerHarness(a_deployment({"t": tree}), start="2015052012")
    world.write("raw", "2015052012", 1)
    world.schedule()
    seen = []

    def slow(task):
        for n in range(3):
            world.write("raw", "2015052012", n, key=f"k{n}")
            world.advance(12)
            seen.append(world.unit_states("Hour", "2015052012"))
        return Processed()

    world.round("Hour", slow)
    waiting = [UnitState.IN_PROGRESS, UnitState.REQUESTED]
    assert seen == [waiting] * 3
    first, second = world.units("Hour", "2015052012")
    bounds = world.store.documents.bounds("raw", "2015052012", "2015052013")
    assert first.end_id < second.end_id == bounds.high
    assert not world.round("Hour")  # not published while the first one runs
    world.schedule()
    assert world.round("Hour")
    assert world.unit_states("Hour", "2015052012") == [UnitState.PROCESSED] * 2


def test_max_active_bounds_the_periods_in_flight_oldest_first():
    world = SchedulerHarness(
        a_deployment({"t": [a_process("Hour", HOURLY, sink="hour", max_active=3)]}),
    )
    world.schedule()
    flying = [unit.timeperiod for unit in world.store.units.unfinished()]
    assert flying == ["2015051700", "2015051701", "2015051702"]
    cause = world.why("Hour", "2015051703")
    assert cause.kind is Kind.NO_SLOT
    assert cause.text == (
        "ready; 3 periods are in flight and max_active is 3; the oldest is 2015051700"
    )
    world.work("Hour", work=lambda _: Nothing())
    world.schedule()
    flying = [unit.timeperiod for unit in world.store.units.unfinished()]
    assert flying == ["2015051703", "2015051704", "2015051705"]


@pytest.mark.parametrize(("slots", "kind"), [(1, Kind.BLOCKED), (2, Kind.NO_SLOT)])
def test_why_says_what_holds_back_a_period_that_has_data(slots, kind):
    process = a_process("Hour", HOURLY, source="raw", sink="hour", max_active=slots)
    world = SchedulerHarness(a_deployment({"t": [process]}))
    for hour in range(4):
        world.write("raw", f"201505170{hour}", 1)
    world.schedule()
    cause = world.why("Hour", "2015051703")
    assert (cause.kind, cause.text.split(";")[0]) == (kind, "ready")
    assert {leaf.timeperiod for leaf in cause.causes} == ({"2015051700"} if slots == 1 else set())


def test_one_slot_means_strictly_in_order_even_when_a_period_fails():
    world = SchedulerHarness(
        a_deployment({"t": [a_process("Hour", HOURLY, max_active=1, retry_backoff=60.0)]}),
    )
    order = []

    def work(task):
        order.append((task.timeperiod, task.unit.attempt))
        if task.timeperiod == "2015051701" and task.unit.attempt == 1:
            raise ValueError("no")
        return Processed()

    for _ in range(5):
        world.schedule()
        world.work("Hour", work=work)
    assert order == [("2015051700", 1), ("2015051701", 1)]
    world.advance(61)
    for _ in range(5):
        world.schedule()
        world.work("Hour", work=work)
    assert order[2:5] == [("2015051701", 2), ("2015051702", 1), ("2015051703", 1)]


def test_blocking_dependencies_wait_for_the_counterpart_and_skip_with_it(world):
    world.write("raw", "2015051701", 5)
    world.write("raw", "2015051801", 6)
    world.schedule()
    assert world.unit_states("ClientDay", "2015051700") == []
    cause = world.why("ClientDay", "2015051700")
    assert cause.kind is Kind.BLOCKED
    assert {leaf.process for leaf in cause.leaves()} == {"Hour"}
    world.skip("Day", ("2015051700", "2015051700"), OPERATOR, world.clock.now())
    world.settle()
    assert world.state("ClientDay", "2015051700") is JobState.SKIPPED
    assert world.state("ClientDay", "2015051800") is JobState.PROCESSED


def test_a_failing_unit_is_retried_with_growing_waits_then_given_up_with_its_error(world):
    world.write("raw", "2015051701", 5)

    def fail(_task):
        raise ValueError("disk on fire")

    attempts = []
    for wait in (0, 61, 121, 300):
        world.advance(wait)
        world.work("Hour", work=fail)
        world.schedule()
        attempts.append([(u.attempt, u.failures) for u in world.units("Hour", "2015051701")])
    assert attempts[:2] == [[(1, 1)], [(2, 2)]]
    assert attempts[2][0][1] == 3
    assert world.unit_states("Hour", "2015051701") == [UnitState.CANCELED]
    assert world.state("Hour", "2015051701") is JobState.FAILED
    assert "disk on fire" in world.why("Hour", "2015051701").text
    assert world.state("Hour", "2015051702") is JobState.NOOP


def test_a_unit_that_is_given_up_has_its_job_failed_at_once(world):
    world.write("raw", "2015051701", 5)
    world.schedule()

    def fail(_task):
        raise ValueError("no")

    for wait in (61, 121):
        world.work("Hour", work=fail)
        world.advance(wait)
    world.work("Hour", work=fail)
    world.schedule()
    assert world.unit_states("Hour", "2015051701") == [UnitState.CANCELED]
    assert world.state("Hour", "2015051701") is JobState.FAILED


def test_reprocess_starts_over_exactly_what_the_dry_run_lists(world):
    world.write("raw", "2015051701", 5)
    world.settle()
    periods = ("2015051701", "2015051701")
    now = world.clock.now()
    planned = world.reprocess("Hour", periods, OPERATOR, now, dry_run=True)
    assert world.generation("Hour", "2015051701") == 1
    touched = world.reprocess("Hour", periods, OPERATOR, now)
    assert touched == planned
    names = {(t.process, t.timeperiod) for t in touched}
    assert {("Hour", "2015051701"), ("Day", "2015051700"), ("ClientDay", "2015051700")} <= names
    world.settle()
    assert world.generation("Hour", "2015051701") == 2
    assert world.unit_states("Hour", "2015051701") == [UnitState.PROCESSED] * 2
    assert world.unit_states("Day", "2015051700") == [UnitState.PROCESSED] * 2
    assert world.state("Day", "2015051700") is JobState.PROCESSED
    assert world.rows("day") == {"2015051700": 5}


def test_a_reprocess_of_a_running_job_restarts_it_and_the_old_result_is_refused(world):
    world.write("raw", "2015051701", 5)
    world.schedule()

    def overtaken(task):
        periods = ("2015051701", "2015051701")
        world.reprocess("Hour", periods, OPERATOR, world.clock.now())
        world.schedule()
        task.sink.replace(task.timeperiod, [{"domain": "d", "n": 999}])
        return Processed()

    world.round("Hour", overtaken)
    assert world.rows("hour") == {}
    world.forget_crews()
    world.settle()
    assert world.rows("hour") == {"2015051701": 5}
    assert world.unit_states("Hour", "2015051701") == [UnitState.CANCELED, UnitState.PROCESSED]
    assert world.state("Hour", "2015051701") is JobState.PROCESSED


def test_a_skip_wins_over_the_result_of_earlier_work(world):
    world.write("raw", "2015051701", 5)
    world.schedule()

    def overtaken(task):
        world.skip("Hour", ("2015051701", "2015051701"), OPERATOR, world.clock.now())
        task.sink.replace(task.timeperiod, [{"domain": "d", "n": 999}])
        return Processed()

    world.round("Hour", overtaken)
    world.settle()
    assert world.state("Hour", "2015051701") is JobState.SKIPPED
    assert world.rows("hour") == {}


def test_a_parent_whose_children_are_all_skipped_is_skipped(world):
    world.write("raw", "2015051705", 1)
    world.clock.set_wall(datetime(2015, 5, 18, 12, tzinfo=UTC))
    world.store.facts.set_default("timetable.start", "2015051700")
    world.skip("Hour", ("2015051700", "2015051723"), OPERATOR, world.clock.now())
    world.settle()
    assert world.state("Day", "2015051700") is JobState.SKIPPED


def test_late_data_starts_exactly_the_touched_periods_over(world):
    world.write("raw", "2015051701", 5)
    world.write("raw", "2015051801", 6)
    world.settle()
    world.write("raw", "2015051701", 9, key="late")
    world.schedule()
    assert world.state("Hour", "2015051701") is JobState.PROCESSED  # its quiet time runs
    assert [u.timeperiod for u in world.audit().unexplained] == ["2015051701"]
    assert world.why("Hour", "2015051701").kind is Kind.LATE_DATA
    world.advance(9)
    assert world.generation("Hour", "2015051701") == 1
    world.advance(2)
    world.settle()
    assert world.rows("hour") == {"2015051701": 14, "2015051801": 6}
    assert world.rows("day") == {"2015051700": 14, "2015051800": 6}
    assert world.rows("client") == {"2015051700": 14, "2015051800": 6}
    assert world.generation("Hour", "2015051701") == 2
    assert world.generation("Hour", "2015051801") == 1
    assert world.generation("Day", "2015051800") == 1
    assert world.audit().unexplained == ()


def test_late_data_for_an_empty_period_wakes_it(world):
    world.settle()
    assert world.state("Hour", "2015051701") is JobState.NOOP
    world.write("raw", "2015051701", 4)
    world.advance(16)
    world.settle()
    assert world.rows("day") == {"2015051700": 4}


def test_late_data_is_found_even_when_no_scheduler_saw_it_come(world):
    world.write("raw", "2015051701", 5)
    world.settle()
    world.advance(10)
    world.scheduler._forget()
    world.write("raw", "2015051701", 9, key="late")
    world.advance(16)
    world.settle()
    assert world.rows("day") == {"2015051700": 14}


def test_what_was_written_before_a_skip_never_undoes_it(world):
    world.settle()
    world.advance(20)
    world.write("raw", "2015052003", 5)
    world.scheduler._forget()
    world.reprocess("Hour", ("2015052003", "2015052003"), OPERATOR, world.clock.now())
    world.skip("Hour", ("2015052003", "2015052003"), OPERATOR, world.clock.now())
    world.advance(30)
    world.settle()
    assert world.state("Hour", "2015052003") is JobState.SKIPPED
    world.write("raw", "2015052003", 6, key="later")
    world.advance(16)
    world.settle()
    assert world.state("Hour", "2015052003") is JobState.SKIPPED
    world.reprocess("Hour", ("2015052003", "2015052003"), OPERATOR, world.clock.now())
    world.settle()
    assert world.state("Hour", "2015052003") is JobState.PROCESSED


def test_writing_the_same_again_starts_nothing_over(world):
    world.write("raw", "2015051701", 5)
    world.settle()
    world.write("raw", "2015051701", 5)
    world.advance(30)
    world.settle()
    assert world.generation("Hour", "2015051701") == 1


@pytest.mark.parametrize("policy", [LateData.MARK, LateData.IGNORE])
def test_late_data_that_is_only_marked_or_ignored(policy):
    hour = a_process("Hour", HOURLY, source="raw", sink="hour", late_data=policy)
    world = SchedulerHarness(a_deployment({"t": [hour]}))
    world.write("raw", "2015051701", 5)
    world.settle()
    world.write("raw", "2015051701", 6, key="late")
    world.advance(30)
    world.settle()
    place = world.timetable().place("Hour")
    ordinal = place.level.ordinal("2015051701")
    assert place.level.is_stale(ordinal) == (policy is LateData.MARK)
    assert world.rows("hour") == {"2015051701": 5}


def test_rows_that_are_no_longer_there_are_removed(world):
    world.write("raw", "2015051701", 5)
    world.settle()

    def nothing(_task):
        return Nothing()

    world.reprocess("Hour", ("2015051701", "2015051701"), OPERATOR, world.clock.now())
    world.schedule()
    world.forget_crews()
    world.work("Hour", work=nothing)
    world.forget_crews()
    world.settle()
    assert world.rows("hour") == {}
    assert world.rows("day") == {"2015051700": 0}
    assert world.state("Hour", "2015051701") is JobState.NOOP


def test_switching_off_stops_requests_and_on_resumes_them(world):
    now = world.clock.now()
    world.process_commands.switch("Hour", False, OPERATOR, now)
    world.write("raw", "2015051701", 5)
    world.settle()
    assert world.units("Hour", "2015051701") == []
    assert world.why("Hour", "2015051701").kind is Kind.SWITCHED_OFF
    world.process_commands.switch("Hour", True, OPERATOR, now)
    world.settle()
    assert world.state("Hour", "2015051701") is JobState.PROCESSED


def test_a_changed_trigger_takes_effect_at_once_and_survives_a_restart(world):
    world.schedule()
    change = world.process_commands.set_trigger("Hour", "at 23:00", OPERATOR, world.clock.now())
    assert change.after == "at 23:00"
    world.advance(3600 + 301)
    assert world.state("Hour", "2015052012") is JobState.EMBRYO  # closed, but not looked at yet
    world.scheduler._forget()
    world.schedule()
    world.process_commands.set_trigger("Hour", "every 60", OPERATOR, world.clock.now())
    world.advance(61)
    assert world.state("Hour", "2015052012") is JobState.NOOP


def test_extending_the_timetable_brings_earlier_periods_in(world):
    world.settle()
    world.write("raw", "2015051603", 8)
    world.timetable_commands.extend("2015051600", OPERATOR, world.clock.now())
    world.settle()
    assert world.rows("day") == {"2015051600": 8}
    assert world.audit().unfinished == 0


def test_a_grouped_process_runs_at_its_checkpoints_over_what_they_cover():
    grouped = a_process("Hour", HOURLY, source="raw", sink="hour", time_grouping=5)
    world = SchedulerHarness(a_deployment({"t": [grouped]}))
    world.write("raw", "2015051706", 1)
    world.write("raw", "2015051710", 2)
    world.write("raw", "2015051711", 4)
    world.settle()
    assert world.rows("hour") == {"2015051710": 3, "2015051715": 4}
    assert world.state("Hour", "2015051706") is JobState.NOOP
    world.write("raw", "2015051707", 8)
    world.advance(16)
    world.settle()
    assert world.rows("hour") == {"2015051710": 11, "2015051715": 4}


def test_units_that_no_message_reached_are_published_by_the_collector(world):
    world.write("raw", "2015051701", 5)
    world.schedule()
    assert world.bus.purge("Hour") == 1
    assert world.work("Hour") == 0
    world.advance(61)
    world.settle()
    assert world.state("Hour", "2015051701") is JobState.PROCESSED
    assert world.units("Hour", "2015051701")[0].attempt == 1


def test_a_message_twice_or_of_an_old_attempt_changes_nothing(world):
    from synergy.messaging.message import UnitMessage

    world.write("raw", "2015051701", 5)
    world.schedule()
    unit = world.units("Hour", "2015051701")[0]
    with world.store.batch() as batch:
        world.bus.publish("Hour", [UnitMessage(unit.id, 1)] * 3, batch)
        world.bus.publish("Hour", [UnitMessage("unknown", 1)], batch)
    world.settle()
    done = world.units("Hour", "2015051701")
    assert [(u.state, u.attempt) for u in done] == [(UnitState.PROCESSED, 1)]


def test_canceling_a_unit_fails_its_job_and_no_other(world):
    world.write("raw", "2015051701", 5)
    world.write("raw", "2015051702", 5)
    world.schedule()
    unit = world.units("Hour", "2015051701")[0]
    world.unit_commands.cancel(unit, OPERATOR, world.clock.now())
    world.settle()
    assert world.state("Hour", "2015051701") is JobState.FAILED
    assert world.state("Hour", "2015051702") is JobState.PROCESSED


def test_the_journal_tells_the_story_of_a_job(world):
    world.write("raw", "2015051701", 5)
    world.settle()
    world.reprocess("Hour", ("2015051701", "2015051701"), OPERATOR, world.clock.now())
    world.settle()
    story = world.store.journal.of_job("Hour", "2015051701")[::-1]
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
    world = SchedulerHarness(deployment)

    def compare(task):
        before = list(task.source.between("2015051700", "2015051800"))
        row = {"domain": "d", "n": sum(int(str(r["n"])) for r in before)}
        task.sink.replace(task.timeperiod, [row])
        return Processed()

    world.write("raw", "2015051700", 5)
    world.process_commands.switch("Day", False, OPERATOR, world.clock.now())
    world.schedule()
    assert {leaf.timeperiod for leaf in world.why("Alert", "2015051900").leaves()} == {
        "2015051700",
        "2015051900",
    }
    world.process_commands.switch("Day", True, OPERATOR, world.clock.now())
    for _ in range(3):
        world.schedule()
        world.work("Day")
        world.work("Alert", work=compare)
    assert world.rows("alert")["2015051900"] == 5
    assert world.state("Alert", "2015051800") is JobState.NOOP
    world.write("raw", "2015051700", 6, key="late")
    world.advance(16)
    for _ in range(3):
        world.schedule()
        world.work("Day")
        world.work("Alert", work=compare)
    assert world.rows("alert")["2015051900"] == 11
    assert world.generation("Alert", "2015051900") == 2
    assert world.audit().unexplained == ()


def test_a_clock_that_is_set_back_does_nothing_twice_and_ticks_go_on(world):
    world.write("raw", "2015052001", 5)
    world.settle()
    before = [(u.id, u.state) for u in world.units("Hour", "2015052001")]
    world.clock.set_wall(datetime(2015, 5, 19, 12, tzinfo=UTC))
    world.settle()
    assert [(u.id, u.state) for u in world.units("Hour", "2015052001")] == before
    world.write("raw", "2015052002", 6)
    world.advance(16)
    world.settle()
    assert world.rows("hour") == {"2015052001": 5, "2015052002": 6}
    hour = world.scheduler._managed.memory.lanes["Hour"]
    assert (hour.next_tick - world.clock.now()).total_seconds() <= 600


def test_one_process_with_much_to_do_does_not_hold_up_another():
    deployment = a_deployment(
        {
            "much": [a_process("Much", HOURLY, source="none", sink="much")],
            "little": [a_process("Little", HOURLY, sink="little", max_active=1)],
        }
    )
    world = SchedulerHarness(deployment, start="2005010100")
    world.scheduler.run_once()
    world.scheduler.run_once()
    assert [unit.process for unit in world.store.units.unfinished()] == ["Little"]
    assert world.timetable().place("Much").level.counts[JobState.EMBRYO] > 50_000


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


def test_rows_that_no_store_can_keep_fail_their_own_unit_only(world):
    world.write("raw", "2015051701", 5)
    world.write("raw", "2015051702", 6)
    world.schedule()

    def work(task):
        bad = object() if task.timeperiod == "2015051701" else 1
        task.sink.replace(task.timeperiod, [{"domain": "d", "n": bad}])
        return Processed()

    world.work("Hour", work=work)
    world.work("Hour", work=work)
    assert world.unit_states("Hour", "2015051701") == [UnitState.INVALID]
    assert world.unit_states("Hour", "2015051702") == [UnitState.PROCESSED]
    assert "cannot be stored" in world.units("Hour", "2015051701")[0].reason


def test_strict_order_does_not_make_an_empty_past_slow():
    hour = a_process("Hour", HOURLY, source="raw", sink="hour", max_active=1)
    world = SchedulerHarness(a_deployment({"t": [hour]}), start="2014052000")
    world.write("raw", "2015051700", 5)
    world.write("raw", "2015051805", 6)
    turns = 0
    while world.scheduler.run_once() == 0:
        turns += 1
    assert turns < 100  # of some 8,800 periods
    assert [unit.timeperiod for unit in world.store.units.unfinished()] == ["2015051700"]
    assert world.state("Hour", "2015051701") is JobState.EMBRYO
    world.settle()
    assert world.rows("hour") == {"2015051700": 5, "2015051805": 6}
    assert world.audit().unfinished == 0


def test_a_parent_that_failed_is_not_finished_before_its_children(world):
    world.write("raw", "2015051701", 5)
    world.settle()
    world.reprocess("Hour", ("2015051701", "2015051701"), OPERATOR, world.clock.now())
    world.schedule()
    day = [u for u in world.units("Day", "2015051700") if not u.state.is_finished]
    if day:  # it runs any time, on what is there
        world.unit_commands.cancel(day[-1], OPERATOR, world.clock.now())
        world.schedule()
        assert world.state("Day", "2015051700").is_active
    world.work("Hour")
    world.settle()
    world.act(BulkVerb.RETRY, "Day", "2015051700")
    world.settle()
    assert world.state("Day", "2015051700").is_finished
    assert world.audit().unexplained == ()
