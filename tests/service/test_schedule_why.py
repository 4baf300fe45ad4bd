"""What a schedule waits for, or why events started nothing."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from synergy.errors import NotFound
from synergy.model.schedule import RunState, ScheduleChange
from synergy.queries.schedules.why import WhyKind
from tests.service.agent_harness import NOW, TARGET
from tests.service.schedule_kit import ALICE, HOOK, NOON, REPORT, stored

SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)
BOTH = [
    {"type": "FILE", "resourceId": "/in", "lifeDuration": 3600},
    {"type": "TIME BASED", "resourceId": "cron", "lifeDuration": 0},
]


@pytest.fixture
def member(agents):
    """An agent that is at work."""
    member = agents.member()
    member.rest()
    return member


def texts(why, *kinds):
    """The texts of the causes of these kinds."""
    return [cause.text for cause in why.causes if cause.kind in kinds]


def helps(why, kind):
    return [one.command for cause in why.causes if cause.kind is kind for one in cause.helps]


def effects(why):
    """The effect of each event, by its id."""
    return {event.id: event.effect for event in why.events}


def test_a_disabled_schedule_says_so_and_what_helps(agents, reads, member):
    agents.actions.create(NOON, ALICE, NOW, enable=True)
    agents.actions.disable("noon", ALICE, NOW)
    why = reads.why("noon")
    assert not why.is_enabled
    assert texts(why, WhyKind.DISABLED) == ["it is disabled: for the audit"]
    assert helps(why, WhyKind.DISABLED) == ["launch.py schedule enable noon"]
    assert why.next_due is None


def test_without_an_agent_nothing_is_decided(agents, reads):
    agents.actions.create(NOON, ALICE, NOW - HOUR, enable=True)
    why = reads.why("noon")
    assert texts(why, WhyKind.NO_AGENT) == ["no agent is at work, so nothing is triggered or sent"]
    assert "launch.py supervisor start" in helps(why, WhyKind.NO_AGENT)
    agents.clock.advance(5)
    assert "no agent has decided about it yet" in texts(reads.why("noon"), WhyKind.DUE)[0]


def test_a_schedule_of_times_waits_for_its_next_due_time(agents, reads, member):
    agents.actions.create(NOON, ALICE, NOW, enable=True)
    member.rest()
    why = reads.why("noon")
    assert [cause.kind for cause in why.causes] == [WhyKind.DUE]
    assert texts(why, WhyKind.DUE) == ["it is due next at 2026-03-11T12:00:00Z"]
    assert why.events == ()


def test_a_process_that_is_off_or_gone_is_named(agents, reads, member):
    agents.actions.create(REPORT, ALICE, NOW, enable=True)
    process = agents.deployment.processes["Report"]
    agents.deployment.processes["Report"] = replace(process, is_on=False)
    why = reads.why("report")
    assert texts(why, WhyKind.SWITCHED_OFF) == ["Report is switched off"]
    assert helps(why, WhyKind.SWITCHED_OFF) == ["launch.py process on Report"]
    del agents.deployment.processes["Report"]
    assert "no free-run process" in texts(reads.why("report"), WhyKind.SWITCHED_OFF)[0]
    assert helps(reads.why("report"), WhyKind.SWITCHED_OFF) == [
        "launch.py schedule edit report FILE"
    ]


def test_a_definition_that_cannot_be_read_is_explained(agents, reads, member):
    agents.actions.create(NOON, ALICE, NOW, enable=True)
    row = stored(agents, "noon")
    broken = replace(row, definition={**row.definition, "trigger": "never"}, version=2)
    agents.store.schedules.change([ScheduleChange(broken)])
    (text,) = texts(reads.why("noon"), WhyKind.INVALID)
    assert text.startswith("it cannot be read: trigger")


def test_a_run_that_waits_for_constraints_says_since_when_and_until_when(agents, reads, member):
    rule = [{"at_most": {"n": 1, "per": "1h"}}]
    agents.add("few", trigger="every 600", constraints=rule, timeout="2h")
    agents.advance(member, 1200)
    (cause,) = [c for c in reads.why("few").causes if c.kind is WhyKind.CONSTRAINT]
    assert "due 2026-03-10T12:20:00Z, waits: 1 run was launched within 1h" in cause.text
    assert cause.text.endswith("it is dropped at 2026-03-10T14:20:00Z")
    assert cause.since == NOW + 20 * MINUTE
    agents.advance(member, 2400)
    waiting = texts(reads.why("few"), WhyKind.CONSTRAINT)
    assert (len(waiting), waiting[-1]) == (4, "and 2 more runs")


def test_a_run_under_way_and_the_reason_of_a_skip_are_told(agents, reads, member):
    agents.add("report", process="Report", trigger="every 600")
    agents.advance(member, 600)
    (under_way,) = texts(reads.why("report"), WhyKind.RUNNING)
    assert "due 2026-03-10T12:10:00Z, is under way" in under_way
    agents.advance(member, 600)
    (ended,) = texts(reads.why("report"), WhyKind.ENDED)
    assert ended == "the newest run, due 2026-03-10T12:20:00Z, is skipped: a run is under way"


def test_the_legs_that_are_met_and_unmet_are_told(agents, reads, member):
    legs = [
        {"partition": {"dataset": "visits", "n": 3}},
        {"event": {"type": "FILE", "resource": "/d", "life": "1h"}},
        {"program": {"process": "Report"}},
    ]
    agents.actions.create(
        {"name": "all", "target": TARGET, "trigger": {"all_of": legs}}, ALICE, NOW, enable=True
    )
    agents.event("PARTITION", "visits", NOW, "p1")
    agents.event("FILE", "/d/x", NOW, "f1")
    member.rest()
    why = reads.why("all")
    assert texts(why, WhyKind.MET) == ["leg 1: event FILE /d: alive, lives for 1h"]
    assert texts(why, WhyKind.UNMET)[0] == "leg 0: 3 new partitions of visits: 1 of 3"
    assert effects(why)["p1"] == (
        "it counts for 3 new partitions of visits (1 of 3); not met now: "
        "Report ended as processed (no)"
    )
    del agents.deployment.processes["Report"]
    (unknown,) = texts(reads.why("all"), WhyKind.UNKNOWN)
    assert unknown.endswith("there is no process Report")


def test_a_lone_event_is_waited_for_although_the_last_one_is_alive(agents, reads, member):
    agents.add("lone", trigger={"event": {"type": "FILE", "resource": "/in", "life": "1h"}})
    agents.event("FILE", "/in/a", NOW, "first")
    member.rest()
    why = reads.why("lone")
    assert texts(why, WhyKind.MET) == []
    assert texts(why, WhyKind.UNMET) == ["event FILE /in: each such event is a run"]


def test_an_event_that_started_nothing_is_explained(agents, reads, member):
    """The example of the semantics: the file is not alive any more when cron comes."""
    agents.event("FILE", "/in/early", NOW, "early")
    agents.clock.advance(1)
    agents.add("fresh", dependencies=BOTH)
    for id_, kind, resource, minutes in (
        ("first", "FILE", "/in/a", -200),
        ("second", "FILE", "/in/b", -100),
        ("elsewhere", "FILE", "/other/x", -50),
        ("cron", "TIME BASED", "cron", -30),
    ):
        agents.event(kind, resource, NOW + minutes * MINUTE, id_)
    agents.event("TABLE", "db.t", NOW, "another type")
    member.rest()
    why = reads.why("fresh")
    assert list(effects(why)) == ["cron", "elsewhere", "second", "first", "early"]
    assert effects(why) == {
        "cron": "it counts for event TIME BASED cron (counts on arrival only; the last one was "
        "1,801 s ago); not met now: event FILE /in (ended 2,401 s ago, lives for 1h)",
        "elsewhere": "no leg waits for FILE /other/x",
        "second": "it counts for event FILE /in (ended 2,401 s ago, lives for 1h); not met now: "
        "event TIME BASED cron (counts on arrival only; the last one was 1,801 s ago)",
        "first": "another one counts for event FILE /in (ended 2,401 s ago, lives for 1h), "
        "2026-03-10T10:20:00Z",
        "early": "nothing: it came before the schedule began, 2026-03-10T12:00:01Z",
    }
    assert "leg 0: event FILE /in: ended 2,401 s ago, lives for 1h" in texts(why, WhyKind.UNMET)


def test_an_event_that_started_a_run_names_it_and_a_late_one_is_explained(agents, reads, member):
    agents.add("fresh", dependencies=BOTH)
    agents.event("FILE", "/in/a", NOW, "file")
    agents.event("TIME BASED", "cron", NOW + MINUTE, "cron")
    agents.event("TIME BASED", "cron", NOW + SECOND, "late")
    member.rest()
    (run,) = agents.runs("fresh")
    why = reads.why("fresh")
    runs = {event.id: event.run for event in why.events}
    assert runs == {"cron": run.id, "file": run.id, "late": None}
    assert effects(why)["file"] == f"counts in run {run.id}, which is processed"
    last = "nothing: its timestamp is not later than the last execution, 2026-03-10T12:01:00Z"
    assert effects(why)["late"] == last


@pytest.mark.parametrize(
    "trigger", [{"event": {"type": "FILE", "resource": "/in", "life": "1h"}}, {"partition": "/in"}]
)
def test_an_event_after_the_end_or_the_last_run_is_explained(agents, reads, member, trigger):
    kind = "FILE" if "event" in trigger else "PARTITION"
    agents.add("once", trigger=trigger, max_runs=1)
    agents.add("short", trigger=trigger, end="2026-03-10T12:00:30Z")
    agents.event(kind, "/in", NOW, "first")
    member.rest()
    agents.advance(member, 60)
    agents.event(kind, "/in", NOW + MINUTE, "second")
    member.rest()
    assert len(agents.runs("once")) == len(agents.runs("short")) == 1
    after = "nothing: it came after the end of the schedule, 2026-03-10T12:00:30Z"
    assert effects(reads.why("once"))["second"] == "nothing: max_runs: all runs are made"
    assert effects(reads.why("short"))["second"] == after
    assert "counts in run" in effects(reads.why("once"))["first"]


def test_an_event_that_no_agent_has_processed_is_told(agents, reads, member):
    agents.add("fresh", dependencies=BOTH)
    agents.event("FILE", "/in/a", NOW + SECOND, "new")
    assert effects(reads.why("fresh")) == {"new": "nothing yet: no agent has processed it"}
    agents.actions.disable("fresh", ALICE, NOW)
    assert "not enabled" in effects(reads.why("fresh"))["new"]


def test_an_unknown_schedule_is_refused_with_a_suggestion(agents, reads):
    agents.actions.create(HOOK, ALICE, NOW)
    with pytest.raises(NotFound, match="did you mean hook"):
        reads.why("hok")
    assert agents.states() == dict[RunState, int]()
