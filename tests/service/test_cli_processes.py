"""`launch.py process` and `box`, and a process in this terminal."""

from __future__ import annotations

import io
import subprocess
import sys

import pytest

from synergy import compose
from synergy.supervisor.home_lock import HomeLock
from synergy.supervisor.proctable import MARKER
from tests.service.commands import BOX, DAY, SESSIONS


def test_a_process_is_switched_off_and_on_once_each(commands, deployed):
    off = ("process", "off", DAY, "--reason", "moving")
    assert commands.json(*off, "--dry-run")["changed"] is False
    assert commands.json("process", "show", DAY)["is_on"] is True
    output = commands.json(*off)
    assert (output["process"], output["is_on"], output["changed"]) == (DAY, False, True)
    assert commands.json("process", "show", DAY)["is_on"] is False
    assert "already off" in commands.ok(*off)
    entries = deployed.store.journal.find(DAY)
    assert [(e.event, e.why) for e in entries] == [("process.off", "moving")]
    commands.ok("process", "on", DAY)
    assert commands.json("process", "show", DAY)["is_on"] is True


def test_a_daemon_is_switched_on_over_its_declaration(commands, deployed):
    assert commands.json("process", "show", "EventStreamGenerator")["is_on"] is False
    commands.ok("process", "on", "EventStreamGenerator")
    assert commands.json("process", "show", "EventStreamGenerator")["is_on"] is True


def test_an_interval_is_shown_in_its_canonical_form(commands, deployed):
    output = commands.json("process", "interval", DAY, "at 7:30, 3-05:00", "--dry-run")
    assert (output["trigger"], output["before"], output["changed"]) == (
        "at 07:30, 3-05:00", "every 60", False,
    )  # fmt: skip
    commands.ok("process", "interval", DAY, "at 7:30, 3-05:00")
    shown = {p["name"]: p for p in commands.json("process", "list")["processes"]}[DAY]
    assert (shown["trigger"], shown["next_due"]) == ("at 07:30, 3-05:00", "2015-05-21T05:00:00Z")


def test_a_trigger_without_a_scheduler_says_so(commands, deployed):
    commands.ok("process", "trigger", DAY)
    assert "no scheduler leads the tree" in commands.err
    assert deployed.store.journal.find(DAY)[0].event == "process.triggered"


def test_start_and_stop_need_a_supervisor_and_otherwise_change_nothing(commands, deployed):
    commands.ok("box", "sync")
    for verb in ("start", "stop"):
        assert commands.run("process", verb, DAY) == 5
        assert f"launch.py box {verb} {DAY}" in commands.err
    assert all(a.is_on for a in deployed.store.boxes.assignments(BOX))
    held = HomeLock(commands.home)
    assert held.acquire()
    try:
        assert commands.json("process", "stop", DAY)["changed"] is True
    finally:
        held.release()
    assert {a.process for a in deployed.store.boxes.assignments(BOX) if not a.is_on} == {DAY}


def test_process_show_prints_the_declaration(commands, deployed):
    text = commands.ok("process", "show", DAY)
    for word in ("daily", "site_hourly", "site_daily", "continuous", "every 60"):
        assert word in text


def test_a_box_is_synced_without_switching_anything_back_on(commands, deployed):
    dry = commands.json("box", "sync", "--dry-run")
    assert DAY in dry["added"]
    assert deployed.store.boxes.assignments() == []
    assert commands.json("box", "sync")["added"] == dry["added"]
    assert commands.json("box", "stop", DAY)["changed"] is True
    assert commands.json("box", "sync")["added"] == []
    (box,) = commands.json("box", "list")["boxes"]
    is_on = {p["process"]: p["is_on"] for p in box["processes"]}
    assert (box["id"], is_on.pop(DAY), set(is_on.values())) == (BOX, False, {True})
    assert "already off" in commands.ok("box", "stop", DAY)
    assert DAY in commands.ok("box", "list")
    assert commands.ok("box", "id") == f"{BOX}\n"


def test_box_start_warns_if_the_process_is_switched_off_everywhere(commands, deployed):
    commands.ok("box", "sync")
    commands.ok("box", "stop", "EventStreamGenerator")
    commands.ok("box", "start", "EventStreamGenerator")
    assert "launch.py process on EventStreamGenerator" in commands.err


def test_the_shell_provides_the_deployment(commands, deployed, monkeypatch):
    deployed.schedule()
    lines = "print(reads.why('SiteDailyAggregator', '2015051700').state.word)\n"
    monkeypatch.setattr(sys, "stdin", io.StringIO(lines))
    assert "noop" in commands.ok("shell")


@pytest.mark.parametrize(("ended_well", "code"), [(True, 0), (False, 1)])
def test_process_start_with_console_runs_the_process_in_this_terminal(
    commands, monkeypatch, ended_well, code
):
    ran = []

    def run_process(project, name, instance, *, console):
        ran.append((name, instance, console))
        return ended_well

    monkeypatch.setattr(compose, "run_process", run_process)
    monkeypatch.delenv(MARKER, raising=False)
    argv = ("process", "start", SESSIONS, "--console", "--instance", "2")
    assert commands.run(*argv, "--dry-run") == 0
    assert ran == []
    assert commands.run(*argv) == code
    monkeypatch.setenv(MARKER, "x/y/1/z")  # a supervisor keeps its output, so the log is enough
    assert commands.run(*argv) == code
    assert ran == [(SESSIONS, 2, True), (SESSIONS, 2, False)]


def test_running_a_process_imports_no_other_family_of_commands():
    code = (
        "import sys; from synergy.cli.main import _parser;"
        "_parser('process').parse_args(['process', 'start', 'X', '--console']);"
        "import synergy.compose; print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    families = {name for name in loaded if name.startswith("synergy.cli.")}
    assert families == {
        f"synergy.cli.{name}"
        for name in ("main", "exits", "options", "output", "process", "recording", "services")
    }
    assert not {
        name
        for name in loaded
        if name.startswith(("synergy.commands", "synergy.queries", "synergy.timetable"))
    }
