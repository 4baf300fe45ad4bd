"""`launch.py supervisor …`, where it starts no process."""

from __future__ import annotations

import sys

import pytest

from synergy.supervisor import control, daemon
from synergy.supervisor.control import StopReport
from synergy.supervisor.home_lock import HomeLock
from synergy.supervisor.start_report import Outcome, SlotReport, StartReport
from tests.service.commands import BOX


@pytest.fixture
def start_with(monkeypatch):
    """Replaces the start: it reports these changes, and ends with this report."""

    def install(report, *changes):
        configs = []

        def start(config, watcher):
            configs.append(config)
            for change in changes:
                watcher(change)
            return report

        monkeypatch.setattr(daemon, "start_detached", start)
        monkeypatch.setattr(daemon, "run_foreground", start)
        return configs

    return install


def test_nothing_runs_before_the_first_start(commands):
    assert commands.json("supervisor", "status") == {
        "box": BOX, "running": False, "pid": None, "processes": [], "leaders": [],
    }  # fmt: skip
    assert "launch.py supervisor start" in commands.ok("supervisor", "status")
    assert "nothing to stop" in commands.ok("supervisor", "stop")
    assert not commands.home.exists()


def test_a_dry_run_names_what_would_run_and_makes_nothing(commands):
    output = commands.json("supervisor", "start", "--dry-run")
    assert {"Scheduler/1", "SingleSessionWorker/2"} <= set(output["processes"])
    assert "EventStreamGenerator/1" not in output["processes"]  # the demo stream is off
    assert not commands.home.exists()


def test_a_dry_run_knows_what_is_switched_off(commands, deployed):
    commands.ok("box", "sync")
    commands.ok("box", "stop", "AlertDailyWorker")
    output = commands.json("supervisor", "start", "--dry-run")
    assert "AlertDailyWorker/1" not in output["processes"]


def test_a_start_prints_processes_logs_and_how_to_stop(commands, start_with):
    running = [
        SlotReport("Scheduler", 1, "starting", None),
        SlotReport("Scheduler", 1, "running", 71),
    ]
    start_with(StartReport(Outcome.STARTED, 70), *running)
    text = commands.ok("supervisor", "start")
    for word in ("Scheduler", "71", "70", str(commands.home / "logs"), "launch.py supervisor stop"):
        assert word in text
    assert "starting" not in text
    output = commands.json("supervisor", "start")
    assert (output["outcome"], output["processes"][0]["state"]) == ("started", "running")


@pytest.mark.parametrize(
    ("outcome", "code"),
    [
        (Outcome.STARTED, 0), (Outcome.ALREADY_RUNNING, 0), (Outcome.STOPPED, 0),
        (Outcome.INCOMPLETE, 1), (Outcome.FAILED, 1), (Outcome.UNREACHABLE, 5),
    ],
)  # fmt: skip
def test_the_exit_code_says_how_the_start_ended(commands, start_with, outcome, code):
    missing = (SlotReport("Scheduler", 1, "backoff", None),)
    report = StartReport(
        outcome, 70, "the disk is full", missing if outcome is Outcome.INCOMPLETE else ()
    )
    start_with(report)
    assert commands.run("supervisor", "start") == code
    if code:
        assert "the disk is full" in commands.err
    if missing and outcome is Outcome.INCOMPLETE:
        assert "Scheduler.log" in commands.err


def test_the_command_of_a_process_runs_it_in_the_console(commands, start_with):
    configs = start_with(StartReport(Outcome.STARTED, 70))
    commands.ok("supervisor", "start")
    command = configs[0].command("SingleSessionWorker", 2)
    assert command[0] == sys.executable
    assert command[2:] == (
        "process", "start", "SingleSessionWorker", "--console", "--instance", "2",
    )  # fmt: skip


def test_a_faulty_configuration_starts_nothing(commands, start_with, monkeypatch):
    configs = start_with(StartReport(Outcome.STARTED, 70))
    monkeypatch.setenv("SYNERGY_MX_PORT", "http")
    monkeypatch.setenv("SYNERGY_STOER", "x")
    for verb in ("start", "restart"):
        assert commands.run("supervisor", verb) == 78
        assert "did you mean store" in commands.err
        assert "2 mistakes" in commands.err
    assert configs == []


@pytest.mark.parametrize(
    ("report", "code", "word"),
    [
        (StopReport(was_running=True, is_stopped=True, pid=70), 0, "have stopped"),
        (StopReport(was_running=False, is_stopped=True, ended=3), 0, "3 processes"),
        (StopReport(was_running=True, is_stopped=False, pid=70, left=(5, 6)), 1, "5, 6"),
    ],
)
def test_a_stop_prints_what_became_of_each_process(commands, monkeypatch, report, code, word):
    monkeypatch.setattr(control, "stop", lambda home: report)
    assert commands.run("supervisor", "stop") == code
    assert word in commands.text


def test_a_mistake_in_the_context_does_not_prevent_a_stop(commands, monkeypatch, tmp_path):
    users = tmp_path / "users.json"
    users.touch()
    users.chmod(0o644)
    monkeypatch.setenv("SYNERGY_MX_USERS_FILE", str(users))
    monkeypatch.setenv("SYNERGY_CONTEXT", "no_such_context")
    monkeypatch.setattr(control, "stop", lambda home: StopReport(True, True, 70))
    assert commands.run("status") == 78
    assert commands.run("supervisor", "stop") == 0


def test_a_restart_starts_only_what_has_stopped(commands, start_with, monkeypatch):
    configs = start_with(StartReport(Outcome.STARTED, 70))
    left = StopReport(was_running=True, is_stopped=False, left=(5,))
    monkeypatch.setattr(control, "stop", lambda home: left)
    assert commands.run("supervisor", "restart") == 1
    assert configs == []
    monkeypatch.setattr(control, "stop", lambda home: StopReport(True, True))
    assert commands.json("supervisor", "restart")["outcome"] == "started"
    assert len(configs) == 1


def test_a_dry_run_of_a_stop_stops_nothing(commands):
    held = HomeLock(commands.home)
    assert held.acquire()
    try:
        assert commands.json("supervisor", "stop", "--dry-run")["running"] is True
        assert commands.json("supervisor", "status")["running"] is True
    finally:
        held.release()
