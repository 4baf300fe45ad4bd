"""A whole deployment on a clock to turn: jobs, runs, schedules and events."""

from __future__ import annotations

import sys
from datetime import UTC, datetime

import pytest

from synergy.config.context import (
    QUALIFIER_HOURLY,
    cron,
    daemon_context_entry,
    event,
    freerun_context_entry,
    managed_context_entry,
    schedule_context_entry,
    timetable_tree_entry,
    webhook,
)
from synergy.errors import ConfigurationError, NotFound
from synergy.model.schedule import RunState
from synergy.testing import JobState, Simulation
from synergy.worker import Outcome, Processed, Task, Worker

NOW = datetime(2015, 5, 17, 9, 30, tzinfo=UTC)
EVERY_BOX = [".*"]


class Failing(Worker):
    def work(self, task: Task) -> Outcome:
        raise OSError("no such disk")


class Copy(Worker):
    unique_by = ("n",)

    def work(self, task: Task) -> Outcome:
        return Processed({"rows": task.sink.replace(task.timeperiod, task.source)})


def an_hour(**fields):
    given = {"command": ["true"], "source": "raw", "sink": "hours", **fields}
    return managed_context_entry(
        process_name="Hour", time_qualifier=QUALIFIER_HOURLY, present_on_boxes=EVERY_BOX, **given
    )


def a_program(*code, **fields):
    command = [sys.executable, "-c", *code]
    return freerun_context_entry(
        process_name="Report", command=command, present_on_boxes=EVERY_BOX, **fields
    )


TREE = {"t": timetable_tree_entry(tree_name="t", enclosed_processes=["Hour"], dependent_on=[])}


def a_simulation(entries, trees=None, schedules=None, **more):
    return Simulation.of_entries(entries, trees, schedules, start="2015-05-17", now=NOW, **more)


def test_a_failed_period_is_retried_by_an_operator():
    workers = {"Hour": Failing}
    with a_simulation({"Hour": an_hour(max_attempts=1)}, TREE, workers=workers) as system:
        system.put("raw", "2015-05-17T08", [{"n": 1}])
        system.settle()
        system.advance(minutes=2)
        assert system.state("Hour", "2015-05-17T08") is JobState.FAILED
        assert [str(error) for error in system.errors] == ["no such disk"]
        assert "no such disk" in system.why("Hour", "2015-05-17T08")
        (unit,) = system.units("Hour", "2015-05-17T08")
        assert "no such disk" in system.log(unit.id)[-1].text
        system.act("skip", "Hour", "2015-05-17T08")
        assert system.state("Hour", "2015-05-17T08") is JobState.SKIPPED


def test_a_range_is_reprocessed():
    with a_simulation({"Hour": an_hour()}, TREE, workers={"Hour": Copy}) as system:
        for hour in ("2015-05-17T07", "2015-05-17T08"):
            system.put("raw", hour, [{"n": 1}])
        system.settle()
        system.act("reprocess", "Hour", "2015-05-17T07", "2015-05-17T09")
        system.settle()
        generations = [system.units("Hour", f"201505170{n}")[-1].generation for n in (7, 8)]
        assert generations == [2, 2]
        assert len(system.rows("hours", "2015-05-17T07", "2015-05-17T08")) == 1


def test_a_free_run_process_runs_at_its_times_and_by_hand():
    entry = a_program("print('done')", trigger_frequency="at 10:00")
    with a_simulation({"Report": entry}) as system:
        system.advance(hours=1)
        (run,) = system.runs("Report")
        assert (run.state, f"{run.due_at:%H:%M}") == (RunState.PROCESSED, "10:00")
        by_hand = system.trigger("Report")
        system.settle()
        assert by_hand is not None
        assert [line.text for line in system.log(by_hand)] == ["done"]


def test_a_request_is_recorded_and_not_sent():
    hook = schedule_context_entry(
        schedule_name="hook",
        trigger=cron("0 * * * *"),
        **webhook("https://receiver.example/x", '{"at": "${scheduledTime}"}'),
    )
    with a_simulation({}, None, {"hook": hook}) as system:
        system.advance(hours=2)
        assert [request.body for request in system.requests] == [
            b'{"at": "2015-05-17T10:00:00.000Z"}',
            b'{"at": "2015-05-17T11:00:00.000Z"}',
        ]


def test_an_event_starts_a_run():
    trigger = event("TABLE", "ORDERS", "1h")
    schedule = schedule_context_entry(schedule_name="after", process="Report", trigger=trigger)
    with a_simulation({"Report": a_program("pass")}, None, {"after": schedule}) as system:
        system.settle()
        system.event("TABLE", "ORDERS")
        system.settle()
        assert [run.state for run in system.runs("after")] == [RunState.PROCESSED]


def test_days_are_played_through():
    with a_simulation({"Hour": an_hour()}, TREE, workers={"Hour": Copy}) as system:
        system.put("raw", "2015-05-19T23", [{"n": 1}])
        system.advance(days=3)
        assert system.state("Hour", "2015-05-19T23") is JobState.PROCESSED
        assert system.state("Hour", "2015-05-20T08") is JobState.NOOP


def test_mistakes_in_entries_are_all_named():
    daemon = daemon_context_entry(process_name="D", present_on_boxes=EVERY_BOX)
    with pytest.raises(ConfigurationError) as raised:
        a_simulation({"Hour": an_hour(max_active=0), "D": daemon}, TREE)
    assert len(raised.value.mistakes) == 2


def test_an_unknown_process_is_named():
    with a_simulation({"Hour": an_hour()}, TREE) as system, pytest.raises(NotFound, match="Hours"):
        system.state("Hours", "2015-05-17T08")


def test_the_project_is_played_through(monkeypatch, tmp_path):
    monkeypatch.setenv("SYNERGY_HOME", str(tmp_path / "home"))
    visit = {
        "domain": "a.example",
        "session_id": "1",
        "user_profile": {
            "ip": "1.2.3.4",
            "os": "x",
            "browser": "y",
            "language": "z",
            "country": "c",
            "screen_resolution": "r",
        },
        "browsing_history": {
            "number_of_pageviews": 2,
            "number_of_entries": 1,
            "total_duration": 3,
        },
    }
    with Simulation.of_project(start="2015-05-17", now=NOW) as system:
        system.put("single_session", "2015-05-17T08", [visit])
        system.settle()
        (row,) = system.rows("site_hourly")
        assert row["stat"]["number_of_pageviews"] == 2
    assert not (tmp_path / "home").exists()
