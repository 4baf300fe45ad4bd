"""`launch.py timetable wait`: when it ends, its exit codes and its output."""

from __future__ import annotations

import threading

import pytest

from synergy.cli import timetable_wait
from synergy.messaging.message import EventsMessage
from tests.service.cli_timetable_kit import DAY, HOUR, PERIOD, failing


@pytest.fixture
def with_data(deployed):
    deployed.write("single_session", PERIOD, 5)
    deployed.settle()
    return deployed


def test_wait_ends_at_once_for_a_job_that_is_done(commands, with_data):
    output = commands.json("timetable", "wait", DAY, "2015051800")
    assert (output["state"], output["done"], output["leaves"]) == ("processed", True, [])
    assert "noop" in commands.ok("timetable", "wait", DAY, "2015051700")


def test_wait_prints_the_leaf_causes_at_its_timeout(commands, deployed):
    deployed.write("single_session", PERIOD, 5)
    deployed.schedule()
    output = commands.json("timetable", "wait", DAY, "2015051800", "--timeout", "0", code=1)
    assert (output["done"], output["leaves"][0]["process"]) == (False, HOUR)
    assert commands.run("timetable", "wait", DAY, "2015051800", "--timeout", "0") == 1
    assert f"helps: launch.py process start {HOUR}" in commands.out


def test_wait_fails_for_a_job_that_was_skipped(commands, deployed):
    deployed.write("single_session", PERIOD, 5)
    deployed.schedule()
    commands.ok("timetable", "skip", HOUR, PERIOD, "--reason", "lost")
    output = commands.json("timetable", "wait", HOUR, PERIOD, code=1)
    assert (output["state"], output["done"]) == ("skipped", True)
    assert "lost" in output["leaves"][0]["text"]


def test_wait_ends_when_waiting_does_not_help(commands, deployed):
    failing(deployed)
    output = commands.json("timetable", "wait", DAY, "2015051800", code=1)
    assert (output["done"], output["failed"]) == (False, 1)
    assert output["leaves"][0]["kind"] == "failed"
    assert commands.run("timetable", "wait", DAY, "2015051800") == 1
    assert f"helps: launch.py timetable retry {HOUR} {PERIOD}" in commands.out


def test_wait_considers_late_data_and_waiting_events(commands, with_data):
    argv = ("timetable", "wait", DAY, "2015051700", "--timeout", "0")
    with with_data.store.batch() as batch:
        with_data.bus.publish("SingleSessionWorker", [EventsMessage([{}])], batch)
    output = commands.json(*argv, code=1)
    assert (output["state"], output["done"], output["events_waiting"]) == ("noop", False, 1)
    with_data.bus.purge("SingleSessionWorker")
    with_data.write("single_session", "2015051702", 1)
    output = commands.json(*argv, code=1)
    assert (output["done"], output["late"]) == (False, HOUR)
    assert "late data" in (commands.run(*argv), commands.out)[1]


def test_wait_lasts_until_the_job_is_done(commands, deployed, monkeypatch):
    deployed.write("single_session", PERIOD, 5)
    deployed.schedule()
    looked = threading.Event()
    pause = timetable_wait._pause

    def signal_and_pause(*args):
        looked.set()
        pause(*args)

    monkeypatch.setattr(timetable_wait, "_pause", signal_and_pause)
    codes = []
    argv = ("timetable", "wait", DAY, "2015051800", "--timeout", "600")
    waiter = threading.Thread(target=lambda: codes.append(commands.run(*argv)))
    waiter.start()
    assert looked.wait(120)
    assert codes == []
    deployed.settle()
    waiter.join(120)
    assert codes == [0]
    assert "processed" in commands.out
