"""One unit on rows in memory: what a worker's author sees of it."""

from __future__ import annotations

import logging
import tempfile
import threading
from datetime import date

import pytest

from synergy.errors import InvalidValue
from synergy.testing import UnitState, run_worker
from synergy.worker import Nothing, Outcome, Processed, Task, Worker


class Copy(Worker):
    """Writes the rows of its source, by domain, and what `arguments` says."""

    unique_by = ("domain",)

    def work(self, task: Task) -> Outcome:
        rows = [{**row, **task.arguments} for row in task.source]
        return Processed({"rows": task.sink.replace(task.timeperiod, rows)})


class Elsewhere(Worker):
    """Writes a row outside of its period."""

    def work(self, task: Task) -> Outcome:
        task.sink.replace("2015051710", [{}])
        return Processed()


class Empty(Worker):
    def work(self, task: Task) -> Outcome:
        assert list(task.source) == []
        return Nothing()


class Week(Worker):
    """Compares a day with the one a week before."""

    def work(self, task: Task) -> Outcome:
        before = list(task.source.between("2015051000", "2015051100"))
        return Processed({"now": len(list(task.source)), "before": len(before)})


class Export(Worker):
    def work(self, task: Task) -> Outcome:
        assert task.run is not None
        task.log.info("%s of %s", task.arguments["n"], task.timeperiod)
        return Processed()


def test_rows_come_and_go_with_their_types():
    run = run_worker(Copy, "2015051709", source=[{"domain": "a", "on": date(2015, 5, 17)}])
    assert run.state is UnitState.PROCESSED
    assert run.rows == [{"domain": "a", "on": date(2015, 5, 17), "timeperiod": "2015051709"}]


def test_rows_with_the_same_key_are_refused_as_in_a_deployment():
    run = run_worker(Copy, "2015-05-17T09", source=[{"domain": "a"}, {"domain": "a"}])
    assert (run.state, run.rows) == (UnitState.INVALID, [])
    assert run.reason.startswith("InvalidValue: row 2 (domain='a') would replace row 1")
    assert isinstance(run.error, InvalidValue)


def test_rows_outside_of_the_period_are_refused_when_they_are_written():
    run = run_worker(Elsewhere, "2015-05-17T09")
    assert (run.state, run.error) == (UnitState.INVALID, None)
    assert "lies outside 2015051709..2015051710" in run.reason


def test_the_work_is_called_without_source_rows_too():
    run = run_worker(Empty, "2015-05")
    assert (run.state, run.rows, run.error) == (UnitState.NOOP, [], None)


def test_a_row_names_another_period_by_its_field():
    week_ago = {"timeperiod": "2015051000", "n": 1}
    run = run_worker(Week, "2015-05-17", source=[week_ago, {"n": 2}, {"n": 3}])
    assert run.counts == {"now": 2, "before": 1}


def test_a_worker_of_a_free_run_process_has_a_run_and_arguments():
    run = run_worker(Export, arguments={"n": 5})
    assert run.state is UnitState.PROCESSED
    assert run.log == ["INFO 5 of 20260101000000"]


def test_arguments_are_given():
    run = run_worker(Copy, "2015-05-17T09", source=[{"domain": "a"}], arguments={"mode": "x"})
    assert run.rows[0]["mode"] == "x"


@pytest.mark.parametrize(
    ("timeperiod", "source", "message"),
    [
        ("2015051700", [], "2015051700 is an hour or a day: write 2015-05-17T00 or 2015-05-17"),
        ("yesterday", [], "expected"),
        ("2015-05-17", [{"timeperiod": "9"}], "source row 1: timeperiod '9' is no timeperiod"),
        ("2015-05-17", [{}, {"x": {1}}], "source row 2: field x is a set"),
        ("2015-05-17", [{}, "x"], "source row 2 is "),
    ],
)
def test_what_cannot_be_meant_is_refused(timeperiod, source, message):
    with pytest.raises(InvalidValue, match=message):
        run_worker(Copy, timeperiod, source=source)


def test_nothing_is_left_behind(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = threading.active_count()
    level, handlers = logging.getLogger().level, list(logging.getLogger().handlers)
    run_worker(Copy, "2015-05-17T09", source=[{"domain": "a"}])
    assert list(tmp_path.iterdir()) == []
    assert threading.active_count() == before
    assert (logging.getLogger().level, logging.getLogger().handlers) == (level, handlers)
