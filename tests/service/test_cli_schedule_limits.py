"""`launch.py schedule`: end, number, dates and overlap, from files and calendar files."""

from __future__ import annotations

from pathlib import Path

from tests.service.cli_schedule_kit import everything

LIMITED = """
name: workdays
target: sqs:jobs
trigger: cron 0 9 * * *
end: 2015-05-31T00:00:00Z
max_runs: 4
jitter: 10m
exclude: [holidays.txt, 2015-05-23]
overlap: cancel_other
coalesce: true
pause_after_failures: 3
"""


def test_all_limits_are_stored_and_shown(home, file):
    path = file(LIMITED)
    Path(path).with_name("holidays.txt").write_text("2015-05-21 ours\n")
    said = home.ok("schedule", "add", path, "--enable")
    assert "coalesce: no event triggers this schedule" in said + home.err
    shown = home.json("schedule", "show", "workdays")
    assert {name: shown["definition"][name] for name in ("exclude", "jitter", "max_runs")} == {
        "exclude": ["2015-05-21", "2015-05-23"],
        "jitter": "10m",
        "max_runs": 4,
    }
    assert shown["words"] == (
        "at 09:00 every day, UTC, up to 10m later, except on 2 dates, until 2015-05-31T00:00:00Z, "
        "at most 4 runs, cancels the run before it, events join a run that waits, disabled after "
        "3 failures in a row: sends to sqs:jobs"
    )
    text = home.ok("schedule", "show", "workdays")
    for words in ("cancel_other", "2015-05-23", "pause after failures  3"):
        assert words in text
    days = [due["at"][:10] for due in home.json("schedule", "preview", "workdays")["dues"]]
    assert days == [f"2015-05-{day}" for day in range(21, 27)]  # two of them are excluded


def test_the_next_due_time_is_on_no_excluded_date(home, file):
    text = LIMITED.replace("jitter: 10m\n", "").replace("holidays.txt", "2015-05-21, 2015-05-22")
    home.ok("schedule", "add", file(text), "--enable")
    assert home.json("schedule", "show", "workdays")["next_due"] == "2015-05-24T09:00:00Z"


def test_a_calendar_file_that_cannot_be_read_adds_nothing(home, deployed, file):
    before = everything(deployed)
    path = file(LIMITED)
    assert home.run("schedule", "add", path) == 2
    assert "exclude: there is no calendar file" in home.err
    Path(path).with_name("holidays.txt").write_text("21.5.2015\n")
    assert home.run("schedule", "preview", "--file", path) == 2
    assert "line 1: expected a date such as '2026-11-22', not '21.5.2015'" in home.err
    assert everything(deployed) == before


def test_limits_by_which_nothing_would_be_due_are_refused(home, deployed, file):
    before = everything(deployed)
    text = LIMITED.replace("holidays.txt, ", "")
    past = text.replace("2015-05-31", "2015-05-01")
    assert home.run("schedule", "add", file(past)) == 2
    assert "end: 2015-05-01T00:00:00Z is past: nothing would be due" in home.err
    soon = text.replace("2015-05-31T00:00:00Z", "2015-05-21T08:00:00Z")
    assert home.run("schedule", "add", file(soon)) == 2
    assert "end: 'cron 0 9 * * *' is not due before it" in home.err
    assert everything(deployed) == before
