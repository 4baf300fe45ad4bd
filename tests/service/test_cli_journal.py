"""`launch.py journal list`, and the times that lists are limited to."""

from __future__ import annotations

from datetime import timedelta

import pytest

from synergy.cli import exits
from tests.contract.scheduled import a_run, an_event
from tests.factories import a_unit, an_entry
from tests.service.cli_timetable_kit import DAY, HOUR, PERIOD
from tests.service.commands import NOW

LISTS = [
    ("journal", "list", "--event", "gc"),
    ("unit", "list"),
    ("schedule", "runs"),
    ("event", "list"),
]
DAYS_AGO = (3, 2, 1)


@pytest.fixture
def written(deployed):
    """One row of each list on each of three days."""
    for days in DAYS_AGO:
        at = NOW - timedelta(days=days)
        deployed.store.units.create([a_unit(HOUR, created_at=at, end_id=days)], "")
        deployed.store.runs.create([a_run(f"{days}", created_at=at)], "")
        deployed.store.events.append([an_event(f"{days}", at=at)])
        deployed.store.journal.append([an_entry("gc.run", at=at)])


@pytest.mark.parametrize("argv", LISTS)
def test_lists_are_limited_to_a_range_of_time(commands, written, argv):
    def count(*more):
        return len(commands.json(*argv, *more)["items"])

    assert count() == len(DAYS_AGO)
    assert count("--from", "2015-05-18", "--to", "2015-05-19") == 1
    assert count("--from", "2015-05-18T12:00") == 2
    assert count("--to", "2015-05-18T12:00") == 1
    # At noon in UTC it is midnight, and so the next day, in Auckland.
    assert count("--from", "2015-05-19", "--zone", "Pacific/Auckland") == 2
    first = commands.json(*argv, "--limit", "1", "--to", "2015-05-19")
    rest = commands.json(*argv, "--cursor", first["next"], "--to", "2015-05-19")
    assert (len(rest["items"]), rest["next"]) == (1, None)


@pytest.mark.parametrize("argv", LISTS)
def test_what_is_no_time_is_refused_with_what_is(commands, deployed, argv):
    assert commands.run(*argv, "--from", "soon") == exits.USAGE
    assert "from: expected an instant" in commands.text
    assert "last night" in commands.text
    assert commands.run(*argv, "--zone", "Europe/Berln") == exits.USAGE
    assert "did you mean Europe/Berlin?" in commands.text


def test_the_journal_is_listed_by_process_period_event_and_author(commands, deployed):
    deployed.write("single_session", PERIOD, 5)
    deployed.settle()
    of_day = commands.json(
        "journal", "list", "--process", DAY, "--timeperiod", "2015-05-17", "--event", "job"
    )["items"]
    assert {entry["process"] for entry in of_day} == {DAY}
    assert of_day[0]["event"] in ("job.noop", "job.processed")
    assert commands.json("journal", "list", "--who", "nobody else")["items"] == []
    commands.ok("timetable", "reprocess", DAY, "2015-05-17", "--reason", "again")
    text = commands.ok("journal", "list", "--event", "job.started_over", "--process", DAY)
    assert "2015051700" in text
    assert "again" in text
    assert commands.run("journal", "list", "--timeperiod", "2015-05-17") == exits.USAGE
    assert "name its process" in commands.text
