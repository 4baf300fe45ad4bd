"""Free-run processes from the command line."""

from __future__ import annotations

import logging

import pytest

from synergy.model.schedule import Schedule
from synergy.model.unit_of_work import UnitState
from synergy.worker.command import CommandWorker
from tests.service.free_runs import carry_out

SECOND = "20150520120000"  # when the commands' clock stands


@pytest.fixture(autouse=True)
def _context(monkeypatch):
    monkeypatch.setenv("SYNERGY_CONTEXT", "tests.acceptance.deployments.free")


@pytest.fixture
def system(commands, deployed):
    deployed.schedule()  # the timetable has a start now
    return deployed


def trigger(commands, *options):
    return commands.json("process", "trigger", "Program", *options)


def test_processes_are_listed_with_their_kind(commands, system):
    trigger(commands)
    shown = {p["name"]: p for p in commands.json("process", "list")["processes"]}
    assert {name: p["kind"] for name, p in shown.items()} == {
        "Scheduler": "daemon", "Agent": "daemon", "Once": "freerun", "Twice": "freerun",
        "Program": "freerun", "Ticking": "freerun",
        "Pool": "daemon",
    }  # fmt: skip
    one = commands.json("process", "show", "Program")
    assert (one["kind"], one["waiting"], one["units"]) == ("freerun", 1, {"requested": 1})
    assert (one["max_attempts"], one["arguments"]) == (1, {"code": 0})
    assert "freerun" in commands.ok("process", "list")
    assert "Twice/2" in commands.json("supervisor", "start", "--dry-run")["processes"]


def test_two_triggers_in_one_second_are_two_runs(commands, system):
    first, second = trigger(commands), trigger(commands, "--reason", "to see")
    assert first["run"] != second["run"]
    assert first == {
        "process": "Program", "triggered": True, "run": first["run"], "changed": True,
        "dry_run": False,
    }  # fmt: skip
    units = commands.json("unit", "list", "--process", "Program")["items"]
    assert [(u["id"], u["timeperiod"], u["state"]) for u in units] == [
        (second["run"], SECOND, "requested"),
        (first["run"], SECOND, "requested"),
    ]
    assert system.bus.depths() == {"Program": 2}
    text = commands.ok("process", "trigger", "Program")
    assert commands.json("unit", "list")["items"][0]["id"] in text


def test_a_dry_run_launches_nothing(commands, system):
    output = trigger(commands, "--dry-run")
    assert (output["run"], output["changed"], output["dry_run"]) == (None, False, True)
    assert "would be run now" in commands.ok("process", "trigger", "Program", "--dry-run")
    assert commands.json("unit", "list")["items"] == []
    assert system.store.runs.unfinished() == []


def test_a_process_that_is_off_is_not_run(commands, system):
    assert commands.json("process", "off", "Program")["changed"] is True
    assert commands.json("process", "show", "Program")["is_on"] is False
    for option in ((), ("--dry-run",)):
        assert commands.run("process", "trigger", "Program", *option) == 4
        assert "launch.py process on Program" in commands.err
    assert commands.json("process", "on", "Program")["changed"] is True
    assert trigger(commands)["run"]


def test_a_run_is_shown_with_its_log_and_can_be_canceled(commands, system, caplog):
    caplog.set_level(logging.INFO)
    done, dropped = trigger(commands)["run"], trigger(commands)["run"]
    worker = CommandWorker(system.workplace("Program", "a worker"))
    assert carry_out(system, worker.work, "Program")
    assert commands.json("unit", "show", done)["state"] == "processed"
    lines = commands.json("unit", "log", done)["lines"]
    assert [line["text"] for line in lines] == [f"{done} {SECOND}"]
    commands.ok("unit", "cancel", dropped, "--reason", "enough")
    shown = commands.json("unit", "show", dropped)
    assert (shown["state"], shown["reason"]) == ("canceled", "enough")


def test_a_unit_of_a_run_is_not_retried(commands, system):
    run = trigger(commands)["run"]
    for option in ((), ("--dry-run",)):
        assert commands.run("unit", "retry", run, *option) == 4
        assert f"launch.py schedule retry {run}" in commands.err
    [unit] = system.store.units.get([run])
    assert (unit.state, unit.attempt) == (UnitState.REQUESTED, 1)


def test_the_collector_looks_at_runs_when_it_is_asked_to(commands, system):
    run = trigger(commands)["run"]
    system.bus.purge("Program")
    for only in ("Program", ""):
        named = ("--process", only) if only else ()
        [planned] = commands.json("gc", "run", *named, "--dry-run")["planned"]
        assert (planned["unit"], planned["verdict"]) == (run, "publish")
    assert commands.json("gc", "run", "--process", "Once", "--dry-run")["planned"] == []
    assert commands.run("gc", "run", "--process", "Scheduler", "--dry-run") == 3
    assert commands.json("gc", "status")["units"] == {"Program": {"requested": 1}}


@pytest.mark.parametrize(
    "argv",
    [
        ["timetable", "why", "Program", SECOND],
        ["timetable", "reprocess", "Program", SECOND],
        ["timetable", "skip", "Program", SECOND],
    ],
)
def test_a_free_run_process_has_no_timetable(commands, system, argv):
    assert commands.run(*argv) == 3
    assert "it is a free-run process, which has no timetable" in commands.err


def test_the_timetable_is_shown_and_audited_without_them(commands, system):
    trigger(commands)
    assert commands.json("timetable", "show") == {"trees": []}
    audit = commands.json("timetable", "audit")
    assert (audit["expected"], audit["unexplained"]) == (0, [])
    assert commands.run("unit", "list", "--process", "Scheduler") == 3
    assert "it is a daemon" in commands.err


def test_an_interval_makes_a_schedule_and_changes_it(commands, system):
    assert commands.json("process", "interval", "Program", "every 60", "--dry-run") == {
        "process": "Program", "trigger": "every 60", "before": None, "changed": False,
        "dry_run": True,
    }  # fmt: skip
    assert system.store.schedules.count() == 0

    assert commands.json("process", "interval", "Program", "every 60")["changed"] is True
    [schedule] = system.store.schedules.get(["Program"])
    assert schedule.definition == {"name": "Program", "process": "Program", "trigger": "every 60"}
    assert (schedule.is_enabled, schedule.version) == (True, 1)
    shown = commands.json("process", "show", "Program")
    assert (shown["trigger"], shown["next_due"]) == ("every 60", "2015-05-20T12:01:00Z")

    output = commands.json("process", "interval", "Program", "at 13:05,12:00")
    assert (output["before"], output["trigger"]) == ("every 60", "at 12:00, 13:05")
    assert "is already due" in commands.ok("process", "interval", "Program", "at 12:00,13:05")
    [schedule] = system.store.schedules.get(["Program"])
    assert (schedule.definition["trigger"], schedule.version) == ("at 12:00, 13:05", 2)


def test_an_interval_keeps_the_rest_of_the_schedule(commands, system):
    definition = {
        "name": "Program", "process": "Program", "arguments": {"code": 99}, "trigger": "every 60",
        "constraints": [{"concurrency": {"n": 2, "scope": "program", "when_unmet": "wait"}}],
    }  # fmt: skip
    now = system.clock.now()
    schedule = Schedule(name="Program", definition=definition, created_at=now, changed_at=now)
    system.store.schedules.create([schedule], "a test")
    commands.ok("process", "interval", "Program", "every 5")
    assert "launch.py schedule enable Program" in commands.err  # it was, and is, disabled
    [schedule] = system.store.schedules.get(["Program"])
    assert schedule.definition == {**definition, "trigger": "every 5"}
    assert (schedule.is_enabled, schedule.version) == (False, 2)


@pytest.mark.parametrize(
    ("argv", "code", "text"),
    [
        (("Program", "every 0"), 2, "every 0"),
        (("Scheduler", "every 5"), 3, "it is a daemon"),
        (("Nobody", "every 5"), 3, "no such process: Nobody"),
    ],
)
def test_invalid_intervals_are_refused(commands, system, argv, code, text):
    assert commands.run("process", "interval", *argv) == code
    assert text in commands.err
    assert system.store.schedules.count() == 0


def test_a_schedule_of_the_name_that_does_something_else_is_left_alone(commands, system):
    now = system.clock.now()
    definition = {"name": "Program", "process": "Once", "trigger": "every 60"}
    schedule = Schedule(name="Program", definition=definition, created_at=now, changed_at=now)
    system.store.schedules.create([schedule], "a test")
    for option in ((), ("--dry-run",)):
        assert commands.run("process", "interval", "Program", "every 5", *option) == 4
        assert "launch.py schedule show Program" in commands.err
    [stored] = system.store.schedules.get(["Program"])
    assert stored.definition == definition
