"""`launch.py run`: one period here and now, with or without a conclusion."""

from __future__ import annotations

import io
import json
import sys
import threading
from types import SimpleNamespace

import pytest

from synergy.cli.main import main
from synergy.commands.period_by_hand import DoneByHand, PeriodByHand
from synergy.errors import Refused
from synergy.lifecycle.legal_moves import UnitMove
from synergy.model.job import JobState
from synergy.model.unit_of_work import Hint, UnitState
from tests.service.commands import DAY, HOUR
from tests.service.scheduler_harness import OPERATOR
from workers.site_hourly_aggregator import SiteHourlyAggregator

PERIOD, WRITTEN = "2015051713", "2015-05-17T13"
FREE = "tests.acceptance.deployments.free"


def a_visit(number=1, pages=2):
    return {
        "domain": "a.example",
        "session_id": str(number),
        "user_profile": dict.fromkeys(
            ("ip", "os", "browser", "language", "country", "screen_resolution"), "x"
        ),
        "browsing_history": {
            "number_of_pageviews": pages,
            "number_of_entries": 1,
            "total_duration": 3,
        },
    }


@pytest.fixture
def visited(deployed):
    """A system in which the hour of PERIOD is processed, and everything made from it."""
    deployed.put("single_session", PERIOD, [a_visit()])
    really_settle(deployed)
    assert deployed.state(HOUR, PERIOD) is JobState.PROCESSED
    return deployed


def really_settle(system):
    """Has the workers of the deployment do everything that is due, not those of the harness."""
    for _ in range(100):
        system.schedule()
        if not system._workers.carry_out():
            return


def pages(system):
    (row,) = system.store.documents.read("site_hourly", "", "")
    return row["stat"]["number_of_pageviews"]


def test_rows_are_printed_and_nothing_is_written(home, visited):
    visited.put("single_session", PERIOD, [a_visit(2, pages=5)])
    seq = visited.store.journal.last_seq()
    out = home.ok("run", HOUR, WRITTEN)
    assert json.loads(out)["stat"]["number_of_pageviews"] == 7
    assert "1 row would be written to site_hourly" in home.err
    assert (pages(visited), visited.store.journal.last_seq()) == (2, seq)


def test_written_rows_become_those_of_the_period_with_all_that_is_made_from_it(home, visited):
    visited.put("single_session", PERIOD, [a_visit(2, pages=5)])
    shown = home.json("run", HOUR, WRITTEN, "--write", "--reason", "mended")
    assert [HOUR, PERIOD] in shown["started_over"]
    assert [DAY, "2015051700"] in shown["started_over"]
    assert pages(visited) == 7
    (_, unit) = visited.units(HOUR, PERIOD)
    assert (unit.state, unit.generation, unit.counts["sessions"]) == (UnitState.PROCESSED, 2, 2)
    really_settle(visited)
    assert visited.state(HOUR, PERIOD) is JobState.PROCESSED
    assert len(visited.units(HOUR, PERIOD)) == 2  # nobody does it again
    (day,) = visited.store.documents.read("site_daily", "", "")
    assert day["stat"]["number_of_pageviews"] == 7
    story = visited.store.journal.of_job(HOUR, PERIOD)
    assert "job.started_over" in [entry.event for entry in story if entry.why == "mended"]
    assert visited.audit().is_clean


def test_what_was_logged_is_kept_with_the_unit(home, visited, monkeypatch):
    def work(worker, task):
        task.log.info("by hand")
        return original(worker, task)

    original = SiteHourlyAggregator.work
    monkeypatch.setattr(SiteHourlyAggregator, "work", work)
    home.ok("run", HOUR, WRITTEN, "--write")
    assert "info: by hand" in home.err
    assert [line.text for line in visited.log(visited.units(HOUR, PERIOD)[-1].id)] == ["by hand"]


def test_failed_work_shows_its_traceback_and_changes_nothing(home, visited, monkeypatch, capsys):
    def work(_worker, _task):
        raise OSError("no such disk")

    monkeypatch.setattr(SiteHourlyAggregator, "work", work)
    seq = visited.store.journal.last_seq()
    capsys.readouterr()
    assert main(["run", HOUR, WRITTEN, "--write", "--json"]) == 1
    shown, err = capsys.readouterr()
    assert json.loads(shown)["reason"] == "OSError: no such disk"
    assert 'raise OSError("no such disk")' in err
    assert visited.store.journal.last_seq() == seq


def test_work_runs_in_the_main_thread_so_that_a_debugger_can_stop_it(home, visited, monkeypatch):
    def work(worker, task):
        breakpoint()
        return original(worker, task)

    threads = []
    original = SiteHourlyAggregator.work
    monkeypatch.setattr(SiteHourlyAggregator, "work", work)
    monkeypatch.setattr(sys, "breakpointhook", lambda: threads.append(threading.current_thread()))
    home.ok("run", HOUR, WRITTEN)
    assert threads == [threading.main_thread()]


def test_a_failed_period_is_written_by_hand(home, deployed):
    def fail(_task):
        raise OSError("no such disk")

    deployed.put("single_session", PERIOD, [a_visit()])
    for wait in (0, 61, 121):
        deployed.advance(wait)
        deployed.work(HOUR, work=fail)
    deployed.advance(1)
    deployed.new_workers()
    assert deployed.state(HOUR, PERIOD) is JobState.FAILED
    home.ok("run", HOUR, WRITTEN, "--write")
    really_settle(deployed)
    assert deployed.state(HOUR, PERIOD) is JobState.PROCESSED
    assert pages(deployed) == 2


def test_an_open_period_is_only_run(home, deployed):
    deployed.schedule()
    deployed.put("single_session", "2015052012", [a_visit()])
    home.ok("run", HOUR, "2015-05-20T12")
    assert home.run("run", HOUR, "2015-05-20T12", "--write") == 4
    assert "is open until 2015-05-20 13:" in home.err


def test_a_period_that_waits_for_others_is_not_written(home, deployed):
    deployed.put("single_session", PERIOD, [a_visit()])
    deployed.schedule()
    assert home.run("run", DAY, "2015-05-17", "--write") == 4
    assert f"waits for {HOUR} {PERIOD}: launch.py timetable why {DAY} 2015051700" in home.err


def test_a_period_in_progress_is_not_written(home, deployed):
    deployed.put("single_session", PERIOD, [a_visit()])
    deployed.schedule()
    (unit,) = deployed.units(HOUR, PERIOD)
    deployed.store.units.claim([Hint(unit.id, 1)], "a worker", deployed.clock.now())
    assert home.run("run", HOUR, WRITTEN, "--write") == 4
    assert f"launch.py unit cancel {unit.id}" in home.err


def test_a_period_that_waits_for_a_worker_is_taken_over(home, deployed):
    deployed.put("single_session", PERIOD, [a_visit()])
    deployed.schedule()
    home.ok("run", HOUR, WRITTEN, "--write")
    states = deployed.unit_states(HOUR, PERIOD)
    assert states == [UnitState.CANCELED, UnitState.PROCESSED]
    really_settle(deployed)
    assert deployed.state(HOUR, PERIOD) is JobState.PROCESSED


def test_an_empty_source_is_not_written(home, deployed):
    deployed.schedule()
    assert home.run("run", HOUR, WRITTEN, "--write") == 4
    assert "has an empty source" in home.err


def test_a_job_that_changed_meanwhile_is_not_concluded(visited):
    now = visited.clock.now()
    period = PeriodByHand(visited.store, visited.bus, visited.deployment, HOUR, PERIOD)
    unit = period.unit(now)
    visited.put("single_session", PERIOD, [a_visit(2)])
    visited.reprocess(HOUR, (PERIOD, PERIOD), OPERATOR, now)
    really_settle(visited)
    seq = visited.store.journal.last_seq()
    done = DoneByHand(UnitMove.PASS, {}, (), ())
    with pytest.raises(Refused, match="has changed meanwhile, and its rows were not written"):
        period.conclude(unit, done, "me", OPERATOR, now)
    assert visited.store.journal.last_seq() == seq
    assert pages(visited) == 4


ROW = a_visit()
COLUMNS = "domain,session_id\na.example,1\n"


@pytest.mark.parametrize(
    "text", [json.dumps([ROW, ROW]), f"{json.dumps(ROW)}\n{json.dumps(ROW)}\n"]
)
def test_rows_of_a_file_are_the_source(commands, file, text):
    path = file(text, "rows")
    shown = commands.json("run", HOUR, WRITTEN, "--source", path)
    assert shown["counts"]["sessions"] == 2
    assert not commands.home.exists()  # no store was needed


def test_rows_come_by_standard_input(commands, monkeypatch):
    given = SimpleNamespace(buffer=io.BytesIO(json.dumps([ROW]).encode()))
    monkeypatch.setattr(sys, "stdin", given)
    assert commands.json("run", HOUR, WRITTEN, "--source", "-")["counts"]["sessions"] == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1]", "number 1 is not an object"),
        ("[{", "Expecting property name"),
        ('{"a": 1}\n{', "line 2: "),
        ("a,b\n1\n", "line 2: expected 2 values"),
        ('[{"timeperiod": "x"}]', "source row 1: timeperiod 'x' is no timeperiod"),
    ],
)
def test_files_that_are_no_rows_are_refused(commands, file, text, message):
    assert commands.run("run", HOUR, WRITTEN, "--source", file(text, "rows")) == 2
    assert message in commands.err


def test_csv_has_texts(file):
    from synergy.cli.input_files import read_rows

    assert read_rows(file(COLUMNS)) == [{"domain": "a.example", "session_id": "1"}]
    assert read_rows(file("")) == []


@pytest.mark.parametrize(
    ("argv", "code", "message"),
    [
        (["Scheduler"], 3, "launch.py process start Scheduler --console"),
        (["SiteHourly"], 3, "did you mean"),
        ([HOUR], 2, "name the period"),
        ([HOUR, "2015-05-17"], 2, "hourly timeperiods are expected"),
        ([HOUR, "2014-05-17T00", "--write"], 3, "the timetable of this process holds"),
        ([HOUR, WRITTEN, "--write", "--source", "x"], 2, "exclude each other"),
    ],
)
def test_what_cannot_be_run_is_refused(home, deployed, argv, code, message):
    deployed.schedule()
    assert home.run("run", *argv) == code
    assert message in home.err


def test_a_free_run_command_prints_its_output_as_it_comes(commands, monkeypatch, tmp_path):
    context = tmp_path / "own_context.py"
    context.write_text(
        "from synergy.config.context import freerun_context_entry\n"
        "process_context = {'Report': freerun_context_entry(process_name='Report', token='r',\n"
        "    command=['sh', '-c', 'echo $$1; exit 3', 'x', '${n}'],\n"
        "    arguments={'n': 1}, present_on_boxes=['.*'])}\n"
        "timetable_context = {}\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("SYNERGY_CONTEXT", "own_context")
    assert commands.run("run", "Report", "--arguments", '{"n": 5}') == 1
    assert commands.out == "5\n"
    failed = "error: Report 20150520120000 failed: CommandFailed: exit code 3: nothing on standard"
    assert commands.err.startswith(failed)
    assert commands.run("run", "Report", "--arguments", '{"m": 5}') == 2
    assert "has no argument m" in commands.err
    assert commands.run("run", "Report", "--write") == 2
    assert "launch.py process trigger Report" in commands.err
    assert commands.run("run", "Report", "2015-05-17") == 2
    assert not commands.home.exists()
