"""Schedule commands advise the next step; the format of their tables."""

from __future__ import annotations

import pytest

from synergy.agent.membership import DECIDER
from synergy.cli import schedule_tables
from synergy.commands.run_units import unit_of
from synergy.model.run_detail import RunDetail
from synergy.model.schedule import Run, RunState, Schedule, run_id
from synergy.model.unit_of_work import Hint
from tests.service.cli_schedule_kit import NIGHTLY
from tests.service.commands import NOW

NO_AGENT = "no agent is at work"


def a_run(store, **fields: object) -> Run:
    given = {
        "id": run_id("nightly", "due:x"), "schedule": "nightly", "key": "due:x", "due_at": NOW,
        "version": 1, "state": RunState.FAILED, "program": "Report", "created_at": NOW,
        "launched_at": NOW, "finished_at": NOW, "attempt": 1, "reason": "exit code 3",
        "request": {"process": "Report", "arguments": {}}, **fields,
    }  # fmt: skip
    (run,) = store.runs.create([Run(**given)], "an agent")
    return run


def test_commands_warn_if_no_agent_is_at_work(home, deployed, file):
    path = file(NIGHTLY)
    home.ok("schedule", "add", path, "--enable")
    for argv in (["list"], ["show", "nightly"], ["pending"], ["trigger", "nightly", "--dry-run"]):
        home.ok("schedule", *argv)
        assert NO_AGENT in home.err, argv
        assert "supervisor start" in home.err
    assert deployed.store.leases.take(None, DECIDER, "elsewhere/boot/1/1/word") is not None
    for argv in (["list"], ["show", "nightly"], ["pending"], ["trigger", "nightly", "--dry-run"]):
        home.ok("schedule", *argv)
        assert NO_AGENT not in home.err, argv


def test_a_failed_run_names_the_commands_for_its_log_and_its_retry(home, deployed):
    run = a_run(deployed.store, detail=RunDetail(cause={"remark": "by hand, me"}))
    shown = home.ok("schedule", "run", run.id)
    assert f"launch.py unit log {run.id}" in home.err
    assert f"launch.py schedule retry {run.id}" in home.err
    assert "caused by  by hand, me" in shown
    assert "arguments" not in shown


def test_the_progress_of_a_run_is_shown(home, deployed):
    run = a_run(deployed.store, state=RunState.LAUNCHED, attempt=0, reason="", finished_at=None)
    home.ok("schedule", "run", run.id)
    assert "no worker has begun it: launch.py process show Report" in home.err
    (unit,) = deployed.store.units.create([unit_of(run, NOW)], "an agent")
    home.ok("schedule", "run", run.id)
    assert "no worker has begun it" in home.err
    deployed.store.units.claim([Hint(unit.id, unit.attempt)], "a worker", NOW)
    home.ok("schedule", "run", run.id)
    assert "begun 2015-05-20 12:00:00Z, in_progress" in home.err
    assert f"launch.py unit log {run.id}" in home.err


def test_reasons_of_an_ended_run_are_shown_in_the_past_tense(home, deployed):
    waits = RunDetail(waits=("outside of 02:00-03:00 UTC",))
    ended = a_run(deployed.store, state=RunState.ABORTED, detail=waits)
    assert "waited for  outside of 02:00" in home.ok("schedule", "run", ended.id)
    state = RunState.PENDING_CONSTRAINT
    waiting = a_run(
        deployed.store, id="w", key="due:y", state=state, detail=waits, finished_at=None
    )
    assert "waits for  outside of 02:00" in home.ok("schedule", "run", waiting.id)


def test_a_refused_address_names_the_setting_that_allows_it(home, deployed):
    answer = {"at": "2015-05-20T12:00:00Z", "outcome": "blocked", "error": "10.0.0.1 is private"}
    home.ok("schedule", "run", a_run(deployed.store, detail=RunDetail(answers=(answer,))).id)
    assert "SYNERGY_WEBHOOK_NETWORKS" in home.err


def test_a_dry_run_of_a_trigger_has_no_run_id(home, file):
    home.ok("schedule", "add", file(NIGHTLY))
    assert home.json("schedule", "trigger", "nightly", "--dry-run")["run"] is None
    assert home.json("schedule", "trigger", "nightly")["run"]


def test_a_processed_run_has_no_advice(home, deployed):
    request = {"target": "sqs:jobs", "body": "b", "budget": 300.0, "headers": {}}
    run = a_run(deployed.store, request=request, state=RunState.PROCESSED, reason="")
    assert "budget  5 min" in home.ok("schedule", "run", run.id)
    assert home.err == ""


def test_the_cause_of_a_run_is_shown(home, deployed):
    cause = {"process": "Import", "status": "failed", "timeperiod": "2015052000"}
    run = a_run(deployed.store, detail=RunDetail(cause={**cause, "events": ["a", "b"], "count": 7}))
    shown = home.ok("schedule", "run", run.id)
    assert "caused by  Import 2015052000 failed; events a, b (the newest of 7)\n" in shown


def test_a_disabled_schedule_names_the_command_that_enables_it(home, file):
    home.ok("schedule", "add", file(NIGHTLY))
    home.ok("schedule", "show", "nightly")
    assert "launch.py schedule enable nightly" in home.err


def test_cancel_of_neither_a_run_nor_a_job_is_not_found(home):
    assert home.run("schedule", "cancel", "none") == 3
    assert "no such run or one-off job: none" in home.err


def test_a_misspelt_name_is_answered_with_the_nearest(home, deployed, file):
    path = file(NIGHTLY)
    home.ok("schedule", "add", path)
    for argv in (
        ["show", "nigthly"],
        ["trigger", "Nightly"],
        ["enable", "mightly"],
        ["runs", "nightl"],
        ["edit", "nightlyy", path],
        ["pending", "nihtly"],
        ["preview", "nigtly"],
        ["cancel", "nigthly"],
    ):
        code = home.run("schedule", *argv)
        assert (code, "did you mean nightly?" in home.err) == (3, True), argv
    assert home.run("schedule", "show", "hourly-report") == 3
    assert "launch.py schedule list shows which there are" in home.err


def test_the_nearest_of_very_many_names_is_found_with_few_reads(home, deployed):
    made = [
        Schedule(name=f"tenant-{n:04}-report", definition={}, created_at=NOW, changed_at=NOW)
        for n in range(2000)
    ]
    deployed.store.schedules.create(made, "me")
    assert home.run("schedule", "show", "tenant-1234-reprot") == 3
    assert "did you mean tenant-1234-report?" in home.err


def test_help_of_pending_explains_when_collecting_jobs_are_shown(home, file):
    shown = " ".join(home.ok("schedule", "pending", "-h").split())
    assert "its job that still collects events (pending_trigger)" in shown
    assert "default: of all schedules, without such jobs" in shown


NOWHERE = "no box that ever reported runs Program"


def test_scheduling_a_program_that_no_box_runs_warns(home, monkeypatch, deployed, file):
    monkeypatch.setenv("SYNERGY_CONTEXT", "tests.acceptance.deployments.free")
    home.ok("schedule", "add", file(NIGHTLY))
    assert "no box" not in home.err  # it is sent by an agent
    home.ok("schedule", "add", file("name: report\nprocess: Program\ntrigger: at 02:00\n"))
    other = file("name: other\nprocess: Program\ntrigger: at 02:00\n")

    def warned() -> list[bool]:
        found = []
        for argv in (["add", other], ["trigger", "report"]):
            home.ok("schedule", *argv, "--dry-run")
            found.append(NOWHERE in home.err)
        return found

    boxes = deployed.store.boxes
    assert warned() == [True, True]
    boxes.assign("box-2", ["Program"])
    assert warned() == [True, True]  # it never reported
    boxes.report("box-1", [], NOW)
    assert warned() == [True, True]  # it was not assigned to the one that did
    boxes.report("box-2", [], NOW)
    assert warned() == [False, False]
    boxes.switch("box-2", "Program", False, "me", NOW)
    assert warned() == [True, True]


def test_unknown_names_in_a_payload_warn_wherever_they_can_be_corrected(home, file):
    path = file(NIGHTLY)
    for argv in (
        ["add", path, "--dry-run"], ["add", path], ["edit", "nightly", path],
        ["show", "nightly"], ["preview", "nightly"], ["preview", "--file", path],
    ):  # fmt: skip
        home.ok("schedule", *argv)
        assert "${yesterday} is unknown and stays as it is" in home.err, argv


def test_a_file_that_begins_like_json_may_be_yaml(home, file):
    one = '{name: nightly, target: "https://user.example.com/", trigger: every 60}'
    assert "nightly would be added" in home.ok("schedule", "add", file(one), "--dry-run")
    both = f"[{one}, # one more:\n {one.replace('nightly', 'other')}]"
    assert "other would be added" in home.ok("schedule", "add", file(both), "--dry-run")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"name": "x",', "enclosed in double quotes: line 1"),
        ('{"name": "x", "priority": NaN}', "NaN is no JSON"),
        ('{"name": "x", "name": "y"}', "'name' comes twice"),
        ('{name: x, name: "y"}', "'name' comes twice"),
        ("{name: x, 5: b}", "5 is not a text"),
    ],
)
def test_a_file_that_begins_like_json_and_is_invalid_gives_the_reason(home, file, text, words):
    assert home.run("schedule", "add", file(text), "--dry-run") == 2
    assert words in home.err


def test_output_of_programs_and_receivers_stays_on_its_line(home, deployed):
    reason = "failed: no disk\n\tat all \x1b[31mred" + "!" * 200
    answer = {"at": "2015-05-20T12:00:00Z", "outcome": "failed", "status": 500, "seconds": 1.5,
              "error": "no\x1b[2J", "body": "a\nb"}  # fmt: skip
    run = a_run(deployed.store, reason=reason, detail=RunDetail(answers=(answer,)))
    listed = home.ok("schedule", "runs")
    assert listed.count("\n") == 2
    assert r"failed: no disk at all \x1b[31mred!" in listed
    assert listed.endswith("!...\n")
    shown = home.ok("schedule", "run", run.id)
    assert "\x1b" not in shown
    assert "!" * 200 in shown
    assert r"no\x1b[2J  a b" in shown
    assert home.json("schedule", "run", run.id)["reason"] == reason


def test_a_list_has_reasons_only_where_there_are_some(home, file):
    home.ok("schedule", "add", file(NIGHTLY), "--enable")
    assert "reason" not in home.ok("schedule", "list")
    home.ok("schedule", "disable", "nightly", "--reason", "the disk is full")
    listed = home.ok("schedule", "list")
    assert listed.splitlines()[0].endswith("reason")
    assert "the disk is full" in listed


@pytest.mark.parametrize(("columns", "longest"), [(60, 24), (120, 81)])
def test_long_texts_are_shortened_to_the_width_of_the_terminal(monkeypatch, columns, longest):
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    rows: list[list[object]] = [["nightly", "word " * 40, "2015-05-20 12:00:00Z", None]]
    schedule_tables._shorten(["schedule", "runs", "next due", "ended"], rows, 1)
    shown = str(rows[0][1])
    assert longest - 5 <= len(shown) <= longest
    assert shown.endswith("word...")
