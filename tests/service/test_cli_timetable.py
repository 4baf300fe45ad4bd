"""`launch.py timetable`: show, why, reprocess, skip, extend and audit."""

from __future__ import annotations

import pytest

from synergy.cli import exits
from synergy.model.job import JobChange, JobState
from synergy.model.unit_of_work import UnitState
from tests.service.cli_timetable_kit import DAY, HOUR, PERIOD, failing
from tests.service.commands import NOW

CLIENT_DAY = "ClientDailyAggregator"


@pytest.fixture
def with_data(deployed):
    deployed.write("single_session", PERIOD, 5)
    deployed.settle()
    return deployed


def test_show_counts_each_process_in_the_documented_shape(commands, with_data):
    trees = {tree["name"]: tree for tree in commands.json("timetable", "show")["trees"]}
    assert set(trees) == {"site", "client", "alert", "report"}
    levels = {level["name"]: level for level in trees["site"]["processes"]}
    assert list(levels)[-1] == HOUR
    hour = levels[HOUR]
    assert (hour["qualifier"], hour["counts"]["processed"]) == ("hourly", 1)
    assert hour["counts"]["noop"] == 3 * 24 + 10
    assert "jobs" not in hour


def test_show_with_a_window_lists_its_jobs_in_the_documented_shape(commands, with_data):
    argv = ("timetable", "show", "site", "--from", "2015051800", "--to", "2015051802")
    (tree,) = commands.json(*argv)["trees"]
    jobs = {level["name"]: level["jobs"] for level in tree["processes"]}
    (unit,) = with_data.units(HOUR, PERIOD)
    noop, processed = jobs[HOUR]
    assert (noop["timeperiod"], noop["state"], noop["generation"], noop["unit"]) == (
        "2015051800", "noop", 1, None,
    )  # fmt: skip
    assert noop["reason"] == "its source is empty"
    assert processed["timeperiod"] == PERIOD
    assert (processed["state"], processed["unit"], processed["reason"]) == (
        "processed", unit.id, "",
    )  # fmt: skip
    assert [job["timeperiod"] for job in jobs[DAY]] == ["2015051800"]
    assert PERIOD in commands.ok(*argv)


def test_why_shows_the_tree_of_causes_and_its_leaves(commands, deployed):
    deployed.write("single_session", PERIOD, 5)
    deployed.schedule()
    output = commands.json("timetable", "why", CLIENT_DAY, "2015051800")
    assert (output["kind"], output["process"], output["state"]) == ("blocked", CLIENT_DAY, "embryo")
    day = output["causes"][0]
    assert (day["process"], day["timeperiod"]) == (DAY, "2015051800")
    (leaf,) = output["leaves"]
    assert (leaf["kind"], leaf["process"], leaf["timeperiod"]) == ("waits_for_worker", HOUR, PERIOD)
    assert leaf["helps"] == [f"launch.py process start {HOUR}"]
    text = commands.ok("timetable", "why", CLIENT_DAY, "2015051800")
    assert text.index(CLIENT_DAY) < text.index(DAY) < text.index(HOUR) < text.index("helps:")


def test_a_dry_run_lists_exactly_what_the_real_one_then_touches(commands, with_data):
    argv = ("timetable", "reprocess", HOUR, PERIOD, "--reason", "wrong zone")
    planned = commands.json(*argv, "--dry-run")
    assert planned["dry_run"] is True
    assert with_data.generation(HOUR, PERIOD) == 1
    done = commands.json(*argv)
    assert done["touched"] == planned["touched"]
    assert {"process": HOUR, "timeperiod": PERIOD, "before": "processed", "after": "embryo",
            "generation": 2} in done["touched"]  # fmt: skip
    touched = {(t["process"], t["timeperiod"]) for t in done["touched"]}
    assert {(DAY, "2015051800"), (CLIENT_DAY, "2015051800")} <= touched
    for process, period in touched:
        assert with_data.generation(process, period) == 2
    entry = with_data.store.journal.of_job(HOUR, PERIOD, 1)[0]
    assert (entry.event, entry.why) == ("job.started_over", "wrong zone")
    assert "@" in entry.who


def test_a_range_is_half_open(commands, with_data):
    done = commands.json("timetable", "reprocess", HOUR, "2015051703..2015051706", "--dry-run")
    hours = [t["timeperiod"] for t in done["touched"] if t["process"] == HOUR]
    assert hours == ["2015051703", "2015051704", "2015051705"]


def test_periods_are_understood_generously_and_printed_canonically(commands, with_data):
    def hours(written):
        done = commands.json("timetable", "reprocess", HOUR, written, "--dry-run")
        return [t["timeperiod"] for t in done["touched"] if t["process"] == HOUR]

    assert hours("2015-05-17T03..2015-05-17 05:00Z") == ["2015051703", "2015051704"]
    assert hours("2015-05-17") == hours("2015-05-17..2015-05-18") == hours("2015051700..2015051800")
    assert len(hours("2015-05-17")) == 24
    window = ("--from", "2015-05-17T03", "--to", "2015-05-17T04")
    shown = commands.json("timetable", "show", "site", *window)["trees"][0]["processes"]
    assert [job["timeperiod"] for job in shown[-1]["jobs"]] == ["2015051703"]
    for verb in ("why", "wait"):
        found = commands.json("timetable", verb, DAY, "2015-05-17")
        assert found["timeperiod"] == "2015051700"


def test_a_period_that_does_not_fit_is_refused_with_one_that_does(commands, with_data):
    for argv in (("why", DAY), ("wait", DAY), ("reprocess", DAY)):
        assert commands.run("timetable", *argv, "2015-05-17T10") == exits.USAGE
        assert "2015-05-17 (2015051700)" in commands.text
    assert commands.run("timetable", "why", HOUR, "2015-05-17") == exits.USAGE
    assert "2015-05-17T00 (2015051700)" in commands.text


def test_skip_lists_every_job_that_it_gives_up(commands, deployed):
    deployed.write("single_session", PERIOD, 5)
    deployed.schedule()
    text = commands.ok("timetable", "skip", HOUR, PERIOD)
    assert PERIOD in text
    assert "1 job skipped" in text
    assert deployed.state(HOUR, PERIOD) is JobState.SKIPPED
    assert deployed.unit_states(HOUR, PERIOD) == [UnitState.CANCELED]
    assert "nothing to do" in commands.ok("timetable", "skip", HOUR, PERIOD)


def test_extend_moves_the_first_hour(commands, deployed):
    deployed.schedule()
    argv = ("timetable", "extend", "--from", "2015-05-16T12:00Z")
    output = commands.json(*argv, "--dry-run")
    assert output == {"before": "2015051700", "after": "2015051612", "dry_run": True}
    assert commands.json("timetable", "show", "site")["trees"][0]["processes"][3]["first"] == (
        "2015051700"
    )
    commands.ok(*argv)
    assert commands.json("timetable", "show", "site")["trees"][0]["processes"][3]["first"] == (
        "2015051612"
    )


def test_audit_accounts_for_every_period(commands, with_data):
    output = commands.json("timetable", "audit")
    assert output["unexplained"] == []
    assert output["expected"] == output["accounted"] > 3 * 24
    assert output["unfinished"] == 0
    assert "0 unexplained" in commands.ok("timetable", "audit")


def test_audit_fails_when_a_finished_job_does_not_cover_its_source(commands, with_data):
    with_data.write("single_session", "2015051702", 1)
    output = commands.json("timetable", "audit", code=1)
    assert {(u["process"], u["timeperiod"]) for u in output["unexplained"]} == {
        (HOUR, "2015051702")
    }
    assert output["accounted"] == output["expected"] - 1
    assert commands.run("timetable", "audit") == 1
    assert "2015051702" in commands.out


def test_a_failed_period_is_in_the_audit_and_can_be_retried(commands, deployed):
    failing(deployed)
    found = commands.json("timetable", "audit", code=1)
    assert (found["failed"], found["given_up"]) == (1, 0)
    assert found["failures"][0]["timeperiod"] == PERIOD
    assert "1 failed" in (commands.run("timetable", "audit"), commands.out)[1]
    planned = commands.json("timetable", "retry", HOUR, PERIOD, "--dry-run")["touched"]
    assert deployed.state(HOUR, PERIOD) is JobState.FAILED
    done = commands.json("timetable", "retry", HOUR, "2015051800..2015051900")["touched"]
    assert done == planned
    assert [(one["before"], one["after"], one["generation"]) for one in done] == [
        ("failed", "embryo", 1)
    ]
    assert "nothing to do" in commands.ok("timetable", "retry", HOUR, PERIOD)
    deployed.settle()
    assert commands.json("timetable", "audit")["failed"] == 0


def test_given_up_periods_are_acknowledged_with_a_reason(commands, deployed):
    failing(deployed)
    hourly = deployed.deployment.processes[HOUR].qualifier
    at = hourly.parse(PERIOD)
    give_up = JobChange(
        HOUR, hourly, at, at, JobState.FAILED, JobState.GIVEN_UP, 1, "no such disk", "scheduler-1"
    )
    assert deployed.store.jobs.move([give_up], NOW) == []
    deployed.settle()
    assert commands.json("timetable", "audit", code=1)["given_up"] == 1
    assert commands.run("timetable", "acknowledge", HOUR, PERIOD) == 2
    assert "--reason" in commands.err
    assert deployed.state(HOUR, PERIOD) is JobState.GIVEN_UP
    commands.ok("timetable", "acknowledge", HOUR, PERIOD, "--reason", "the disk is lost")
    found = commands.json("timetable", "audit")
    assert (found["given_up"], found["acknowledged"]) == (0, 1)
    assert "the disk is lost" in found["acknowledgements"][0]["text"]
