"""`launch.py schedule`: schedules and runs from the command line."""

from __future__ import annotations

import io
import subprocess
import sys

import pytest

from synergy.model.run_detail import RunDetail
from synergy.model.schedule import Run, RunState, run_id
from synergy.storage.sqlite import SqliteStore
from tests.service.cli_schedule_kit import TWO, WRONG, everything
from tests.service.commands import NOW


def a_failed_run(store: SqliteStore, schedule: str = "hourly", **fields: object) -> Run:
    given = {
        "id": run_id(schedule, "due:x"), "schedule": schedule, "key": "due:x", "due_at": NOW,
        "version": 1, "state": RunState.FAILED, "program": "sqs:jobs", "created_at": NOW,
        "launched_at": NOW, "finished_at": NOW, "reason": "nobody answered",
        "request": {"target": "sqs:jobs", "body": "b"},
        "detail": RunDetail(answers=({"at": "2015-05-20T12:00:00Z", "status": None, "outcome":
                             "timeout", "error": "nobody answered", "body": "", "seconds": 3},)),
        **fields,
    }  # fmt: skip
    (run,) = store.runs.create([Run(**given)], "an agent")
    return run


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["schedule", "runs", "--state", "faild"], "did you mean failed?"),
        (["schedule", "retry"], "name one run, or --all"),
        (["schedule", "retry", "x", "--all"], "name one run, or --all"),
        (["schedule", "retry", "x", "--schedule", "s"], "--schedule goes with --all"),
        (["schedule", "preview"], "name a schedule, or --file"),
        (["schedule", "trigger", "x", "--arguments", "{"], "--arguments: '{' is not JSON"),
        (["schedule", "trigger", "x", "--arguments", "[1]"], "expected an object such as"),
        (["schedule", "backfill", "x", "--from", "2015-05-19"], "--from and --to, or a span"),
        (["schedule", "backfill", "x", "--from", "soon", "--to", "x"], "from: expected an instant"),
        (["schedule", "preview", "x", "--from", "soon"], "--from: expected an instant"),
        (["schedule", "list", "--limit", "0"], "not a whole number"),
        (["event", "emit"], "TYPE and RESOURCE, or --file"),
        (["event", "emit", "FILE"], "TYPE and RESOURCE, or --file"),
        (["event", "emit", "FILE", "/x", "--file", "-"], "the file has all fields"),
        (["event", "emit", "FOLDER", "/x"], "eventType: 'FOLDER' is unknown"),
        (["event", "emit", "FILE", "/x", "--at", "noon"], "eventTimestamp: expected an instant"),
        (["event", "emit", "FILE", "/x", "--partitions", "0"], "not a whole number"),
    ],
)
def test_wrong_usage_says_what_is_right_and_does_nothing(home, deployed, argv, words):
    before = everything(deployed)
    assert home.run(*argv) == 2
    assert words in home.err
    assert everything(deployed) == before


def test_a_file_of_schedules_is_added_and_shown(home, file):
    said = home.ok("schedule", "add", file(TWO))
    assert "nightly added; it is disabled: launch.py schedule enable nightly" in said
    listed = home.ok("schedule", "list")
    assert "at 02:30 every day, Europe/Berlin: sends to https://user.example.com" in listed
    shown = home.ok("schedule", "show", "nightly")
    assert "cron 30 2 * * *" in shown
    assert "${nothing}" in shown
    for text in (listed, shown, home.ok("schedule", "show", "nightly", "--json")):
        assert "t0ken" not in text
        assert "s3cret" not in text


def test_schedules_are_added_as_json_from_standard_input(home, monkeypatch):
    class Typed:
        buffer = io.BytesIO(b'[{"name": "a", "target": "sqs:jobs", "trigger": "every 60"}]')

    monkeypatch.setattr(sys, "stdin", Typed)
    found = home.json("schedule", "add", "-", "--enable")
    assert found["dry_run"] is False
    (schedule,) = found["schedules"]
    assert schedule == {
        "name": "a", "version": 1, "is_enabled": True, "next_due": "2015-05-20T12:01:00Z",
        "is_new": True,
    }  # fmt: skip


def test_adding_a_one_off_job_twice_reports_it_as_existing(home, file):
    unnamed = file("target: sqs:jobs\nwhen: 2030-01-01T00:00:00Z\n")
    added = [home.json("schedule", "add", unnamed)["schedules"][0] for _ in range(2)]
    assert [schedule["is_new"] for schedule in added] == [True, False]


def test_a_file_with_mistakes_lists_all_of_them_and_adds_nothing(home, deployed, file):
    before = everything(deployed)
    assert home.run("schedule", "add", file(WRONG + "---\n" + TWO)) == 2
    lines = home.err.splitlines()
    assert [line.split(": ")[1] for line in lines[:-1]] == ["first", "first", "second"]
    assert lines[-1] == "3 mistakes; nothing was done"
    assert everything(deployed) == before


def test_a_file_that_cannot_be_read_is_refused(home, deployed, file, tmp_path):
    before = everything(deployed)
    assert home.run("schedule", "add", str(tmp_path / "none.yaml")) == 3
    assert home.run("schedule", "add", file("name: [\n")) == 2
    assert "line 2, column 1" in home.err
    assert home.run("schedule", "add", str(tmp_path)) == 1
    assert home.err.count("\n") == 1
    assert everything(deployed) == before


def test_dry_runs_show_and_do_nothing(home, deployed, file):
    path = file(TWO)
    before = everything(deployed)
    assert "nightly would be added; next due" in home.ok(
        "schedule", "add", path, "--enable", "--dry-run"
    )
    assert home.json("schedule", "add", path, "--dry-run")["dry_run"] is True
    home.ok("event", "emit", "FILE", "/x", "--dry-run")
    assert everything(deployed) == before
    home.ok("schedule", "add", path, "--enable")
    a_failed_run(deployed.store)
    run = a_failed_run(
        deployed.store, id="waiting", key="due:y", state=RunState.PENDING_CONSTRAINT,
        finished_at=None,
    )  # fmt: skip
    before = everything(deployed)
    for argv in (
        ["edit", "hourly", file("target: sqs:jobs\ntrigger: every 60\n", "one.yaml")],
        ["remove", "hourly"], ["disable", "hourly"], ["trigger", "hourly"], ["retry", "--all"],
        ["retry", run_id("hourly", "due:x")], ["cancel", run.id],
    ):  # fmt: skip
        assert "would be" in home.ok("schedule", *argv, "--dry-run")
        assert home.json("schedule", *argv, "--dry-run")["dry_run"] is True
    assert everything(deployed) == before


def test_schedules_are_changed_by_commands_and_impossible_changes_are_refused(home, deployed, file):
    home.ok("schedule", "add", file(TWO))
    assert home.run("schedule", "add", file(TWO)) == 4
    assert "exist already: hourly, nightly" in home.err
    assert "next due 2015-05-20 13:00:00Z" in home.ok("schedule", "enable", "hourly")
    assert home.run("schedule", "enable", "hourly") == 4
    edited = file("target: sqs:jobs\ntrigger: every 60\n", "one.yaml")
    assert "hourly changed to version 2; next due 2015-05-20 12:01:00Z" in home.ok(
        "schedule", "edit", "hourly", edited
    )
    assert home.run("schedule", "edit", "hourly", file(TWO)) == 2
    assert "holds 2 schedules" in home.err
    assert home.ok("schedule", "disable", "hourly", "--reason", "too often") == "hourly disabled\n"
    assert home.run("schedule", "disable", "hourly") == 4
    assert "hourly is disabled already: too often" in home.err
    assert home.ok("schedule", "remove", "hourly") == "hourly removed\n"
    assert home.run("schedule", "remove", "hourly") == 3


def test_a_triggered_run_is_listed_and_shown(home, file):
    home.ok("schedule", "add", file(TWO))
    id_ = home.json("schedule", "trigger", "hourly", "--reason", "a test")["run"]
    (run,) = home.json("schedule", "runs", "hourly")["items"]
    assert (run["id"], run["state"]) == (id_, "launched")
    assert id_ in home.ok("schedule", "runs")
    assert "a test" in home.ok("schedule", "run", id_)
    assert home.json("schedule", "runs", "--state", "failed") == {"items": [], "next": None}


def test_failed_runs_are_shown_and_launched_again(home, deployed, file):
    home.ok("schedule", "add", file(TWO))
    run = a_failed_run(deployed.store)
    shown = home.ok("schedule", "run", run.id)
    assert "timeout" in shown
    assert "nobody answered" in shown
    home.ok("queue", "dead")
    assert "runs of schedules that have failed: 1 (launch.py schedule runs" in home.err
    assert [r["id"] for r in home.json("queue", "dead")["failed_runs"]] == [run.id]
    home.ok("queue", "replay")
    assert "launch.py schedule retry --all" in home.err
    assert f"run {run.id} of hourly launched again" in home.ok("schedule", "retry", run.id)
    assert home.run("schedule", "retry", run.id) == 4
    assert "only what has failed" in home.err
    assert "no failed run is left" in home.ok("schedule", "retry", "--all")
    assert home.json("queue", "dead")["failed_runs"] == []
    assert f"run {run.id} of hourly canceled" in home.ok("schedule", "cancel", run.id)
    assert home.run("schedule", "cancel", run.id) == 4


def test_a_one_off_job_begins_by_itself_and_is_canceled_by_its_name(home, file):
    job = file("name: once\ntarget: sqs:jobs\nwhen: 2015-05-21T00:00:00Z\n")
    assert "once added; next due 2015-05-21 00:00:00Z" in home.ok("schedule", "add", job)
    unnamed = file("target: sqs:jobs\nwhen: 2015-05-22T00:00:00Z\n", "unnamed.yaml")
    assert "added" in home.ok("schedule", "add", unnamed)
    assert "is there already; next due 2015-05-22" in home.ok("schedule", "add", unnamed)
    assert len(home.json("schedule", "add", unnamed)["schedules"]) == 1
    assert "canceled" in home.ok("schedule", "cancel", "once")
    (run,) = home.json("schedule", "runs", "once")["items"]
    assert (run["state"], run["due_at"]) == ("canceled", "2015-05-21T00:00:00Z")
    assert home.run("schedule", "cancel", "once") == 4


@pytest.mark.parametrize("noun", ["schedule", "event", "queue"])
def test_help_imports_no_engine_and_no_reader(noun):
    code = (
        f"import sys; from synergy.cli.main import main; main([{noun!r}, '-h']);"
        "bad = {'orjson', 'apsw', 'yaml', 'synergy.compose', 'synergy.commands.schedules'};"
        "sys.exit(len(bad & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0
