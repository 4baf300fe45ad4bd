"""The verdict is "not well" with any finding; findings list causes first and have remedies."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from synergy.model.job import JobState
from synergy.queries.health.findings import Trouble
from synergy.queries.health.situation import (
    Down,
    FailedRuns,
    Held,
    Paused,
    Periods,
    ProcessPeriods,
    Quarantine,
    SilentBox,
    Situation,
    Stuck,
    SwitchedOff,
)
from synergy.queries.health.staffing import Unserved
from synergy.queries.health.verdict import Remark, verdict
from synergy.queries.timetable import remedies
from synergy.queries.timetable.audit import Unexplained
from synergy.queries.timetable.last_audit import EVERY, RECENT, LastAudit
from synergy.storage.malformed import MalformedRow

NOW = datetime(2015, 5, 20, 12, 0, tzinfo=UTC)
SINCE = NOW - timedelta(hours=2)
CLEAN = LastAudit(NOW - timedelta(minutes=1), 0.1, 100, 0, None)
WELL = Situation(audit=CLEAN)
MISSING = Unexplained("Hours", "2015051705", "embryo", "nothing holds it back")


def periods(count=3, first="2015051705"):
    return Periods(count, first, first, SINCE, "no such host")


def hours(**fields):
    return ProcessPeriods("Hours", "site", **fields)


def days(**fields):
    return ProcessPeriods("Days", "site", **fields)


def held(root="Hours", state=JobState.FAILED, count=2, late=1):
    return Held(count, late, "2015051700", root, "2015051705", state)


def facts_of(*processes, **fields):
    return replace(WELL, processes=processes, **fields)


DOWN = Down("Hours", "north", 1, 1, SINCE)
UNSERVED = Unserved("Hours", 4, SINCE, (), "no box has it", (remedies.start("Hours", None),))
OLD = replace(CLEAN, at=NOW - timedelta(seconds=RECENT * EVERY + 1))
KINDS = [
    ("box_silent", 1, replace(WELL, silent=(SilentBox("north", SINCE),)), "box north"),
    ("no_scheduler", 2, replace(WELL, unled=("site", "client")), "tree site, tree client"),
    ("no_collector", 1, replace(WELL, is_collected=False), "collector"),
    ("no_agent", 1, replace(WELL, is_decided=False), "schedules"),
    ("process_down", 1, replace(WELL, down=(DOWN,)), "Hours should run on box north"),
    ("backing_off", 1, replace(WELL, down=(replace(DOWN, is_backing_off=True),)), "died"),
    ("switched_off", 5, replace(WELL, off=(SwitchedOff("Hours", 5, "period"),)), "5 periods wait"),
    ("not_served", 4, replace(WELL, unserved=(UNSERVED,)), "no worker takes 4 units"),
    ("stuck", 2, replace(WELL, stuck=(Stuck("Hours", 2, SINCE, "u1", "lost"),)), "2 units"),
    ("failed", 3, facts_of(hours(failed=periods())),
     "3 periods of Hours failed: the first is 2015051705"),
    ("given_up", 3, facts_of(hours(given_up=periods())), "3 periods of Hours were given up"),
    ("late", 3, facts_of(hours(late=periods())), "3 periods of Hours are late"),
    ("failed_runs", 2,
     replace(WELL, runs=(FailedRuns("hook", "https://x", 2, "r1", SINCE, "503"),)), "hook failed"),
    ("paused", 1, replace(WELL, paused=(Paused("hook", SINCE, "paused after a run failed"),)),
     "schedule hook is paused after a run failed"),
    ("quarantine", 7, replace(WELL, quarantine=Quarantine(7, SINCE, "q", "no JSON")), "no JSON"),
    ("malformed", 2, replace(WELL, malformed=(MalformedRow("units", ("u1",), "state: 9"),
     MalformedRow("units", ("u2",), "state: 9"))), "2 rows of units are malformed"),
    ("unexplained", 1, replace(WELL, audit=replace(CLEAN, unexplained=1, first=MISSING)),
     "nothing holds it back"),
    ("audit_old", 1, replace(WELL, audit=None), "no audit was made"),
    ("audit_old", 1, replace(WELL, audit=OLD), "too old"),
]  # fmt: skip


def test_without_findings_all_is_well():
    found = verdict(WELL, NOW)
    assert (found.is_well, found.text, found.findings, found.notes) == (True, "well", (), ())
    assert set(found.counts().values()) == {0}


@pytest.mark.parametrize(
    ("kind", "count", "facts", "words"), KINDS, ids=[f"{k}-{n}" for n, (k, *_) in enumerate(KINDS)]
)
def test_each_finding_alone_makes_the_verdict_not_well(kind, count, facts, words):
    found = verdict(facts, NOW)
    assert found.is_well is False
    (finding,) = found.findings
    assert (finding.kind.value, finding.count) == (kind, count)
    assert words in finding.text
    assert found.text == f"not well: {finding.kind.counted(count)}"
    assert found.counts()[finding.kind] == count


def test_every_kind_of_finding_is_tested():
    assert {kind for kind, *_ in KINDS} == {trouble.value for trouble in Trouble}


@pytest.mark.parametrize(
    "facts", [facts for kind, _, facts, _ in KINDS if kind not in ("failed", "given_up", "late")]
)
def test_findings_come_with_remedies(facts):
    (finding,) = verdict(facts, NOW).findings
    assert all(help_.command.startswith("launch.py ") for help_ in finding.helps)
    assert finding.helps


def test_a_finding_names_its_first_period_and_its_path_in_the_api():
    (finding,) = verdict(facts_of(hours(failed=periods())), NOW).findings
    assert (finding.first.process, finding.first.timeperiod) == ("Hours", "2015051705")
    assert finding.first.path == "/api/v1/jobs/Hours/2015051705"
    assert finding.since == SINCE


# Causes and consequences


def test_a_day_that_waits_for_a_failed_hour_is_counted_with_the_hour():
    (finding,) = verdict(facts_of(days(held=held()), hours(failed=periods(1))), NOW).findings
    assert (finding.kind, finding.count, finding.waiting) == (Trouble.FAILED, 1, 2)


def test_a_day_that_is_late_on_its_own_is_a_finding_beside_the_failed_hour():
    found = verdict(facts_of(days(held=held(), late=periods(1)), hours(failed=periods(1))), NOW)
    assert [(one.kind, one.count) for one in found.findings] == [
        (Trouble.FAILED, 1),
        (Trouble.LATE, 1),
    ]


def test_days_that_wait_for_late_hours_are_counted_with_the_hours():
    processes = days(held=held(state=JobState.EMBRYO)), hours(late=periods())
    (finding,) = verdict(facts_of(*processes), NOW).findings
    assert (finding.kind, finding.first.process, finding.waiting) == (Trouble.LATE, "Hours", 2)


@pytest.mark.parametrize("state", [JobState.EMBRYO, None])
def test_late_periods_are_a_finding_if_what_they_wait_for_is_not(state):
    (finding,) = verdict(facts_of(days(held=held(state=state, late=2)), hours()), NOW).findings
    assert (finding.kind, finding.first.process, finding.count) == (Trouble.LATE, "Days", 2)
    assert "waits for Hours 2015051705" in finding.text


def test_waiting_periods_that_are_not_late_are_no_finding():
    assert verdict(facts_of(days(held=held(state=JobState.EMBRYO, late=0)), hours()), NOW).is_well


@pytest.mark.parametrize(
    ("fields", "kind", "waiting"),
    [
        ({"unled": ("site",)}, Trouble.NO_SCHEDULER, 3),
        ({"off": (SwitchedOff("Hours", 3, "period"),)}, Trouble.SWITCHED_OFF, 0),
        ({"down": (DOWN,)}, Trouble.PROCESS_DOWN, 3),
        ({"down": (replace(DOWN, is_backing_off=True),)}, Trouble.BACKING_OFF, 3),
        ({"unserved": (UNSERVED,)}, Trouble.NOT_SERVED, 3),
        ({"stuck": (Stuck("Hours", 2, SINCE, "u1", "lost"),)}, Trouble.STUCK, 3),
    ],
)
def test_late_periods_whose_cause_is_reported_are_no_finding_of_their_own(fields, kind, waiting):
    (finding,) = verdict(facts_of(hours(late=periods()), **fields), NOW).findings
    assert (finding.kind, finding.waiting) == (kind, waiting)


def test_late_periods_are_reported_beside_an_instance_that_is_down():
    found = verdict(facts_of(hours(late=periods()), down=(replace(DOWN, is_nowhere=False),)), NOW)
    assert [one.kind for one in found.findings] == [Trouble.PROCESS_DOWN, Trouble.LATE]


def test_missing_leaders_and_late_periods_are_consequences_of_silent_boxes():
    facts = facts_of(
        hours(late=periods()), silent=(SilentBox("north", SINCE),), is_silent_everywhere=True,
        unled=("site",), is_collected=False, is_decided=False,
    )  # fmt: skip
    (finding,) = verdict(facts, NOW).findings
    assert (finding.kind, finding.waiting) == (Trouble.BOX_SILENT, 3)


def test_findings_that_cause_others_are_listed_first():
    facts = facts_of(
        hours(failed=periods(1), late=periods(2)), quarantine=Quarantine(1, SINCE, "q", "?"),
        silent=(SilentBox("north", SINCE),), audit=None,
    )  # fmt: skip
    kinds = [finding.kind for finding in verdict(facts, NOW).findings]
    assert kinds == sorted(kinds, key=list(Trouble).index)
    assert verdict(facts, NOW).text == (
        "not well: 1 box is silent; 1 period failed; 2 periods are late; 1 message is in "
        "quarantine; 1 audit is missing"
    )


# Notes


def noted(facts):
    found = verdict(facts, NOW)
    assert found.is_well
    return [(note.kind, note.count) for note in found.notes]


def test_a_catch_up_is_reported_as_a_note():
    catching = hours(late=periods(100), catches_up=True)
    assert noted(facts_of(catching)) == [(Remark.CATCHING_UP, 100)]
    waiting = days(held=held(state=JobState.EMBRYO, late=4))
    assert noted(facts_of(waiting, catching)) == [(Remark.CATCHING_UP, 104)]


def test_failures_during_a_catch_up_are_reported():
    facts = facts_of(hours(late=periods(), failed=periods(1), catches_up=True))
    assert not verdict(facts, NOW).is_well


def test_a_new_deployment_is_catching_up_and_not_late():
    facts = facts_of(hours(late=periods(100)), is_new=True, audit=None)
    assert noted(facts) == [(Remark.CATCHING_UP, 100)]


def test_decisions_of_operators_are_reported_as_notes():
    facts = facts_of(hours(unseen=1, acknowledged=2))
    assert noted(facts) == [(Remark.UNSEEN, 1), (Remark.ACKNOWLEDGED, 2)]


def test_units_that_are_retried_are_reported_as_a_note():
    assert noted(replace(WELL, retrying=2)) == [(Remark.RETRYING, 2)]


def test_late_data_is_a_finding_if_it_is_not_reprocessed_within_minutes():
    late = replace(CLEAN, late=2, late_since={"Hours 1": CLEAN.at}, first=MISSING)
    assert noted(replace(WELL, audit=late)) == [(Remark.LATE_DATA, 2)]
    late = replace(late, late_since={"Hours 1": CLEAN.at - timedelta(minutes=7)})
    (finding,) = verdict(replace(WELL, audit=late), NOW).findings
    assert (finding.kind, finding.count) == (Trouble.UNEXPLAINED, 2)


def test_a_running_audit_is_not_reported_as_missing():
    assert noted(replace(WELL, audit=None, is_auditing=True)) == [(Remark.AUDITING, 1)]


# Unknown, and audits


def test_without_a_timetable_the_verdict_is_unknown():
    found = verdict(replace(WELL, has_timetable=False, audit=None), NOW)
    assert found.is_well is None
    assert found.text.startswith("cannot tell: the timetable has no first hour yet")


def test_a_deployment_of_schedules_alone_needs_no_timetable_and_no_audit():
    assert verdict(replace(WELL, has_timetable=None, audit=None), NOW).is_well


def test_the_next_audit_is_due_soon_after_one_with_unexplained_periods():
    late = CLEAN.at + timedelta(seconds=31)
    assert not CLEAN.is_due(late)
    assert replace(CLEAN, unexplained=1).is_due(late)
    assert not replace(CLEAN, unexplained=1, took=10.0).is_due(late)
    assert CLEAN.is_due(CLEAN.at + timedelta(seconds=EVERY + 1))
