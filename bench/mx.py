"""MX over many years of hours: response times, memory, and times in a browser."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from functools import partial
from http.client import HTTPConnection
from statistics import median

from bench import mx_pages, procfs
from bench.contexts.years import DAILY, HOURLY, MX, TREES
from bench.figures import BenchFailed, Figure
from bench.history import closed_hours_ago
from bench.machine import MIB
from bench.stage import Lab, Stage
from bench.timetable import finish
from synergy.clock import SystemClock
from synergy.model.job import JobChange, JobState
from synergy.names import TIMETABLE_START
from synergy.timeperiod import Qualifier

CONTEXT = "bench.contexts.years"
HOST = "127.0.0.1"
OPEN_DAYS = 2  # unfinished days at the end of the history
ROUNDS = 20
TIMEOUT = 60.0

_clock = SystemClock()


def measure(lab: Lab, size: int) -> list[Figure]:
    """Times and memory of MX with `size` hours of each process."""
    first_hour = closed_hours_ago(size, _clock.now())
    with lab.stage(CONTEXT, start_timeperiod=first_hour) as stage:
        _fill(stage, first_hour)
        stage.start(MX)
        port = int(stage.environ["SYNERGY_MX_PORT"])
        with closing(HTTPConnection(HOST, port, timeout=TIMEOUT)) as connection:
            visitor = _Visitor(connection)
            stage.until(visitor.is_answered, "the first answer of MX", TIMEOUT)
            found = _figures(stage, visitor, first_hour)
    return found + mx_pages.measure(lab, size)


def _figures(stage: Stage, visitor: _Visitor, first_hour: str) -> list[Figure]:
    hour = Qualifier.HOURLY
    end = hour.timeperiod(_first_open_day() * 24)
    day = Qualifier.DAILY.timeperiod(hour.parse(first_hour) // 24 + 1)
    asked = {"process": HOURLY[0], "from": first_hour, "to": end, "dry_run": True}
    before = _memory(stage)
    return [
        Figure("memory before the first look", before, "MiB"),
        Figure("first look, at all rows", visitor.get("/api/v1/trees"), "ms"),
        _median("page of a tree", partial(visitor.get, f"/timetable/{TREES[0]}"), at_most=300),
        _median("page of a job", partial(visitor.get, f"/jobs/{DAILY[0]}/{day}")),
        _median("overview", partial(visitor.get, "/")),
        _median("progress of all trees", partial(visitor.get, "/api/v1/trees")),
        _median("the same after a change", _Changing(stage, visitor)),
        _median("all states of a tree", partial(visitor.get, f"/api/v1/trees/{TREES[0]}")),
        _median(
            "jobs in a rare state",
            partial(visitor.get, f"/api/v1/jobs?process={HOURLY[0]}&state=embryo"),
        ),
        _median(
            "what a reprocess of all hours would touch",
            partial(visitor.post, "/api/v1/jobs/reprocess", asked),
        ),
        Figure("memory after all of it", _memory(stage), "MiB"),
    ]


def _median(name: str, look: Callable[[], float], at_most: float | None = None) -> Figure:
    return Figure(name, median(look() for _ in range(ROUNDS)), "ms", at_most=at_most)


class _Visitor:
    """Sends requests to MX over one connection."""

    def __init__(self, connection: HTTPConnection) -> None:
        self._connection = connection

    def is_answered(self) -> bool:
        """Whether MX answers."""
        try:
            self.get("/livez")
        except OSError:
            self._connection.close()
            return False
        return True

    def get(self, path: str) -> float:
        """Milliseconds until the whole response has arrived."""
        return self._ask("GET", path, None)

    def post(self, path: str, body: object) -> float:
        """The same for a request with a body."""
        return self._ask("POST", path, json.dumps(body))

    def _ask(self, method: str, path: str, body: str | None) -> float:
        began = _clock.monotonic()
        self._connection.request(method, path, body, {"Content-Type": "application/json"})
        answer = self._connection.getresponse()
        content = answer.read()
        milliseconds = (_clock.monotonic() - began) * 1000
        if answer.status != 200:
            raise BenchFailed(f"{method} {path} was answered {answer.status}: {content[:500]!r}")
        return milliseconds


class _Changing:
    """A request after a job was moved."""

    def __init__(self, stage: Stage, visitor: _Visitor) -> None:
        self._store = stage.store
        self._visitor = visitor
        self._next = _first_open_day() * 24

    def __call__(self) -> float:
        at, self._next = self._next, self._next + 1
        move = JobChange(
            HOURLY[0],
            Qualifier.HOURLY,
            at,
            at,
            JobState.EMBRYO,
            JobState.IN_PROGRESS,
            1,
            "",
            "bench",
        )
        self._store.jobs.move([move], _clock.now())
        return self._visitor.get("/api/v1/trees")


def _fill(stage: Stage, first_hour: str) -> None:
    """Stores the jobs of years of work."""
    store, now = stage.store, _clock.now()
    store.facts.set(TIMETABLE_START, first_hour)
    first, end = Qualifier.HOURLY.parse(first_hour), _first_open_day()
    for number, (hourly, daily) in enumerate(zip(HOURLY, DAILY, strict=True)):
        with store.batch():
            store.jobs.move(list(finish(hourly, Qualifier.HOURLY, first, end * 24)), now)
            store.jobs.move(list(finish(daily, Qualifier.DAILY, first // 24, end)), now)
        stage.tell(number + 1, len(HOURLY))


def _first_open_day() -> int:
    return Qualifier.DAILY.at(_clock.now()) - OPEN_DAYS


def _memory(stage: Stage) -> float:
    """The memory of MX (PSS) in MiB."""
    (child,) = stage.children(MX)
    return procfs.pss_bytes(child.pid) / MIB
