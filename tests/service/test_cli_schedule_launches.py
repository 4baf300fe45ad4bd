"""`launch.py schedule trigger` with values of its own, `schedule backfill` and `schedule why`."""

from __future__ import annotations

import pytest

from tests.service.cli_schedule_kit import IMPORT, TWO, everything

RANGE = ("--from", "2015-05-20T08:00:00Z", "--to", "2015-05-20T10:30:00Z")


@pytest.fixture
def schedules(home, file):
    """Commands with `nightly`, which is disabled, and `hourly`, which runs each full hour."""
    home.ok("schedule", "add", file(TWO))
    home.ok("schedule", "enable", "hourly")
    return home


def test_a_payload_from_a_file_is_sent_by_one_run(schedules, file):
    path = file("numbers of ${scheduleName}")
    run = schedules.json("schedule", "trigger", "nightly", "--payload", path)["run"]
    shown = schedules.ok("schedule", "run", run)
    assert "numbers of nightly" in shown
    assert "by hand, with a payload of its own" in shown


def test_values_that_do_not_fit_the_schedule_are_refused(schedules, deployed, tmp_path):
    before = everything(deployed)
    assert schedules.run("schedule", "trigger", "nightly", "--arguments", '{"a": 1}') == 2
    assert "arguments: it goes with process, not target" in schedules.err
    assert schedules.run("schedule", "trigger", "nightly", "--payload", str(tmp_path / "no")) == 3
    assert everything(deployed) == before


def test_a_backfill_tells_what_it_does_and_does_nothing_twice(schedules, deployed):
    before = everything(deployed)
    planned = schedules.ok("schedule", "backfill", "hourly", *RANGE, "--dry-run")
    assert "3 due times of hourly, of which 3 would be run" in planned
    assert planned.count("would be run\n") == 3
    assert everything(deployed) == before
    found = schedules.json("schedule", "backfill", "hourly", *RANGE)
    assert [one["due_at"] for one in found["dues"]] == [
        f"2015-05-20T{hour:02}:00:00Z" for hour in (8, 9, 10)
    ]
    assert all(one["is_new"] and one["run"] for one in found["dues"])
    again = schedules.ok("schedule", "backfill", "hourly", *RANGE)
    assert "3 due times of hourly, of which 0 are run" in again
    assert again.count("pending_constraint") == 3
    assert len(schedules.json("schedule", "runs", "hourly")["items"]) == 3


def test_a_time_without_due_times_is_told(schedules):
    begin, end = "2015-05-20T08:10:00Z", "2015-05-20T08:50:00Z"
    said = schedules.ok("schedule", "backfill", "hourly", "--from", begin, "--to", end)
    assert f"hourly has no due time from {begin} to {end}" in said


def test_a_backfill_takes_the_times_of_lists_and_needs_both(schedules):
    words = ("--from", "yesterday", "--zone", "Europe/Berlin", "--dry-run")
    dues = schedules.json("schedule", "backfill", "hourly", *words)["dues"]
    assert [dues[0]["due_at"], dues[-1]["due_at"], len(dues)] == [
        "2015-05-18T22:00:00Z",
        "2015-05-19T21:00:00Z",
        24,
    ]
    assert schedules.run("schedule", "backfill", "hourly", "--from", "2015-05-19") == 2
    assert "--from and --to, or a span" in schedules.err


def test_a_list_of_one_program(schedules):
    items = schedules.json("schedule", "list", "--program", "sqs:jobs")["items"]
    assert [item["name"] for item in items] == ["hourly"]


def test_why_names_causes_remedies_and_events(schedules, file):
    said = schedules.ok("schedule", "why", "nightly")
    assert "disabled: it is disabled: it was never enabled" in said
    assert "helps: launch.py schedule enable nightly" in said
    schedules.ok("schedule", "add", file(IMPORT), "--enable")
    schedules.ok("event", "emit", "FILE", "/data/out/x")
    found = schedules.json("schedule", "why", "import-orders")
    assert [cause["kind"] for cause in found["causes"]] == ["no_agent", "unmet"]
    assert found["events"][0]["effect"] == "no leg waits for FILE /data/out/x"
    assert "no leg waits for FILE /data/out/x" in schedules.ok("schedule", "why", "import-orders")
    assert schedules.run("schedule", "why", "nightli") == 3
