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
from tests.service.scheduler_harness import OPERATOR, SchedulerHarness, close_worlds

NOON = datetime(2015, 5, 17, 12, 0, tzinfo=UTC)
BAD = "2015051705"


def a_world(now=NOON, hour=None, **fields):
    """Hours under days, both of which do what they are told, from midnight of 17 May 2015 on."""
    processes = [
        a_process("Days", DAILY, blocking=Blocking.CHILDREN),
        a_process("Hours", HOURLY, max_attempts=3, retry_backoff=1.0, **(hour or {})),
    ]
    return SchedulerHarness(
        a_deployment({"site": processes}), start="2015051700", now=now, **fields
    )


@pytest.fixture
def world():
    yield a_world()
    close_worlds()


def done(_task):
    return Processed({"rows": 1})


def fails_at(*periods):
    def work(task):
        if task.timeperiod in periods:
            raise OSError("no such host")
        return Processed({"rows": 1})

    return work


def settle(world, work=done):
    """Until nothing is left to do, with all tries of what fails."""
    for name in world.deployment.managed():
        world.crew(name, work)
    world.settle()
    for _ in range(1 if work is done else 5):
        world.advance(61)
        world.settle()
    world.clock.advance(300)  # so that the deployment is not new any more
    world.settle()


def look(world, **options):
    reads = Reads(world.store, world.bus, world.deployment, world.clock)
    audit(world)
    return reads.verdict(**options)


def kinds(found):
    return [(one.kind.value, one.first.process, one.count) for one in found.findings]


def commands(finding):
    return [help_.command for help_ in finding.helps]


def test_before_the_first_start_nothing_can_be_told(world):
    found = Reads(world.store, world.bus, world.deployment, world.clock).verdict()
    assert found.is_well is None
    assert "launch.py supervisor start" in found.text


def test_once_all_is_done_all_is_well(world):
    settle(world)
    found = look(world)
    assert (found.is_well, found.text, found.findings, found.notes) == (True, "well", (), ())


# The case of the 461 rows


def test_a_day_without_one_of_its_hours_is_not_well(world):
    settle(world, fails_at(BAD))
    assert world.state("Hours", BAD) is JobState.FAILED
    world.clock.advance(14 * 3600)
    world.settle()
    assert not world.state("Days", "2015051700").is_finished
    found = look(world)
    assert found.is_well is False
    assert found.text == "not well: 1 period failed"
    (finding,) = found.findings
    assert (finding.kind, finding.first.timeperiod) == (Trouble.FAILED, BAD)
    assert finding.waiting == 1  # the day, and nothing is said of that it is late
    assert "no such host" in finding.text
    assert NOON <= finding.since <= NOON + timedelta(minutes=30)
    assert f"launch.py timetable retry Hours {BAD}" in commands(finding)


def test_several_that_failed_are_tried_again_by_one_command(world):
    settle(world, fails_at("2015051703", BAD))
    (finding,) = look(world).findings
    assert (finding.count, finding.first.timeperiod) == (2, "2015051703")
    assert "launch.py timetable retry Hours 2015051703..2015051706" in commands(finding)
    assert finding.helps[0].body == {
        "process": "Hours", "from": "2015051703", "to": "2015051706",
    }  # fmt: skip


def test_what_was_given_up_is_not_well_until_a_person_acknowledges_it():
    world = a_world(hour={"on_failure": OnFailure.SKIP})
    settle(world, fails_at(BAD))
    found = look(world)
    assert kinds(found) == [("given_up", "Hours", 1)]
    assert commands(found.findings[0])[0].startswith("launch.py timetable acknowledge Hours")
    acknowledge(world)
    found = look(world)
    assert found.is_well
    assert [(note.kind, note.count) for note in found.notes] == [(Remark.ACKNOWLEDGED, 1)]
    close_worlds()


def acknowledge(world):
    request = BulkRequest(BulkVerb.ACKNOWLEDGE, (Range("Hours", BAD, BAD),))
    world.bulk.act(request, OPERATOR, world.clock.now())


# Late, and why


def test_while_it_begins_and_while_it_catches_up_nothing_is_late(world):
    world.schedule()
    assert [note.kind for note in look(world).notes] == [Remark.CATCHING_UP]
    world.advance(400)
    for _ in range(3):
        world.round("Hours", done)
        world.schedule()
    found = look(world)
    assert found.is_well, found.text
    (note,) = found.notes
    assert (note.kind, note.text) == (
        Remark.CATCHING_UP,
        f"catching up: {note.count} periods to go",
    )


def test_what_is_late_is_told_with_the_cause(world):
    world.schedule()
    units = world.store.units.unfinished()
    world.store.units.claim(list(map(_hint, units)), "somebody", world.clock.now())
    world.clock.advance(400)
    (finding,) = look(world).findings
    assert (finding.kind, finding.first.process, finding.count) == (Trouble.LATE, "Hours", 11)
    assert "runs somebody since 2015-05-17 12:00:00" in finding.text
    # midnight's hour closed at 01:05, and is late an hour after that
    assert finding.since == datetime(2015, 5, 17, 2, 5, tzinfo=UTC)
    assert commands(finding) == [f"launch.py unit log {units[0].id}"]


def _hint(unit):
    return Hint(unit.id, unit.attempt)


def test_of_days_that_wait_only_their_hours_are_told(world):
    world.schedule()
    world.clock.advance(30 * 3600)
    world.schedule()
    found = look(world)
    assert [one.first.process for one in found.findings] == ["Hours"]
    assert found.findings[0].kind is Trouble.NOT_SERVED
    assert found.findings[0].waiting == 40 + 1  # the hours, and the day behind them


def test_units_that_nobody_takes_are_told_after_a_minute(world):
    settle(world)
    world.clock.advance((datetime(2015, 5, 17, 13, 5, 30, tzinfo=UTC) - world.clock.now()).seconds)
    world.schedule()
    assert world.store.units.unfinished()
    assert look(world).is_well
    world.advance(61)
    found = look(world)
    assert kinds(found) == [("not_served", "Hours", 1)]
    assert "nobody takes 1 unit of Hours: nobody serves it" in found.findings[0].text


def test_units_that_wait_while_workers_have_others_are_served_for_an_hour(world):
    settle(world)
    world.clock.advance(2 * 3600)
    world.schedule()
    first, *_ = world.store.units.unfinished()
    world.store.boxes.assign("b", ["Hours"])
    report(world, "running")
    world.store.units.claim([_hint(first)], "w1", world.clock.now())
    now = world.clock.now()
    reads = Reads(world.store, world.bus, world.deployment, world.clock)
    audit(world)
    assert Trouble.NOT_SERVED not in {one.kind for one in reads.verdict().findings}
    world.clock.advance(3601)
    report(world, "running")
    found = {one.kind: one for one in reads.verdict().findings}
    assert first.id in found[Trouble.NOT_SERVED].text
    assert found[Trouble.NOT_SERVED].since <= now


def test_a_process_that_is_switched_off_with_work_waiting_is_not_well(world):
    settle(world)
    world.process_commands.switch("Hours", False, OPERATOR, world.clock.now())
    assert look(world).is_well
    world.clock.advance(2 * 3600)
    world.schedule()
    found = look(world)
    assert kinds(found) == [("switched_off", "Hours", 2)]
    assert "2 periods wait for it" in found.findings[0].text
    assert commands(found.findings[0]) == ["launch.py process on Hours"]


def test_without_a_scheduler_that_is_what_is_told(world):
    settle(world)
    for lease in world.store.leases.all("scheduler/"):
        world.store.leases.release(lease)
    world.clock.advance(5 * 3600)
    found = look(world)
    assert [one.kind.value for one in found.findings] == ["no_scheduler", "no_collector"]
    assert found.findings[0].waiting > 0


# Boxes


def test_a_process_that_is_switched_off_on_all_its_boxes_with_work_waiting_is_not_well(world):
    settle(world)
    world.store.boxes.assign("b", ["Hours"])
    report(world, "running")
    world.store.boxes.switch("b", "Hours", False, "a test", world.clock.now(), "")
    world.advance(3700)
    report(world, "stopped")
    found = look(world)
    assert kinds(found)[0][:2] == ("switched_off", "Hours")
    assert "on all boxes that have it" in found.findings[0].text
    assert commands(found.findings[0])[0].startswith("launch.py process start Hours")


def test_a_daemon_that_is_switched_off_on_its_box_with_messages_waiting_is_not_well():
    taker = DaemonProcess(
        name="Taker", classname="a.b.C.start", token="Taker", present_on_boxes=(".*",)
    )
    hours = a_deployment({"site": [a_process("Hours", HOURLY)]})
    world = SchedulerHarness(
        replace(hours, processes={**hours.processes, "Taker": taker}),
        start="2015051700", now=NOON,
    )  # fmt: skip
    settle(world)
    world.store.boxes.assign("b", ["Taker"])
    report(world, "stopped")
    with world.store.batch() as batch:
        world.bus.publish("Taker", [EventsMessage([{}])], batch)
    world.store.boxes.switch("b", "Taker", False, "a test", world.clock.now(), "")
    found = look(world)
    assert kinds(found) == [("switched_off", "Taker", 1)]
    assert "on all boxes that have it, and 1 message waits" in found.findings[0].text


def report(world, *states, **fields):
    now = world.clock.now()
    values = {"since": now, **fields}
    seen = [ObservedProcess("b", "Hours", n, s, **values) for n, s in enumerate(states, 1)]
    world.store.boxes.report("b", seen, now)


def test_what_should_run_on_a_box_and_does_not_is_told(world):
    settle(world)
    world.store.boxes.assign("b", ["Hours"])
    report(world, "running")
    assert look(world).is_well
    report(world, "backoff", restarts=3)
    found = look(world)
    assert kinds(found) == [("backing_off", "Hours", 1)]
    assert "3 restarts" in found.findings[0].text
    report(world, "starting", restarts=4)  # it may die again, and has not run since
    assert kinds(look(world)) == [("backing_off", "Hours", 1)]
    report(world, "running", restarts=4)
    assert look(world).is_well
    report(world)
    assert kinds(look(world)) == [("process_down", "Hours", 1)]
    report(world, "starting")
    assert look(world).is_well
    report(world, "starting", since=world.clock.now() - timedelta(minutes=2))
    assert kinds(look(world)) == [("process_down", "Hours", 1)]
    world.store.boxes.switch("b", "Hours", False, "me", world.clock.now())
    assert look(world).is_well


def test_a_box_that_is_silent_is_told_and_not_what_runs_there(world):
    settle(world)
    world.store.boxes.assign("b", ["Hours"])
    report(world, "running")
    world.advance(60)
    (finding,) = look(world).findings
    assert (finding.kind, finding.first.box) == (Trouble.BOX_SILENT, "b")
    assert commands(finding)[-1] == "launch.py supervisor start"
    world.store.boxes.switch("b", "Hours", False, "me", world.clock.now())
    assert look(world).is_well  # nobody expects anything of it


# What came to nothing


def test_messages_in_quarantine_are_told(world):
    settle(world)
    since = world.clock.now()
    world.store.messages.bury("Hours", b"?", "it is no JSON", since)
    world.advance(10)
    world.store.messages.bury("Hours", b"!", "odd", world.clock.now())
    (finding,) = look(world).findings
    assert (finding.kind, finding.count, finding.since) == (Trouble.QUARANTINE, 2, since)
    assert "it is no JSON" in finding.text
    assert commands(finding) == ["launch.py queue dead", "launch.py queue replay"]


@pytest.fixture
def scheduled(world):
    """A world with a free-run process, and the schedules `report` and `hook`."""
    free = {"Report": a_free_process()}
    world.deployment = replace(world.deployment, processes={**world.deployment.processes, **free})
    settle(world)
    world.store.schedules.create([a_schedule(name="report"), a_schedule(name="hook")], "me")
    return world


def ended(world, schedule, state, key, minutes=0, **fields):
    at = world.clock.now() + timedelta(minutes=minutes)
    run = a_run(schedule=schedule, key=key, state=state, launched_at=at, finished_at=at, **fields)
    world.store.runs.create([run], "a test")
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


def test_units_that_the_collector_should_have_handed_out_are_stuck(world):
    settle(world)
    world.advance(3600)
    world.forget_crews()
    world.round("Hours", fails_at("2015051712", "2015051713", "2015051714"))
    assert [unit.state for unit in world.store.units.unfinished()] == [UnitState.INVALID]
    found = look(world)
    assert found.is_well
    assert [note.kind for note in found.notes] == [Remark.RETRYING]
    world.clock.advance(400)  # and nobody collects
    assert ("stuck", "Hours", 1) in kinds(look(world))


def test_a_unit_that_a_worker_has_just_given_back_is_not_stuck(world):
    settle(world)
    world.advance(3600)
    (unit,) = world.store.units.unfinished()
    now = world.clock.now()
    (taken,) = world.store.units.claim([_hint(unit)], "w1", now)
    world.clock.advance(1000)
    world.store.boxes.assign("b", ["Hours"])
    report(world, "running")
    world.store.units.give_back([_hint(taken)], "w1", world.clock.now())
    assert look(world).is_well
    world.clock.advance(181)  # and nobody publishes it
    report(world, "running")
    assert kinds(look(world)) == [("stuck", "Hours", 1)]


def test_whoever_audits_tells_all_the_others(world):
    settle(world)
    reads = Reads(world.store, world.bus, world.deployment, world.clock)
    assert kinds(reads.verdict()) == [("audit_old", "", 1)]
    assert reads.is_audit_due()
    audit(world)
    assert reads.verdict().is_well
    assert not reads.is_audit_due()
    world.clock.advance(last_audit.EVERY + 1)
    assert reads.is_audit_due()
    world.clock.advance(last_audit.EVERY * last_audit.RECENT)
    assert "audit_old" in {kind for kind, _, _ in kinds(reads.verdict())}
    assert "audit_old" not in {kind for kind, _, _ in kinds(reads.verdict(is_auditing=True))}


def test_data_that_came_late_is_a_note_until_it_should_have_been_taken_in():
    world = a_world(hour={"source": "raw"})
    world.write("raw", BAD, 1)
    settle(world)
    world.write("raw", BAD, 2)
    found = look(world)
    assert [(note.kind, note.count) for note in found.notes] == [(Remark.LATE_DATA, 1)]
    assert found.is_well
    world.clock.advance(361)
    assert kinds(look(world)) == [("unexplained", "Hours", 1)]
    settle(world)
    assert look(world).is_well
    close_worlds()


def test_what_is_kept_of_an_audit_may_be_nonsense(world):
    for nonsense in ("", "x", "{}", "[]", '{"at": 3}'):
        world.store.facts.set(LAST_AUDIT, nonsense)
        assert last_audit.last_audit(world.store) is None


def test_skipped_periods_with_changes_since_are_a_note(world):
    settle(world)
    world.skip("Hours", ("2015051712", "2015051712"), OPERATOR, world.clock.now())
    hour = HOURLY.parse("2015051712")
    world.store.jobs.move(
        [
            JobMove(
                "Hours", HOURLY, hour, hour, JobState.SKIPPED, JobState.SKIPPED, 1,
                "its source changed", "a test", stale=True,
            )
        ],
        world.clock.now(),
    )  # fmt: skip
    found = look(world)
    assert found.is_well
    assert [(note.kind, note.count) for note in found.notes] == [(Remark.UNSEEN, 1)]
