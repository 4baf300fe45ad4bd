"""The verdict on boxes, messages, runs, the collector and the audit."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from synergy.messaging.message import EventsMessage
from synergy.model.job import JobChange, JobState
from synergy.model.process import DaemonProcess
from synergy.model.schedule import RunState
from synergy.model.unit_of_work import UnitState
from synergy.names import LAST_AUDIT
from synergy.queries.health.findings import Trouble
from synergy.queries.health.verdict import Remark
from synergy.queries.reads import Reads
from synergy.queries.timetable import last_audit
from tests.contract.scheduled import a_run, a_schedule
from tests.deployments import HOURLY, a_deployment, a_process
from tests.service.audits import audit
from tests.service.free_runs import a_free_process
from tests.service.scheduler_harness import OPERATOR, SchedulerHarness
from tests.service.verdict.kit import (
    BAD,
    NOON,
    _hint,
    a_system,
    commands,
    fails_at,
    kinds,
    look,
    report,
    settle,
)


def test_a_process_that_is_switched_off_on_all_its_boxes_with_work_waiting_is_not_well(system):
    settle(system)
    system.store.boxes.assign("b", ["Hours"])
    report(system, "running")
    system.store.boxes.switch("b", "Hours", False, "a test", system.clock.now(), "")
    system.advance(3700)
    report(system, "stopped")
    found = look(system)
    assert kinds(found)[0][:2] == ("switched_off", "Hours")
    assert "on all boxes that have it" in found.findings[0].text
    assert commands(found.findings[0])[0].startswith("launch.py process start Hours")


def test_a_daemon_that_is_switched_off_on_its_box_with_messages_waiting_is_not_well():
    taker = DaemonProcess(
        name="Taker", classname="a.b.C.start", token="Taker", present_on_boxes=(".*",)
    )
    hours = a_deployment({"site": [a_process("Hours", HOURLY)]})
    system = SchedulerHarness(
        replace(hours, processes={**hours.processes, "Taker": taker}), start="2015051700", now=NOON
    )
    settle(system)
    system.store.boxes.assign("b", ["Taker"])
    report(system, "stopped")
    with system.store.batch() as batch:
        system.bus.publish("Taker", [EventsMessage([{}])], batch)
    system.store.boxes.switch("b", "Taker", False, "a test", system.clock.now(), "")
    found = look(system)
    assert kinds(found) == [("switched_off", "Taker", 1)]
    assert "on all boxes that have it, and 1 message waits" in found.findings[0].text


def test_an_assigned_process_that_does_not_run_is_a_finding(system):
    settle(system)
    system.store.boxes.assign("b", ["Hours"])
    report(system, "running")
    assert look(system).is_well
    report(system, "backoff", restarts=3)
    found = look(system)
    assert kinds(found) == [("backing_off", "Hours", 1)]
    assert "3 restarts" in found.findings[0].text
    report(system, "starting", restarts=4)  # it has not reached running since
    assert kinds(look(system)) == [("backing_off", "Hours", 1)]
    report(system, "running", restarts=4)
    assert look(system).is_well
    report(system)
    assert kinds(look(system)) == [("process_down", "Hours", 1)]
    report(system, "starting")
    assert look(system).is_well
    report(system, "finishing", since=system.clock.now() - timedelta(hours=2))
    assert look(system).is_well  # it works, without a limit
    report(system, "starting", since=system.clock.now() - timedelta(minutes=2))
    assert kinds(look(system)) == [("process_down", "Hours", 1)]
    system.store.boxes.switch("b", "Hours", False, "me", system.clock.now())
    assert look(system).is_well


def test_a_silent_box_is_a_finding_and_its_processes_are_none(system):
    settle(system)
    system.store.boxes.assign("b", ["Hours"])
    report(system, "running")
    system.advance(60)
    (finding,) = look(system).findings
    assert (finding.kind, finding.first.box) == (Trouble.BOX_SILENT, "b")
    assert commands(finding)[-1] == "launch.py supervisor start"
    system.store.boxes.switch("b", "Hours", False, "me", system.clock.now())
    assert look(system).is_well  # no process of it is expected to run


def test_messages_in_quarantine_are_a_finding(system):
    settle(system)
    since = system.clock.now()
    system.store.messages.bury("Hours", b"?", "it is no JSON", since)
    system.advance(10)
    system.store.messages.bury("Hours", b"!", "odd", system.clock.now())
    (finding,) = look(system).findings
    assert (finding.kind, finding.count, finding.since) == (Trouble.QUARANTINE, 2, since)
    assert "it is no JSON" in finding.text
    assert commands(finding) == ["launch.py queue dead", "launch.py queue replay"]


@pytest.fixture
def scheduled(system):
    """A system with a free-run process, and the schedules `report` and `hook`."""
    free = {"Report": a_free_process()}
    system.deployment = replace(
        system.deployment, processes={**system.deployment.processes, **free}
    )
    settle(system)
    system.store.schedules.create([a_schedule(name="report"), a_schedule(name="hook")], "me")
    return system


def ended(system, schedule, state, key, minutes=0, **fields):
    at = system.clock.now() + timedelta(minutes=minutes)
    run = a_run(schedule=schedule, key=key, state=state, launched_at=at, finished_at=at, **fields)
    system.store.runs.create([run], "a test")
    return run


def test_a_failed_run_is_a_finding_until_a_later_one_succeeds(scheduled):
    request = {"process": "Report"}
    bad = ended(scheduled, "report", RunState.FAILED, "due:1", request=request, reason="exit 3")
    (finding,) = look(scheduled).findings
    assert (finding.kind, finding.first.run) == (Trouble.FAILED_RUNS, bad.id)
    assert "exit 3" in finding.text
    assert commands(finding)[0] == f"launch.py schedule retry {bad.id}"
    ended(scheduled, "report", RunState.PROCESSED, "due:2", minutes=1, request=request)
    assert look(scheduled).is_well


def test_a_failed_delivery_is_a_finding_until_it_is_sent_again(scheduled):
    request = {"target": "https://receiver.example/hook"}
    ended(scheduled, "hook", RunState.FAILED, "due:1", request=request)
    ended(scheduled, "hook", RunState.FAILED, "due:2", minutes=1, request=request)
    ended(scheduled, "hook", RunState.PROCESSED, "due:3", minutes=2, request=request)
    (finding,) = look(scheduled).findings
    assert (finding.kind, finding.count) == (Trouble.FAILED_RUNS, 2)
    assert commands(finding)[0] == "launch.py schedule retry --all --schedule hook"


def test_failed_runs_of_removed_schedules_are_ignored(scheduled):
    ended(scheduled, "gone", RunState.FAILED, "due:1", request={"target": "https://x.example"})
    assert look(scheduled).is_well


def test_units_that_the_collector_should_have_handed_out_are_stuck(system):
    settle(system)
    system.advance(3600)
    system.new_workers()
    system.round("Hours", fails_at("2015051712", "2015051713", "2015051714"))
    assert [unit.state for unit in system.store.units.unfinished()] == [UnitState.INVALID]
    found = look(system)
    assert found.is_well
    assert [note.kind for note in found.notes] == [Remark.RETRYING]
    system.clock.advance(400)  # no collector runs
    assert ("stuck", "Hours", 1) in kinds(look(system))


def test_a_unit_that_a_worker_has_just_given_back_is_not_stuck(system):
    settle(system)
    system.advance(3600)
    (unit,) = system.store.units.unfinished()
    now = system.clock.now()
    (taken,) = system.store.units.claim([_hint(unit)], "w1", now)
    system.clock.advance(1000)
    system.store.boxes.assign("b", ["Hours"])
    report(system, "running")
    system.store.units.give_back([_hint(taken)], "w1", system.clock.now())
    assert look(system).is_well
    system.clock.advance(181)  # its message is not published
    report(system, "running")
    assert kinds(look(system)) == [("stuck", "Hours", 1)]


def test_the_result_of_an_audit_is_shared(system):
    settle(system)
    reads = Reads(system.store, system.bus, system.deployment, system.clock)
    assert kinds(reads.verdict()) == [("audit_old", "", 1)]
    assert reads.is_audit_due()
    audit(system)
    assert reads.verdict().is_well
    assert not reads.is_audit_due()
    system.clock.advance(last_audit.EVERY + 1)
    assert reads.is_audit_due()
    system.clock.advance(last_audit.EVERY * last_audit.RECENT)
    assert "audit_old" in {kind for kind, _, _ in kinds(reads.verdict())}
    assert "audit_old" not in {kind for kind, _, _ in kinds(reads.verdict(is_auditing=True))}


def test_late_data_is_a_note_until_it_should_have_been_processed():
    system = a_system(hour={"source": "raw"})
    system.write("raw", BAD, 1)
    settle(system)
    system.write("raw", BAD, 2)
    found = look(system)
    assert [(note.kind, note.count) for note in found.notes] == [(Remark.LATE_DATA, 1)]
    assert found.is_well
    system.clock.advance(361)
    assert kinds(look(system)) == [("unexplained", "Hours", 1)]
    settle(system)
    assert look(system).is_well


def test_an_unreadable_stored_audit_is_ignored(system):
    for nonsense in ("", "x", "{}", "[]", '{"at": 3}'):
        system.store.facts.set(LAST_AUDIT, nonsense)
        assert last_audit.last_audit(system.store) is None


def test_skipped_periods_with_changes_since_are_a_note(system):
    settle(system)
    system.skip("Hours", ("2015051712", "2015051712"), OPERATOR, system.clock.now())
    hour = HOURLY.parse("2015051712")
    system.store.jobs.move(
        [
            JobChange(
                "Hours", HOURLY, hour, hour, JobState.SKIPPED, JobState.SKIPPED, 1,
                "its source changed", "a test", stale=True,
            )
        ],
        system.clock.now(),
    )  # fmt: skip
    found = look(system)
    assert found.is_well
    assert [(note.kind, note.count) for note in found.notes] == [(Remark.UNSEEN, 1)]
