"""`launch.py schedule preview`."""

from __future__ import annotations

from tests.service.cli_schedule_kit import IMPORT, NIGHTLY, TWO, WRONG, everything

PARTS = """
name: parts
target: https://user.example.com/
payload: here
trigger: {any_of: [{all_of: [at 06:00, {partition: visits}]}, every 3600]}
"""


def test_stored_schedules_and_files_are_previewed(home, deployed, file):
    home.ok("schedule", "add", file(TWO))
    before = everything(deployed)
    shown = home.ok("schedule", "preview", "nightly", "--from", "2026-03-28", "--to", "2026-03-30")
    assert "2026-03-29 01:00:00Z" in shown
    assert "03:00:00 +0200" in shown
    assert "02:30 does not exist" in shown
    assert "Unix cron" in shown
    assert "warning: payload: ${nothing} is unknown and stays as it is" in home.err
    one = file("name: x\ntarget: sqs:jobs\ntrigger: every 60\n", "one.yaml")
    found = home.json("schedule", "preview", "--file", one, "--limit", "2")
    assert [due["at"] for due in found["dues"]] == ["2015-05-20T12:00:00Z", "2015-05-20T12:01:00Z"]
    assert found["more"] is True
    assert home.run("schedule", "preview", "--file", file(WRONG)) == 2
    assert everything(deployed) == before


def test_a_preview_that_ends_before_it_begins_is_refused(home, file):
    argv = ["schedule", "preview", "--file", file(NIGHTLY), "--from", "2026-12-01"]
    assert home.run(*argv, "--to", "2026-11-30") == 2
    assert "--from comes after --to" in home.err
    assert "not due in this time" in home.ok(*argv, "--to", "2026-12-01")


def test_a_preview_says_that_its_due_times_alone_start_no_run(home, file):
    shown = home.ok("schedule", "preview", "--file", file(PARTS))
    assert "it runs when all parts are" in home.err
    assert "at 06:00 every day, UTC; every 3600: every hour" in shown
    home.ok("schedule", "preview", "--file", file(NIGHTLY))
    assert "it runs when all parts are" not in home.err


def test_a_preview_of_event_triggers_shows_what_a_run_sends(home, file):
    shown = home.ok("schedule", "preview", "--file", file(IMPORT + "payload: here\n"))
    assert "what a run would send:\nhere\n" in shown
    assert "what the first of them would send:\nhere\n" in home.ok(
        "schedule", "preview", "--file", file(PARTS)
    )
