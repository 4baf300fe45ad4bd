"""`launch.py schedule import-crontab`: the file that it writes, and what becomes of it."""

from __future__ import annotations

import io
import json
import os
import pwd
import sys

import pytest

from synergy.compose import open_project
from synergy.schedule.check_context import Known
from synergy.schedule.definition import Times, WorkerProgram
from synergy.schedule.format.read import read
from tests.another_user import needs_root
from tests.service.commands import BOX

CONTEXT = """
from synergy.config.context import daemon_context_entry

process_context = {
    "Agent": daemon_context_entry(
        process_name="Agent",
        classname="synergy.agent.agent.Agent.start",
        present_on_boxes=[".*"],
    ),
}
timetable_context = {}
"""
TAB = """\
MAILTO=ops
0 2 * * * /opt/backup.sh --all
@daily cat%one
@reboot /opt/server
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The folder of a context of its own."""
    context = tmp_path / "context"
    context.mkdir()
    (context / "crontab_test_context.py").write_text(CONTEXT)
    monkeypatch.setenv("PYTHONPATH", str(context))
    monkeypatch.setenv("SYNERGY_CONTEXT", "crontab_test_context")
    return context


@pytest.fixture
def tab(tmp_path):
    """Writes a crontab, and returns its path."""

    def write(text=TAB, name="nightly.txt"):
        path = tmp_path / name
        path.write_text(text)
        return str(path)

    return write


def take(commands, *argv, code=0):
    return commands.json("schedule", "import-crontab", *argv, code=code)


def test_lines_become_processes_and_schedules_of_the_context(commands, folder, tab):
    told = take(commands, tab())

    assert told["file"] == str(folder / "crontabs" / "nightly.json")
    assert [line["line"] for line in told["lines"]] == [2, 3]
    assert [(r["line"], r["text"]) for r in told["refused"]] == [(4, "@reboot /opt/server")]
    assert [note["line"] for note in told["notes"]] == [1]
    backup, cat = (line["schedule"] for line in told["lines"])
    assert told["new"] == sorted([backup, cat])
    deployment = open_project().deployment
    process = deployment.freerun()[backup]
    assert process.command == ("/bin/sh", "-c", "/opt/backup.sh --all")
    assert process.variables["MAILTO"] == "ops"
    assert process.present_on_boxes == (BOX.replace("-", r"\-"),)
    assert deployment.freerun()[cat].stdin == "one\n"
    schedule = read(deployment.schedules[backup], Known())
    assert schedule.program == WorkerProgram(backup)
    assert isinstance(schedule.trigger, Times)
    assert "sound" in commands.ok("check")


def test_the_report_says_what_each_line_became_and_what_was_not_taken(commands, tab):
    out = commands.ok("schedule", "import-crontab", tab())
    assert "nightly-backup.sh-" in out
    assert "2 schedules are in" in out
    assert "1 line was not taken" in out
    assert "line 4: @reboot /opt/server: no schedule starts with the machine" in commands.err
    assert "line 1: MAILTO=ops: no mail is sent" in commands.err
    assert "launch.py reload" in commands.err


def test_a_dry_run_shows_the_same_and_writes_nothing(commands, folder, tab):
    shown = take(commands, tab(), "--dry-run")
    assert not (folder / "crontabs").exists()
    assert {**take(commands, tab()), "dry_run": True} == shown
    assert "2 schedules would be in" in commands.ok(
        "schedule", "import-crontab", tab(), "--dry-run"
    )


def test_a_second_import_changes_what_is_different_and_nothing_else(commands, folder, tab):
    first = take(commands, tab())
    file = folder / "crontabs" / "nightly.json"
    before = file.stat()
    again = take(commands, tab())
    assert (again["new"], again["changed"], again["removed"]) == ([], [], [])
    assert again["unchanged"] == first["new"]
    assert file.stat() == before

    third = take(commands, tab("MAILTO=ops\n@daily cat%one\n5 2 * * * echo new\n"))
    backup, cat = (line["schedule"] for line in first["lines"])
    assert (third["unchanged"], third["removed"]) == ([cat], [backup])
    assert len(third["new"]) == 1
    moved = take(commands, tab("MAILTO=ops\n@hourly cat%one\n5 2 * * * echo new\n"))
    assert moved["changed"] == [cat]


def test_standard_input_and_a_name(commands, folder, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TAB.encode())))
    told = take(commands, "-", "--name", "of ann")
    assert told["file"] == str(folder / "crontabs" / "of-ann.json")


def test_the_crontab_of_a_user_begins_with_the_name_of_the_user(commands, folder, monkeypatch):
    me = pwd.getpwuid(os.geteuid()).pw_name
    for options in ([], ["--of", me]):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TAB.encode())))
        assert take(commands, "-", *options)["file"] == str(folder / "crontabs" / f"{me}.json")


def test_a_user_is_given_once(commands, tab):
    assert commands.run("schedule", "import-crontab", tab(), "--user", "--of", "ann") == 2
    assert "leave --of out" in commands.err


def test_a_system_crontab_has_users(commands, tab):
    me = pwd.getpwuid(os.geteuid()).pw_name
    text = f"0 2 * * * {me} /opt/backup.sh\n0 2 * * * no-such-user x\n"
    told = take(commands, tab(text), "--user")
    assert [line["line"] for line in told["lines"]] == [1]
    assert "this machine has no user no-such-user" in told["refused"][0]["what"]


def test_the_file_is_readable_by_the_user_of_the_deployment_only(commands, folder, tab):
    needs_root()
    commands.home.mkdir()
    os.chown(commands.home, pwd.getpwnam("nobody").pw_uid, -1)
    me = pwd.getpwuid(os.geteuid()).pw_name
    told = take(commands, tab(f"0 2 * * * nobody a\n0 2 * * * {me} a\n"), "--user")
    assert [remark["line"] for remark in told["refused"]] == [2]
    found = (folder / "crontabs" / "nightly.json").stat()
    assert found.st_mode & 0o777 == 0o600
    assert found.st_uid == pwd.getpwnam("nobody").pw_uid


def test_a_folder_that_cannot_be_read_is_a_finding(commands, folder):
    (folder / "crontabs").write_text("")
    found = commands.json("check", code=78)["mistakes"]
    assert any("cannot be read" in mistake for mistake in found)


@pytest.mark.parametrize("text", ["", "# nothing\n", "@reboot x\n"])
def test_nothing_to_take_leaves_what_was_imported(commands, folder, tab, text):
    take(commands, tab())
    before = (folder / "crontabs" / "nightly.json").read_bytes()
    assert commands.run("schedule", "import-crontab", tab(text)) == 2
    assert "no line of it can be taken; to remove what it became before" in commands.err
    assert (folder / "crontabs" / "nightly.json").read_bytes() == before


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("{", "import the crontab again"),
        ("[]", "expected objects process_context and schedule_context"),
        ('{"process_context": []}', "expected objects process_context and schedule_context"),
        ('{"timetable_context": {}}', "expected objects process_context and schedule_context"),
        ('{"process_context": {"x": {"command": ["x"]}}}', "process x: process_name is missing"),
        ('{"process_context": {"Agent": {}}}', "crontabs/ has one of that name, too"),
    ],
)
def test_a_damaged_file_is_a_finding(commands, folder, tab, content, reason):
    take(commands, tab())
    (folder / "crontabs" / "nightly.json").write_text(content)
    found = commands.json("check", code=78)["mistakes"]
    assert any(reason in mistake for mistake in found), found
    take(commands, tab())
    assert "sound" in commands.ok("check")


def test_one_name_in_two_crontabs_is_a_finding(commands, folder, tab):
    take(commands, tab())
    crontabs = folder / "crontabs"
    (crontabs / "other.json").write_bytes((crontabs / "nightly.json").read_bytes())
    found = commands.json("check", code=78)["mistakes"]
    assert any("is in another crontab, too" in mistake for mistake in found)


def test_a_file_that_all_can_write_is_a_finding(commands, folder, tab):
    take(commands, tab())
    (folder / "crontabs" / "nightly.json").chmod(0o666)
    found = commands.json("check", code=78)["mistakes"]
    assert any("every user can change it, and it is executed" in mistake for mistake in found)


def test_values_of_variables_are_not_shown_by_process_show(commands, deployed, tab):
    told = take(commands, tab("PGPASSWORD=verysecret\n0 2 * * * a\n"))
    shown = commands.json("process", "show", told["lines"][0]["schedule"])
    assert "PGPASSWORD" in shown["variables"]
    assert "verysecret" not in json.dumps(shown)
