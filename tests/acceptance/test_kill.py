"""kill -9 of every kind of process, one by one and all at once, while a log is ingested.

The results must equal those of an undisturbed run, every job is finished once in each of its
generations, and no process runs twice or is left over.
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from contextlib import contextmanager
from datetime import date

import pytest

from synergy.clock import SystemClock
from synergy.model.unit_of_work import UnitState
from tests.acceptance import visits
from tests.acceptance.deployments import gated_suite, gates
from tests.acceptance.kit import end_of, kill
from tests.acceptance.visits import SITE
from tests.access_log import access_log

LAST_YEAR = SystemClock().now().year - 1
FIRST_DAY = date(LAST_YEAR, 5, 30)
START = f"{FIRST_DAY:%Y%m%d}00"
LOG = access_log(FIRST_DAY, lines=4000)


@pytest.fixture
def home(homes, tmp_path):
    return homes(
        start_timeperiod=START,
        context="tests.acceptance.deployments.killed_suite",
        test_gates=str(tmp_path / "gates"),
    )


class Log:
    """A growing access log: each `ingest` reads it from the beginning, with one more part.

    It is read through a FIFO, so that a test can act while an `ingest` is half done.
    """

    def __init__(self, home, folder, parts):
        self._home = home
        self._fifo = folder / "access.log"
        os.mkfifo(self._fifo)
        self._lines = LOG.content().splitlines(keepends=True)
        self._step = len(self._lines) // parts
        self._read = 0

    @contextmanager
    def going_in(self, code=0):
        """Ingests the next part; within the block, sessions of its first half are stored."""
        before, self._read = self._read, self._read + self._step
        ingest = self._home.begin("ingest", self._fifo, "--site", SITE, "--json")
        with self._fifo.open("wb") as fifo:
            known = self._sessions()
            fifo.writelines(self._lines[: before + self._step // 2])
            fifo.flush()
            self._home.until(lambda _: self._sessions() > known)
            yield ingest
            if code == 0:
                fifo.writelines(self._lines[before + self._step // 2 : self._read])
        assert end_of(ingest).code == code

    def _sessions(self):
        with self._home.store() as store:
            return store.documents.collections().get("single_session", 0)


def assert_as_declared(home):
    """Each declared slot runs once, and no other process runs."""
    leaders = home.until_all_run()
    declared = Counter(
        f"{process.name}/{instance}"
        for process in home.deployment().processes.values()
        if process.is_on
        for instance in range(1, process.instances + 1)
    )
    slots = home.slotted()
    assert Counter(slots.values()) == declared
    assert set(slots) == set(leaders.values())


def test_killed_processes_do_not_change_the_results(home, tmp_path):
    log = Log(home, tmp_path, parts=5)
    gate = gates.shut(tmp_path / "gates", gated_suite.DAILY, START)
    home.start()

    with log.going_in():  # a session worker
        kill(home.leaders()["SingleSessionWorker/1"])
    assert_as_declared(home)

    # an aggregator during a unit
    held = home.until_unit(gated_suite.DAILY, UnitState.IN_PROGRESS, START)
    kill(home.leaders()[f"{gated_suite.DAILY}/1"])
    again = home.until_unit(gated_suite.DAILY, UnitState.IN_PROGRESS, START, attempt=2)
    assert again.id == held.id
    gates.let_through(gate)

    with log.going_in():  # the scheduler
        kill(home.leaders()["Scheduler/1"])
    assert_as_declared(home)

    with log.going_in():  # the supervisor: its processes go on, and the next supervisor adopts them
        before = home.leaders()
        kill(home.supervisor())
    assert home.ask("supervisor", "status")["running"] is False
    assert home.leaders() == before
    home.start()
    assert home.leaders() == before
    assert_as_declared(home)

    with log.going_in(code=-signal.SIGKILL) as ingest:  # all at once
        for pid in (home.supervisor(), ingest.pid, *home.marked()):
            kill(pid)
        assert home.marked() == {}
    home.start()
    whole = LOG.write(tmp_path / "whole.log")
    assert home.ask("ingest", whole, "--site", SITE)["waiting"] == 0
    assert_as_declared(home)

    home.wait_for("SiteYearlyAggregator", f"{LAST_YEAR}000000")
    for day in visits.statistics(LOG.visits(), "daily"):
        home.wait_for("ClientDailyAggregator", day)
    found = LOG.visits()
    for qualifier in ("hourly", "daily", "monthly", "yearly"):
        rows = home.report(f"site_{qualifier}")
        assert visits.reported(rows) == visits.statistics(found, qualifier)
        if qualifier == "daily":
            assert visits.reported(home.report("client_daily")) == visits.reported(rows)
    assert home.audit()["unexplained"] == []
    assert home.ask("queue", "dead") == {"dead": [], "failed_runs": []}
    home.check_journal()

    home.stop()
    assert home.marked() == {}
