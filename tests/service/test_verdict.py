"""The verdict over a whole deployment: what it takes for all to be well, and what is told else."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from synergy.commands.bulk import BulkRequest, BulkVerb, Range
from synergy.messaging.message import EventsMessage
from synergy.model.box import ObservedProcess
from synergy.model.job import JobMove, JobState
from synergy.model.process import Blocking, DaemonProcess, OnFailure
from synergy.model.schedule import RunState
from synergy.model.unit_of_work import Hint, UnitState
from synergy.names import LAST_AUDIT
from synergy.queries.health.findings import Trouble
from synergy.queries.health.verdict import Remark
from synergy.queries.reads import Reads
from synergy.queries.timetable import last_audit
from synergy.worker.outcome import Processed
from tests.contract.scheduled import a_run, a_schedule
from tests.deployments import DAILY, HOURLY, a_deployment, a_process
from tests.service.audits import audit
from tests.service.free_runs import a_free_process
from tests.service.scheduler_harness import OPERATOR, SchedulerHarness

NOON = datetime(2015, 5, 17, 12, 0, tzinfo=UTC)
BAD = "2015051705"


def a_system(now=NOON, hour=None, **fields):
    """Hours under days, both of which do what they are told, from midnight of 17 May 2015 on."""
    processes = [
        a_process("Days", DAILY, blocking=Blocking.CHILDREN),
        a_process("Hours", HOURLY, max_attempts=3, retry_backoff=1.0, **(hour or {})),
    ]
    return SchedulerHarness(
        a_deployment({"site": processes}), start="2015051700", now=now, **fields
    )


@pytest.fixture
def system():
    return a_system()


def done(_task):
    return Processed({"rows": 1})


def fails_at(*periods):
    def work(task):
        if task.timeperiod in periods:
            raise OSError("no such host")
        return Processed({"rows": 1})

    return work


def settle(system, work=done):
    """Until nothing is left to do, with all tries of what fails."""
    for name in system.deployment.managed():
        system.runner(name, work)
    system.settle()
    for _ in range(1 if work is done else 5):
        system.advance(61)
        system.settle()
    system.clock.advance(300)  # so that the deployment is not new any more
    system.settle()


def look(system, **options):
    reads = Reads(system.store, system.bus, system.deployment, system.clock)
    audit(system)
    return reads.verdict(**options)


def kinds(found):
    return [(one.kind.value, one.first.process, one.count) for one in found.findings]


def commands(finding):
    return [help_.command for help_ in finding.helps]


def test_before_the_first_start_nothing_can_be_told(system):
    found = Reads(system.store, system.bus, system.deployment, system.clock).verdict()
    assert found.is_well is None
    assert "launch.py supervisor start" in found.text


def test_once_all_is_done_all_is_well(system):
    settle(system)
    found = look(system)
    assert (found.is_well, found.text, found.findings, found.notes) == (True, "well", (), ())


# The case of the 461 rows


def test_a_day_without_one_of_its_hours_is_not_well(system):
    settle(system, fails_at(BAD))
    assert system.state("Hours", BAD) is JobState.FAILED
    system.clock.advance(14 * 3600)
    system.settle()
    assert not system.state("Days", "2015051700").is_finished
    found = look(system)
    assert found.is_well is False
    assert found.text == "not well: 1 period failed"
    (finding,) = found.findings
    assert (finding.kind, finding.first.timeperiod) == (Trouble.FAILED, BAD)
    assert finding.waiting == 1  # the day, and nothing is said of that it is late
    assert "no such host" in finding.text
    assert NOON <= finding.since <= NOON + timedelta(minutes=30)
    assert f"launch.py timetable retry Hours {BAD}" in commands(finding)


def test_several_that_failed_are_tried_again_by_one_command(system):
    settle(system, fails_at("2015051703", BAD))
    (finding,) = look(system).findings
    assert (finding.count, finding.first.timeperiod) == (2, "2015051703")
    assert "launch.py timetable retry Hours 2015051703..2015051706" in commands(finding)
    assert finding.helps[0].body == {
        "process": "Hours", "from": "2015051703", "to": "2015051706",
    }  # fmt: skip


def test_what_was_given_up_is_not_well_until_a_person_acknowledges_it():
    system = a_system(hour={"on_failure": OnFailure.SKIP})
    settle(system, fails_at(BAD))
    found = look(system)
    assert kinds(found) == [("given_up", "Hours", 1)]
    assert commands(found.findings[0])[0].startswith("launch.py timetable acknowledge Hours")
    acknowledge(system)
    found = look(system)
    assert found.is_well
    assert [(note.kind, note.count) for note in found.notes] == [(Remark.ACKNOWLEDGED, 1)]


def acknowledge(system):
    request = BulkRequest(BulkVerb.ACKNOWLEDGE, (Range("Hours", BAD, BAD),))
    system.bulk.act(request, OPERATOR, system.clock.now())


# Late, and why


def test_while_it_begins_and_while_it_catches_up_nothing_is_late(system):
    system.schedule()
    assert [note.kind for note in look(system).notes] == [Remark.CATCHING_UP]
    system.advance(400)
    for _ in range(3):
        system.round("Hours", done)
        system.schedule()
    found = look(system)
    assert found.is_well, found.text
    (note,) = found.notes
    assert (note.kind, note.text) == (
        Remark.CATCHING_UP,
        f"catching up: {note.count} periods to go",
    )


def test_what_is_late_is_told_with_the_cause(system):
    system.schedule()
    units = system.store.units.unfinished()
    system.store.units.claim(list(map(_hint, units)), "somebody", system.clock.now())
    system.clock.advance(400)
    (finding,) = look(system).findings
    assert (finding.kind, finding.first.process, finding.count) == (Trouble.LATE, "Hours", 11)
    assert "runs somebody since 2015-05-17 12:00:00" in finding.text
    # midnight's hour closed at 01:05, and is late an hour after that
    assert finding.since == datetime(2015, 5, 17, 2, 5, tzinfo=UTC)
    assert commands(finding) == [f"launch.py unit log {units[0].id}"]


def _hint(unit):
    return Hint(unit.id, unit.attempt)


def test_of_days_that_wait_only_their_hours_are_told(system):
    system.schedule()
    system.clock.advance(30 * 3600)
    system.schedule()
    found = look(system)
    assert [one.first.process for one in found.findings] == ["Hours"]
    assert found.findings[0].kind is Trouble.NOT_SERVED
    assert found.findings[0].waiting == 40 + 1  # the hours, and the day behind them


def test_units_that_nobody_takes_are_told_after_a_minute(system):
    settle(system)
    system.clock.advance(
        (datetime(2015, 5, 17, 13, 5, 30, tzinfo=UTC) - system.clock.now()).seconds
    )
    system.schedule()
    assert system.store.units.unfinished()
    assert look(system).is_well
    system.advance(61)
    found = look(system)
    assert kinds(found) == [("not_served", "Hours", 1)]
    assert "nobody takes 1 unit of Hours: nobody serves it" in found.findings[0].text


def test_units_that_wait_while_workers_have_others_are_served_for_an_hour(system):
    settle(system)
    system.clock.advance(2 * 3600)
    system.schedule()
    first, *_ = system.store.units.unfinished()
    system.store.boxes.assign("b", ["Hours"])
    report(system, "running")
    system.store.units.claim([_hint(first)], "w1", system.clock.now())
    now = system.clock.now()
    reads = Reads(system.store, system.bus, system.deployment, system.clock)
    audit(system)
    assert Trouble.NOT_SERVED not in {one.kind for one in reads.verdict().findings}
    system.clock.advance(3601)
    report(system, "running")
    found = {one.kind: one for one in reads.verdict().findings}
    assert first.id in found[Trouble.NOT_SERVED].text
    assert found[Trouble.NOT_SERVED].since <= now


def test_a_process_that_is_switched_off_with_work_waiting_is_not_well(system):
    settle(system)
    system.process_commands.switch("Hours", False, OPERATOR, system.clock.now())
    assert look(system).is_well
    system.clock.advance(2 * 3600)
    system.schedule()
    found = look(system)
    assert kinds(found) == [("switched_off", "Hours", 2)]
    assert "2 periods wait for it" in found.findings[0].text
    assert commands(found.findings[0]) == ["launch.py process on Hours"]


def test_without_a_scheduler_that_is_what_is_told(system):
    settle(system)
    for lease in system.store.leases.all("scheduler/"):
        system.store.leases.release(lease)
    system.clock.advance(5 * 3600)
    found = look(system)
    assert [one.kind.value for one in found.findings] == ["no_scheduler", "no_collector"]
    assert found.findings[0].waiting > 0


# Boxes


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
        replace(hours, processes={**hours.processes, "Taker": taker}),
        start="2015051700", now=NOON,
    )  # fmt: skip
    settle(system)
    system.store.boxes.assign("b", ["Taker"])
    report(system, "stopped")
    with system.store.batch() as batch:
        system.bus.publish("Taker", [EventsMessage([{}])], batch)
    system.store.boxes.switch("b", "Taker", False, "a test", system.clock.now(), "")
    found = look(system)
    assert kinds(found) == [("switched_off", "Taker", 1)]
    assert "on all boxes that have it, and 1 message waits" in found.findings[0].text


def report(system, *states, **fields):
    now = system.clock.now()
    values = {"since": now, **fields}
    seen = [ObservedProcess("b", "Hours", n, s, **values) for n, s in enumerate(states, 1)]
    system.store.boxes.report("b", seen, now)


def test_what_should_run_on_a_box_and_does_not_is_told(system):
    settle(system)
    system.store.boxes.assign("b", ["Hours"])
    report(system, "running")
    assert look(system).is_well
    report(system, "backoff", restarts=3)
    found = look(system)
    assert kinds(found) == [("backing_off", "Hours", 1)]
    assert "3 restarts" in found.findings[0].text
    report(system, "starting", restarts=4)  # it may die again, and has not run since
    assert kinds(look(system)) == [("backing_off", "Hours", 1)]
    report(system, "running", restarts=4)
    assert look(system).is_well
    report(system)
    assert kinds(look(system)) == [("process_down", "Hours", 1)]
    report(system, "starting")
    assert look(system).is_well
    report(system, "starting", since=system.clock.now() - timedelta(minutes=2))
    assert kinds(look(system)) == [("process_down", "Hours", 1)]
    system.store.boxes.switch("b", "Hours", False, "me", system.clock.now())
    assert look(system).is_well


def test_a_box_that_is_silent_is_told_and_not_what_runs_there(system):
    settle(system)
    system.store.boxes.assign("b", ["Hours"])
    report(system, "running")
    system.advance(60)
    (finding,) = look(system).findings
    assert (finding.kind, finding.first.box) == (Trouble.BOX_SILENT, "b")
    assert commands(finding)[-1] == "launch.py supervisor start"
    system.store.boxes.switch("b", "Hours", False, "me", system.clock.now())
    assert look(system).is_well  # nobody expects anything of it


# What came to nothing


def test_messages_in_quarantine_are_told(system):
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


def test_a_run_of_a_worker_that_failed_is_told_until_a_later_one_succeeds(scheduled):
    request = {"process": "Report"}
    bad = ended(scheduled, "report", RunState.FAILED, "due:1", request=request, reason="exit 3")
    (finding,) = look(scheduled).findings
    assert (finding.kind, finding.first.run) == (Trouble.FAILED_RUNS, bad.id)
    assert "exit 3" in finding.text
    assert commands(finding)[0] == f"launch.py schedule retry {bad.id}"
    ended(scheduled, "report", RunState.PROCESSED, "due:2", minutes=1, request=request)
    assert look(scheduled).is_well


def test_a_delivery_that_failed_is_told_until_somebody_sends_it_again(scheduled):
    request = {"target": "https://receiver.example/hook"}
    ended(scheduled, "hook", RunState.FAILED, "due:1", request=request)
    ended(scheduled, "hook", RunState.FAILED, "due:2", minutes=1, request=request)
    ended(scheduled, "hook", RunState.PROCESSED, "due:3", minutes=2, request=request)
    (finding,) = look(scheduled).findings
    assert (finding.kind, finding.count) == (Trouble.FAILED_RUNS, 2)
    assert commands(finding)[0] == "launch.py schedule retry --all --schedule hook"


def test_runs_of_schedules_that_were_removed_are_left(scheduled):
    ended(scheduled, "gone", RunState.FAILED, "due:1", request={"target": "https://x.example"})
    assert look(scheduled).is_well


# The collector, and the audit


def test_units_that_the_collector_should_have_handed_out_are_stuck(system):
    settle(system)
    system.advance(3600)
    system.new_workers()
    system.round("Hours", fails_at("2015051712", "2015051713", "2015051714"))
    assert [unit.state for unit in system.store.units.unfinished()] == [UnitState.INVALID]
    found = look(system)
    assert found.is_well
    assert [note.kind for note in found.notes] == [Remark.RETRYING]
    system.clock.advance(400)  # and nobody collects
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
    system.clock.advance(181)  # and nobody publishes it
    report(system, "running")
    assert kinds(look(system)) == [("stuck", "Hours", 1)]


def test_whoever_audits_tells_all_the_others(system):
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


def test_data_that_came_late_is_a_note_until_it_should_have_been_taken_in():
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


def test_what_is_kept_of_an_audit_may_be_nonsense(system):
    for nonsense in ("", "x", "{}", "[]", '{"at": 3}'):
        system.store.facts.set(LAST_AUDIT, nonsense)
        assert last_audit.last_audit(system.store) is None


def test_skipped_periods_with_changes_since_are_a_note(system):
    settle(system)
    system.skip("Hours", ("2015051712", "2015051712"), OPERATOR, system.clock.now())
    hour = HOURLY.parse("2015051712")
    system.store.jobs.move(
        [
            JobMove(
                "Hours", HOURLY, hour, hour, JobState.SKIPPED, JobState.SKIPPED, 1,
                "its source changed", "a test", stale=True,
            )
        ],
        system.clock.now(),
    )  # fmt: skip
    found = look(system)
    assert found.is_well
    assert [(note.kind, note.count) for note in found.notes] == [(Remark.UNSEEN, 1)]
