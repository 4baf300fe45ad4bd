"""Whether units are served: without workers, with busy workers, or with free ones."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from prometheus_client import generate_latest

from synergy.model.box import SILENT_AFTER, ObservedProcess
from synergy.model.process import POOLED
from synergy.model.unit_of_work import Hint, UnitChange, UnitOfWork, UnitState
from synergy.names import POOL
from synergy.queries.health.findings import Trouble
from synergy.queries.health.staffing import LIMIT, Unserved, unserved
from synergy.queries.metrics.deployment import DeploymentMetrics
from synergy.queries.reads import Reads
from synergy.queries.timetable.audit_progress import AuditStanding
from synergy.queries.timetable.causes import Kind
from tests.deployments import HOURLY, a_deployment, a_process
from tests.service.scheduler_harness import SchedulerHarness

NO_AUDIT = AuditStanding(False, 0, 0, "", None)

FIRST, SECOND = "2015051704", "2015051705"
OWNER = "elsewhere/00000000-boot/{}/1/word"  # of another machine


def a_system(*periods: str, **fields: Any) -> SchedulerHarness:
    """A system in which two hours, or the given ones, wait for a worker."""
    given = {"resubmit_after": 3600.0, "heartbeat_timeout": 1e6, **fields}
    hour = a_process("Hour", HOURLY, source="raw", sink="hour", **given)
    system = SchedulerHarness(a_deployment({"site": [hour]}))
    for period in periods or (FIRST, SECOND):
        system.write("raw", period, 1)
    system.schedule()
    return system


def seen(system: SchedulerHarness, *states: str, box: str = "box") -> None:
    """Reports workers of the process, as the supervisor of a box does."""
    observed = [
        ObservedProcess(box, "Hour", number, state) for number, state in enumerate(states, 1)
    ]
    system.store.boxes.assign(box, ["Hour"])
    system.store.boxes.report(box, observed, system.clock.now())


def claim(system: SchedulerHarness, period: str, number: int = 1) -> UnitOfWork:
    (unit,) = system.units("Hour", period)
    hint = Hint(unit.id, unit.attempt)
    (taken,) = system.store.units.claim([hint], OWNER.format(number), system.clock.now())
    return taken


def look(system: SchedulerHarness) -> list[Unserved]:
    return unserved(system.store, system.deployment, system.clock.now())


def commands(found: Unserved) -> list[str]:
    return [help_.command for help_ in found.helps]


def test_units_that_wait_less_than_the_limit_are_served():
    system = a_system()
    system.clock.advance(LIMIT.total_seconds() - 1)
    assert look(system) == []


def test_a_process_without_a_box_has_no_workers():
    system = a_system()
    since = system.clock.now()
    system.clock.advance(LIMIT.total_seconds())
    [found] = look(system)
    assert (found.process, found.waiting, found.since, found.busy) == ("Hour", 2, since, ())
    assert found.reason == "it has no worker: 0 of Hour seen running, no box has it"
    assert commands(found) == ["launch.py process start Hour"]


def test_a_process_switched_off_on_its_box_has_no_workers():
    system = a_system()
    seen(system, "stopped")
    system.store.boxes.switch("box", "Hour", False, "a test", system.clock.now())
    system.clock.advance(LIMIT.total_seconds())
    seen(system, "stopped")
    [found] = look(system)
    assert found.reason.endswith("switched off on box")
    assert found.helps[0].path == "/api/v1/boxes/box/processes/Hour"


def test_a_process_of_a_silent_box_has_no_workers():
    system = a_system()
    seen(system, "running")
    system.clock.advance(LIMIT.total_seconds() + SILENT_AFTER.total_seconds() + 1)
    [found] = look(system)
    assert found.reason.endswith("no report from box")
    assert "launch.py supervisor start" in commands(found)


def test_a_process_that_keeps_dying_has_no_workers():
    system = a_system()
    system.clock.advance(LIMIT.total_seconds())
    seen(system, "backoff")
    assert look(system)[0].reason.endswith("backoff on box")


def test_a_process_switched_off_everywhere_is_reported_as_such():
    system = a_system()
    system.store.controls.set_on("Hour", False, "a test", "", system.clock.now())
    system.clock.advance(LIMIT.total_seconds())
    [found] = look(system)
    assert found.reason.startswith("switched off; ")
    assert commands(found)[0] == "launch.py process on Hour"


def test_workers_busy_for_too_long_are_reported_with_their_units():
    system = a_system()
    seen(system, "running")
    system.clock.advance(60)
    taken = claim(system, FIRST)
    system.clock.advance(3599)
    seen(system, "running")
    assert look(system) == []
    system.clock.advance(1)
    [found] = look(system)
    assert (found.waiting, found.since, found.busy) == (1, taken.started_at, (taken.id,))
    assert found.reason == (
        f"the only worker of Hour is busy with unit {taken.id} of {FIRST} "
        f"since {taken.started_at:%Y-%m-%d %H:%M:%S} UTC"
    )
    assert commands(found) == [
        f"launch.py unit cancel {taken.id}",
        f"launch.py unit log {taken.id}",
    ]


def test_a_process_is_served_if_a_worker_took_a_unit_lately():
    """This holds however long the oldest unit waits."""
    system = a_system()
    system.clock.advance(7000)
    seen(system, "running")
    taken = claim(system, FIRST)
    system.store.units.give_back([Hint(taken.id, 1)], taken.owner, system.clock.now())
    system.clock.advance(3000)
    seen(system, "running")
    assert look(system) == []
    system.clock.advance(600)
    seen(system, "running")
    [found] = look(system)
    assert found.since == taken.started_at
    assert found.reason == "1 of Hour seen running"


def test_units_in_back_off_or_behind_their_job_wait_for_no_worker():
    system = a_system()
    (first,) = system.units("Hour", FIRST)
    again = UnitChange(
        first.id, first.state, first.attempt, UnitState.REQUESTED, "", "a test",
        not_before=system.clock.now() + timedelta(days=1),
    )  # fmt: skip
    assert system.store.units.move([again], system.clock.now()) == []
    taken = claim(system, SECOND)
    behind = replace(taken, id="behind", start_id=7, end_id=8, state=UnitState.REQUESTED)
    system.store.units.create([behind], "a test")
    system.clock.advance(7200)
    assert look(system) == []


def test_the_metric_counts_the_units():
    system = a_system()
    system.clock.advance(LIMIT.total_seconds())
    reads = Reads(system.store, system.bus, system.deployment, system.clock)
    metrics = DeploymentMetrics(reads, lambda: NO_AUDIT, system.deployment, system.clock)
    assert b'\nsynergy_units_not_served{process="Hour"} 2.0\n' in generate_latest(metrics)
    seen(system, "running")
    assert b'\nsynergy_units_not_served{process="Hour"} 0.0\n' in generate_latest(metrics)


# Why


def test_why_names_what_all_workers_are_busy_with_and_offers_the_cancel():
    system = a_system()
    seen(system, "running")
    taken = claim(system, FIRST)
    cause = system.why("Hour", SECOND)
    assert cause.kind is Kind.WORKERS_BUSY
    assert f"the only worker of Hour is busy with unit {taken.id} of {FIRST}" in cause.text
    offered = next(help_ for help_ in cause.helps if "cancel" in help_.command)
    assert (offered.method, offered.path) == ("POST", f"/api/v1/units/{taken.id}/cancel")


def test_why_says_that_a_worker_is_free():
    system = a_system()
    seen(system, "running", "running")
    claim(system, FIRST)
    cause = system.why("Hour", SECOND)
    assert cause.kind is Kind.WAITS_FOR_WORKER
    assert "2 of Hour seen running" in cause.text


def test_why_reports_a_process_without_workers():
    system = a_system()
    cause = system.why("Hour", FIRST)
    assert cause.kind is Kind.WAITS_FOR_WORKER
    assert "it has no worker: 0 of Hour seen running, no box has it" in cause.text


def test_long_runs_can_be_canceled():
    system = a_system()
    taken = claim(system, FIRST)
    assert [h.command for h in system.why("Hour", FIRST).helps] == [
        f"launch.py unit log {taken.id}"
    ]
    system.clock.advance(3601)
    offered = [help_.command for help_ in system.why("Hour", FIRST).helps]
    assert f"launch.py unit cancel {taken.id}" in offered


def test_only_some_of_many_busy_workers_are_named():
    system = a_system(*(f"20150517{hour:02}" for hour in range(6)))
    waiting = [u for u in system.store.units.unfinished() if u.state is UnitState.REQUESTED]
    for number, unit in enumerate(waiting[:-1]):
        claim(system, unit.timeperiod, number)
    seen(system, *["running"] * (len(waiting) - 1))
    cause = system.why("Hour", waiting[-1].timeperiod)
    assert f"all {len(waiting) - 1} workers are busy with" in cause.text
    assert f"and {len(waiting) - 4} more" in cause.text


def test_a_limit_can_be_given():
    system = a_system()
    system.clock.advance(10)
    [found] = unserved(
        system.store, system.deployment, system.clock.now(), limit=timedelta(seconds=10)
    )
    assert found.process == "Hour"


def test_runs_that_wait_for_a_process_that_is_gone_are_reported(agents):
    member = agents.member()
    agents.add("report", process="Report", trigger="every 600")
    agents.advance(member, 600)
    (run,) = agents.runs("report")
    del agents.deployment.processes["Report"]

    assert unserved(agents.store, agents.deployment, agents.clock.now()) == []
    agents.clock.advance(LIMIT.total_seconds())
    (found,) = unserved(agents.store, agents.deployment, agents.clock.now())

    assert (found.process, found.waiting, found.unit) == ("Report", 1, run.id)
    assert found.reason == "context.py has no such process any more"
    assert commands(found) == [f"launch.py unit cancel {run.id}"]
    reads = Reads(agents.store, agents.bus, agents.deployment, agents.clock)
    (finding,) = [one for one in reads.verdict().findings if one.kind is Trouble.NOT_SERVED]
    assert finding.text.endswith("of Report: context.py has no such process any more")


def pooled(system: SchedulerHarness, *states: str) -> None:
    """Reports members of the pool, and that the process is assigned to the box."""
    observed = [ObservedProcess("box", POOL, n, state) for n, state in enumerate(states, 1)]
    system.store.boxes.assign("box", ["Hour", POOL])
    system.store.boxes.report("box", observed, system.clock.now())


def test_a_pooled_process_is_served_by_the_running_members_of_a_box_that_has_it():
    system = a_system(instances=POOLED, max_active=2)
    system.clock.advance(LIMIT.total_seconds())
    pooled(system, "running", "running", "running")
    assert look(system) == []
    system.store.boxes.switch("box", "Hour", False, "a test", system.clock.now())
    assert look(system)[0].reason.endswith("switched off on box")


def test_a_pooled_process_without_running_members_has_no_worker():
    system = a_system(instances=POOLED)
    system.clock.advance(LIMIT.total_seconds())
    pooled(system, "backoff", "backoff")
    assert look(system)[0].reason.endswith("the pool is backoff on box")


def test_the_members_that_a_pooled_process_may_have_can_all_be_busy():
    system = a_system(instances=POOLED, max_active=2)
    pooled(system, "running", "running")
    claim(system, FIRST)
    system.clock.advance(3600.0)
    pooled(system, "running", "running")
    [found] = look(system)
    assert "the only worker of Hour is busy with" in found.reason
