"""`launch.py status`: what it prints, and its exit codes."""

from __future__ import annotations

import pytest

from synergy.errors import MessagingUnavailable
from synergy.messaging.stored import StoredBus
from synergy.model.job import JobState
from synergy.runtime.shared_parts import DECIDER
from synergy.worker.outcome import Processed

HOUR = "SiteHourlyAggregator"
BAD = "2015051801"


@pytest.fixture
def done(deployed):
    """A system whose work is done, with an agent that decides about schedules."""
    deployed.settle()
    deployed.store.leases.take(None, DECIDER, "an agent")
    return deployed


def fail(system):
    """Has an hour fail at all its attempts."""
    system.write("single_session", BAD, 5)

    def work(_task):
        raise OSError("no such host")

    system.new_workers()
    for name in system.deployment.managed():
        system.runner(name, work if name == HOUR else lambda _task: Processed({"rows": 1}))
    for _ in range(12):
        system.advance(61)
        system.settle()
    assert system.state(HOUR, BAD) is JobState.FAILED


def test_the_status_is_unknown_without_a_store(commands):
    assert commands.run("status") == 5
    assert "launch.py supervisor start" in commands.err
    assert not commands.home.exists()


def test_the_status_is_unknown_before_the_first_start(commands, deployed):
    assert commands.run("status") == 5
    assert commands.out.startswith("cannot tell: the timetable has no first hour yet")
    assert commands.json("status", code=5)["is_well"] is None


def test_all_is_well(commands, done):
    assert commands.ok("status").splitlines()[0] == "well"
    found = commands.json("status")
    assert (found["is_well"], found["text"], found["findings"]) == (True, "well", [])


def test_findings_are_shown_with_their_age_and_remedy(commands, done):
    fail(done)
    assert commands.run("status") == 1
    lines = commands.out.splitlines()
    assert lines[0].startswith("not well: 1 period failed")
    finding_line = next(line for line in lines if line.startswith("failed: "))
    assert f"1 period of {HOUR} failed: {BAD}" in finding_line
    assert "no such host" in finding_line
    assert "  since  2015-05-20 12:" in commands.out
    assert f"launch.py timetable retry {HOUR} {BAD}" in commands.out
    found = commands.json("status", code=1)
    (finding,) = [one for one in found["findings"] if one["kind"] == "failed"]
    assert (finding["count"], finding["first"]["timeperiod"]) == (1, BAD)
    assert finding["helps"][0]["path"] == "/api/v1/jobs/retry"


def test_the_status_is_unknown_without_the_bus(commands, done, monkeypatch):
    def no_bus(*_):
        raise MessagingUnavailable("the broker is away")

    monkeypatch.setattr(StoredBus, "dead", no_bus)
    assert commands.run("status") == 5
    assert "the broker is away" in commands.err
