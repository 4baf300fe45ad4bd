"""The overview: periods, units, queues, schedules and boxes."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from synergy.commands.schedules import ScheduleCommands
from synergy.model.box import ObservedProcess
from synergy.names import TIMETABLE_START, process_memory
from synergy.queries.metrics.activity import Activity
from synergy.queries.overview import BoxSummary, Late, overview
from synergy.queries.reads import Reads
from synergy.queries.schedules.reads import ScheduleReads
from synergy.queries.timetable.audit_progress import AuditStanding
from synergy.queries.timetable.causes import Kind
from synergy.runtime.process_memory import written
from tests.deployments import HOURLY, a_deployment, a_process
from tests.service.free_runs import a_free_process
from tests.service.scheduler_harness import OPERATOR, SchedulerHarness


@pytest.fixture
def system():
    """An hourly process since midnight, at 05:30: nothing was done, 00 to 03 are late."""
    deployment = a_deployment({"site": [a_process("Hours", HOURLY, resubmit_after=3600.0)]})
    free = {"Report": a_free_process()}
    return SchedulerHarness(
        replace(deployment, processes={**deployment.processes, **free}),
        start="2015051700",
        now=datetime(2015, 5, 17, 5, 30, tzinfo=UTC),
    )


@pytest.fixture
def look(system):
    """Returns the present overview."""
    reads = Reads(system.store, system.bus, system.deployment, system.clock)
    schedules = ScheduleReads(system.store, system.deployment, system.clock)
    standing = AuditStanding(False, 0, 0, "", None)
    activity = Activity(system.store, system.deployment, system.clock)
    return lambda: overview(reads, schedules, standing, activity.throughput(), system.clock.now())


def test_before_the_first_start_nothing_is_late(look):
    seen = look()
    assert (seen.late, seen.waiting, seen.running, seen.failing) == ((), (), (), ())
    assert seen.units == {"requested": 0, "in_progress": 0, "invalid": 0}
    assert not seen.collector.is_led


def test_late_and_waiting_periods_are_shown_with_the_cause(system, look):
    system.store.facts.set(TIMETABLE_START, "2015051700")
    seen = look()
    assert seen.late == (Late("Hours", "site", 4, "2015051700"),)
    (waiting,) = seen.waiting
    # 04 has closed at 05:00 and settled at 05:05, and is not late yet
    assert (waiting.process, waiting.count, waiting.oldest) == ("Hours", 5, "2015051700")
    assert waiting.cause.kind is Kind.NO_SCHEDULER


def test_units_that_run_and_that_fail_are_named(system, look):
    def fails(task):
        raise ValueError("no such host")

    system.schedule()
    system.round("Hours", fails)
    seen = look()
    assert seen.units["invalid"] == len(seen.failing) > 0
    assert "no such host" in seen.failing[0].reason
    assert seen.units["in_progress"] == len(seen.running) == 0


def test_finished_units_are_in_the_throughput(system, look):
    system.schedule()
    look()
    system.skip("Hours", ("2015051700", "2015051702"), OPERATOR, system.clock.now())
    assert look().throughput.jobs[-1] == 3


def test_queues_and_the_quarantine_are_counted(system, look):
    system.store.messages.put("Hours", [b"1", b"2"])
    system.store.messages.bury("Hours", b"?", "odd", system.clock.now())
    seen = look()
    assert [(queue.name, queue.waiting) for queue in seen.queues] == [("Hours", 2)]
    assert seen.dead == 1


def test_schedules_are_summed_up(system, look):
    actions = ScheduleCommands(system.store, system.bus, system.deployment)
    for name, trigger in (("later", "every 7200"), ("soon", "every 60")):
        written_down = {"name": name, "process": "Report", "trigger": trigger}
        actions.create(written_down, OPERATOR, system.clock.now(), enable=True)
    off = {"name": "off", "process": "Report", "trigger": "every 60"}
    actions.create(off, OPERATOR, system.clock.now())
    seen = look().schedules
    assert seen.total == 3
    assert [one.name for one in seen.ahead] == ["soon", "later"]
    assert (seen.pending, seen.failed, seen.failing) == (0, 0, ())


def test_a_box_is_summed_up_and_a_silent_one_runs_nothing(system, look):
    now = system.clock.now()
    system.store.boxes.assign("b", ["Hours", "Report"])
    seen = [
        ObservedProcess("b", "Hours", number, "running", pid=number, since=now, restarts=number)
        for number in (1, 2)
    ]
    system.store.boxes.report("b", seen, now)
    system.store.facts.set(process_memory("b"), written({("Hours", 1): 1000, ("Hours", 2): 2000}))
    assert look().boxes == (BoxSummary("b", 0.0, False, 2, 1, 3, 3000),)
    system.clock.advance(60)
    assert look().boxes == (BoxSummary("b", 60.0, True, 2, 0, 0, 0),)
