"""`launch.py timetable show` tells failed, given-up and skipped jobs apart."""

from __future__ import annotations

from synergy.model.job import JobChange, JobState
from synergy.names import TIMETABLE_START
from synergy.timeperiod import Qualifier
from tests.service.cli_timetable_kit import HOUR

WINDOW = ("timetable", "show", "site", "--from", "2015051700", "--to", "2015051704")


def move(system, timeperiod, after, *, before=JobState.EMBRYO, **fields):
    hourly = Qualifier.HOURLY
    at = hourly.parse(timeperiod)
    moves = [JobChange(HOUR, hourly, at, at, before, after, 1, "so", "a test", **fields)]
    assert not system.store.jobs.move(moves, system.clock.now())


def test_a_skipped_job_shows_its_cause_and_is_counted_apart(commands, deployed):
    deployed.store.facts.set(TIMETABLE_START, deployed.start)
    move(deployed, "2015051700", JobState.FAILED)
    move(deployed, "2015051701", JobState.GIVEN_UP)
    move(deployed, "2015051702", JobState.GIVEN_UP)
    move(deployed, "2015051702", JobState.SKIPPED, before=JobState.GIVEN_UP, acknowledged=True)
    move(deployed, "2015051703", JobState.SKIPPED)
    hours = commands.json(*WINDOW)["trees"][0]["processes"][-1]
    assert [(job["state"], job["cause"]) for job in hours["jobs"]] == [
        ("failed", None),
        ("skipped", "given_up"),
        ("skipped", "acknowledged"),
        ("skipped", None),
    ]
    counts = {word: hours["counts"][word] for word in ("failed", "given_up", "skipped")}
    assert counts == {"failed": 1, "given_up": 1, "skipped": 2}
    shown = commands.ok(*WINDOW)
    assert "given_up" in shown
    heads = commands.ok("timetable", "show", "site").splitlines()[0].split()
    assert {"failed", "given_up", "skipped"} <= set(heads)


def test_why_and_show_agree_on_the_state(commands, deployed):
    deployed.store.facts.set(TIMETABLE_START, deployed.start)
    move(deployed, "2015051701", JobState.GIVEN_UP)
    cause = commands.json("timetable", "why", HOUR, "2015051701")
    assert (cause["kind"], cause["state"]) == ("given_up", "skipped")
