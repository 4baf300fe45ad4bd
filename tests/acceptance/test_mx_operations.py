"""An operation on many jobs is completed exactly once although MX is killed meanwhile."""

from __future__ import annotations

import json
import urllib.request
from collections import Counter
from contextlib import suppress
from datetime import UTC, datetime

import pytest

from synergy.model.job import JobChange, JobState
from synergy.model.operation import OperationState
from synergy.timeperiod import Qualifier
from tests.acceptance.kit import kill, until
from tests.servers.ports import free_port

JOBS = 40_000  # of which a step does 500
PROCESS = "SiteHourlyAggregator"
START = "2014010100"
FIRST = Qualifier.HOURLY.parse(START)


class MxProcess:
    """An MX of a home, in the foreground, at a port of its own."""

    def __init__(self, home):
        port = str(free_port())
        self._base = f"http://127.0.0.1:{port}"
        self.process = home.begin("process", "start", "MX", "--console", mx_port=port)

    def at_work(self):
        """Returns itself, once it answers."""
        until(self._answers)
        return self

    def ask(self, path, body=None, **headers):
        """The status and the JSON of a response."""
        data = None if body is None else json.dumps(body).encode()
        given = {"Content-Type": "application/json", **headers}
        request = urllib.request.Request(self._base + path, data, given)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.loads(answer.read())

    def kill(self):
        kill(self.process.pid)

    def _answers(self):
        assert self.process.poll() is None, self.process.communicate()
        with suppress(OSError):
            return self.ask("/api/v1/operations")


@pytest.fixture
def home(homes):
    """A home whose first hours are done; no scheduler runs."""
    home = homes(start_timeperiod=START)
    home.launch("store", "init")
    with home.store() as store:
        store.facts.set("timetable.start", START)
        done = JobChange(
            PROCESS, Qualifier.HOURLY, FIRST, FIRST + JOBS - 1, JobState.EMBRYO,
            JobState.PROCESSED, 1, "", "a test",
        )  # fmt: skip
        assert store.jobs.move([done], datetime.now(UTC)) == []
    return home


def test_an_operation_survives_its_mx_and_is_done_once(home):
    first = MxProcess(home).at_work()
    body = {
        "process": PROCESS, "from": START, "reason": "a new rule",
        "to": Qualifier.HOURLY.timeperiod(FIRST + JOBS),
    }  # fmt: skip
    status, operation = first.ask("/api/v1/jobs/reprocess", body, **{"Idempotency-Key": "k"})
    assert (status, operation["total"]) == (202, JOBS)

    def row(look):
        """The operation, once `look` accepts it."""

        def so_far(store):
            found = store.operations.get(operation["id"])
            return found if look(found) else None

        return home.until(so_far)

    row(lambda found: found.done > 0)
    first.kill()
    killed = row(lambda found: True)
    assert killed.state is OperationState.RUNNING
    assert killed.done < JOBS

    second = MxProcess(home)  # it resumes unfinished operations before it answers
    ended = row(lambda found: found.state is OperationState.DONE)
    assert (ended.done, ended.touched, ended.detail) == (JOBS, JOBS, "")

    counted = Counter(home.generations().values())
    assert counted == {2: JOBS}
    with home.store() as store:
        entries = [e for e in store.journal.since(0, 10 * JOBS) if e.event != "job.processed"]
    assert Counter(entry.event for entry in entries) == {
        "operation.accepted": 1, "job.started_over": len(entries) - 2, "operation.done": 1,
    }  # fmt: skip
    assert {(entry.who, entry.why) for entry in entries} == {("local (mx)", "a new rule")}

    status, again = second.at_work().ask("/api/v1/jobs/reprocess", body, **{"Idempotency-Key": "k"})
    assert (status, again) == (202, operation)
    assert second.ask(f"/api/v1/operations/{operation['id']}")[1]["state"] == "done"
    second.process.terminate()
    second.process.communicate(timeout=60)
    assert second.process.returncode == 0
