"""`launch.py unit` and `gc`."""

from __future__ import annotations

import threading

import pytest

from synergy.model.job import JobState
from synergy.model.unit_of_work import UnitState
from synergy.storage.protocol import LogLine
from tests.service.commands import HOUR
from tests.service.scheduler_harness import copy_rows

PERIOD = "2015051801"


@pytest.fixture
def requested(deployed):
    """A unit that waits for a worker."""
    deployed.write("single_session", PERIOD, 5)
    deployed.schedule()
    (unit,) = deployed.units(HOUR, PERIOD)
    return unit


def test_units_are_listed_and_shown_with_their_logs(commands, deployed, requested):
    line = LogLine(deployed.clock.now(), 1, "info", "half way there")
    deployed.store.logs.append(requested.id, [line])
    page = commands.json("unit", "list", "--process", HOUR, "--state", "requested")
    assert [item["id"] for item in page["items"]] == [requested.id]
    assert page["next"] is None
    shown = commands.json("unit", "show", requested.id)
    assert (shown["state"], shown["timeperiod"], shown["attempt"]) == ("requested", PERIOD, 1)
    assert commands.json("unit", "log", requested.id)["lines"][0]["text"] == "half way there"
    assert "half way there" in commands.ok("unit", "log", requested.id)
    assert requested.id in commands.ok("unit", "list")


def test_control_characters_of_workers_are_escaped(commands, deployed, requested):
    line = LogLine(deployed.clock.now(), 1, "info", "first\n\tsecond\r\x1b[31m")
    deployed.store.logs.append(requested.id, [line])
    shown = commands.ok("unit", "log", requested.id)
    assert shown.endswith("info: first\n\tsecond" + r"\r\x1b[31m" + "\n")
    assert commands.json("unit", "log", requested.id)["lines"][0]["text"] == line.text


def test_reasons_of_failures_are_printed_on_one_line_without_control_characters(
    commands, deployed, requested
):
    def work(task):
        raise ValueError("no disk\n\x1b[2J\x1b]0;mine\x07")

    assert deployed.round(HOUR, work)
    for argv in (
        ["unit", "list"],
        ["unit", "show", requested.id],
        ["timetable", "why", HOUR, PERIOD],
    ):
        shown = commands.ok(*argv)
        assert r"ValueError: no disk \x1b[2J\x1b]0;mine\x07" in shown, argv
        assert "\x1b" not in shown
    output = commands.json("unit", "show", requested.id)["reason"]
    assert output == "ValueError: no disk\n\x1b[2J\x1b]0;mine\x07"


def test_pages_of_units_follow_one_another(commands, deployed):
    for hour in range(4):
        deployed.write("single_session", f"20150517{hour:02}", 1)
    deployed.schedule()
    first = commands.json("unit", "list", "--limit", "3")
    rest = commands.json("unit", "list", "--limit", "3", "--cursor", first["next"])
    assert len({item["id"] for item in first["items"] + rest["items"]}) == 4


def test_a_canceled_unit_has_its_job_failed(commands, deployed, requested):
    dry = commands.json("unit", "cancel", requested.id, "--dry-run")
    assert (dry["before"], dry["after"]) == ("requested", "canceled")
    assert deployed.unit_states(HOUR, PERIOD) == [UnitState.REQUESTED]
    commands.ok("unit", "cancel", requested.id, "--reason", "useless")
    deployed.schedule()
    assert deployed.state(HOUR, PERIOD) is JobState.FAILED
    for verb in ("cancel", "retry"):
        assert commands.run("unit", verb, requested.id) == 4
        assert commands.run("unit", verb, requested.id, "--dry-run") == 4


def test_a_failed_unit_is_retried_at_once(commands, deployed, requested):
    def fail_once(task):
        if task.unit.attempt == 1:
            raise ValueError("disk on fire")
        return copy_rows(task)

    deployed.work(HOUR, work=fail_once)
    assert "disk on fire" in commands.ok("unit", "list", "--state", "invalid")
    commands.ok("unit", "retry", requested.id)
    deployed.settle()
    assert deployed.state(HOUR, PERIOD) is JobState.PROCESSED


def test_a_run_of_the_collector_needs_a_scheduler(commands, deployed):
    assert commands.run("gc", "run") == 5
    assert "supervisor start" in commands.err
    assert "no scheduler" in commands.ok("gc", "status")


def test_a_run_of_the_collector_is_waited_for(commands, deployed, requested):
    deployed.bus.purge(HOUR)
    (planned,) = commands.json("gc", "run", "--dry-run")["planned"]
    assert (planned["unit"], planned["verdict"]) == (requested.id, "publish")
    done = threading.Event()

    def keep_scheduling():
        while not done.wait(0.01):
            deployed.scheduler.run_once()

    scheduling = threading.Thread(target=keep_scheduling)
    scheduling.start()
    try:
        output = commands.json("gc", "run", "--flush", "--reason", "now")
    finally:
        done.set()
        scheduling.join()
    assert output["result"] == "publish 1"
    assert deployed.bus.depths() == {HOUR: 1}
    status = commands.json("gc", "status")
    assert (status["is_led"], status["units"]) == (True, {HOUR: {"requested": 1}})
    assert status["runs"][0]["why"] == "publish 1"
    assert "publish 1" in commands.ok("gc", "status")
