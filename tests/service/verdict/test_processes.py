"""The verdict on periods: failed, given up, late, and why."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from synergy.commands.bulk import BulkRequest, BulkVerb, Range
from synergy.model.job import JobState
from synergy.model.process import OnFailure
from synergy.queries.health.findings import Trouble
from synergy.queries.health.verdict import Remark
from synergy.queries.reads import Reads
from tests.service.audits import audit
from tests.service.scheduler_harness import OPERATOR
from tests.service.verdict.kit import (
    BAD,
    NOON,
    _hint,
    a_system,
    commands,
    done,
    fails_at,
    kinds,
    look,
    report,
    settle,
)


def test_before_the_first_start_there_is_no_verdict(system):
    found = Reads(system.store, system.bus, system.deployment, system.clock).verdict()
    assert found.is_well is None
    assert "launch.py supervisor start" in found.text


def test_once_all_is_done_all_is_well(system):
    settle(system)
    found = look(system)
    assert (found.is_well, found.text, found.findings, found.notes) == (True, "well", (), ())


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
    assert finding.waiting == 1  # the day; that it is late is not reported as well
    assert "no such host" in finding.text
    assert NOON <= finding.since <= NOON + timedelta(minutes=30)
    assert f"launch.py timetable retry Hours {BAD}" in commands(finding)


def test_several_that_failed_are_tried_again_by_one_command(system):
    settle(system, fails_at("2015051703", BAD))
    (finding,) = look(system).findings
    assert (finding.count, finding.first.timeperiod) == (2, "2015051703")
    assert "launch.py timetable retry Hours 2015051703..2015051706" in commands(finding)
    assert finding.helps[0].body == {"process": "Hours", "from": "2015051703", "to": "2015051706"}


def test_given_up_periods_are_findings_until_they_are_acknowledged():
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


def test_a_deployment_that_starts_or_catches_up_is_not_late(system):
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


def test_late_periods_are_findings_with_the_cause(system):
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


def test_only_the_hours_of_waiting_days_are_findings(system):
    system.schedule()
    system.clock.advance(30 * 3600)
    system.schedule()
    found = look(system)
    assert [one.first.process for one in found.findings] == ["Hours"]
    assert found.findings[0].kind is Trouble.NOT_SERVED
    assert found.findings[0].waiting == 40 + 1  # the hours, and the day behind them


def test_unclaimed_units_are_a_finding_after_a_minute(system):
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
    assert "no worker takes 1 unit of Hours: it has no worker" in found.findings[0].text


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


def test_a_missing_scheduler_is_the_finding(system):
    settle(system)
    for lease in system.store.leases.all("scheduler/"):
        system.store.leases.release(lease)
    system.clock.advance(5 * 3600)
    found = look(system)
    assert [one.kind.value for one in found.findings] == ["no_scheduler", "no_collector"]
    assert found.findings[0].waiting > 0
