"""A hundred processes with years of hours: building the timetable, and working with it."""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator
from itertools import pairwise

from bench.contexts.wide import DAILY, HOURLY, PROBE
from bench.figures import Figure
from bench.history import closed_hours_ago
from bench.machine import MIB
from bench.procfs import own_rss_bytes
from bench.stage import Lab, Stage
from synergy.clock import SystemClock
from synergy.model.job import JobChange, JobState
from synergy.names import TIMETABLE_START
from synergy.queries.timetable.load import load_timetable
from synergy.runtime.workplace import Daemon
from synergy.scheduler.circuit_breaker import CircuitBreaker
from synergy.scheduler.timetable_loop import TimetableLoop
from synergy.timeperiod import Qualifier
from synergy.timetable.readiness import readiness
from synergy.timetable.timetable import Place, Timetable

CONTEXT = "bench.contexts.wide"
FACT = "bench.timetable"
DAYS = 365
OPEN_DAYS = 40  # unfinished days at the end of the history
STRETCH = 100  # neighbouring jobs that ended alike
OVER_EVERY = 1000  # one of so many jobs was started over once
ROUNDS = 1000
TIMEOUT = 300.0

_clock = SystemClock()


def measure(lab: Lab, size: int) -> list[Figure]:
    """Times and memory with `size` years of history, and with one, in a fresh process."""
    first_hour = closed_hours_ago(size * DAYS * 24, _clock.now())
    with lab.stage(CONTEXT, start_timeperiod=first_hour) as stage:
        _fill(stage, first_hour)
        stage.start(PROBE)
        stage.until(lambda: stage.store.facts.get(FACT) is not None, "the measurement", TIMEOUT)
        found: dict[str, float] = json.loads(stage.store.facts.get(FACT) or "{}")
    long, short = f"{size} years", "a year"
    return [
        Figure(f"built from the store, {long}", found["seconds"], "s", at_most=5),
        Figure(f"memory for it, {long}", found["bytes"] / MIB, "MiB", at_most=200),
        Figure(f"scheduler's memory built, {long}", found["scheduler"], "s"),
        Figure(f"next job, {short} of history", found["next_short"], "µs"),
        Figure(f"next job, {long} of history", found["next_long"], "µs", at_most=10),
        Figure(f"close a parent, {short} of history", found["close_short"], "µs"),
        Figure(f"close a parent, {long} of history", found["close_long"], "µs", at_most=50),
        Figure(f"close the oldest gap, {short} of history", found["gap_short"], "µs"),
        Figure(f"close the oldest gap, {long} of history", found["gap_long"], "µs"),
    ]


def _fill(stage: Stage, first_hour: str) -> None:
    """Stores the jobs of years of work."""
    store, now = stage.store, _clock.now()
    store.facts.set(TIMETABLE_START, first_hour)
    end = Qualifier.HOURLY.at(now) // 24 - OPEN_DAYS
    for number, names in enumerate(zip(HOURLY, DAILY, strict=True)):
        hourly, daily = names
        first = Qualifier.HOURLY.parse(first_hour)
        with store.batch():
            store.jobs.move(list(finish(hourly, Qualifier.HOURLY, first, end * 24)), now)
            store.jobs.move(list(finish(daily, Qualifier.DAILY, first // 24, end)), now)
            over = [
                move
                for ordinal in range(first, end * 24, OVER_EVERY)
                for move in _over(hourly, ordinal, _state(ordinal - first))
            ]
            store.jobs.move(over, now)
        stage.tell(number + 1, len(HOURLY))


def finish(process: str, qualifier: Qualifier, first: int, end: int) -> Iterator[JobChange]:
    """Ends the jobs `[first, end)` of a process, some without a result."""
    for begin, stop in pairwise([*range(first, end, STRETCH), end]):
        state = _state(begin - first)
        yield JobChange(process, qualifier, begin, stop - 1, JobState.EMBRYO, state, 1, "", "bench")


def _state(distance: int) -> JobState:
    return JobState.NOOP if distance // STRETCH % 4 == 3 else JobState.PROCESSED


def _over(process: str, ordinal: int, state: JobState) -> Iterator[JobChange]:
    hourly, embryo = Qualifier.HOURLY, JobState.EMBRYO
    yield JobChange(
        process, hourly, ordinal, ordinal, state, embryo, 1, "", "bench", start_over=True
    )
    yield JobChange(process, hourly, ordinal, ordinal, embryo, JobState.PROCESSED, 2, "", "bench")


class Probe(Daemon):
    """Measures in a fresh process, and writes the results to the store."""

    def start(self) -> None:
        place = self.workplace
        found = {**self._build(), "scheduler": self._scheduler()}
        for name, start in (("short", _a_year_ago()), ("long", self._start)):
            timetable = self._timetable(start)
            found[f"next_{name}"] = _next_job(timetable)
            found[f"close_{name}"] = _close_parents(timetable)
            found[f"gap_{name}"] = _close_gap(timetable)
        place.store.facts.set(FACT, json.dumps(found))
        place.stop.wait(TIMEOUT)

    @property
    def _start(self) -> str:
        return self.workplace.store.facts.get(TIMETABLE_START) or ""

    def _build(self) -> dict[str, float]:
        gc.collect()
        place, before, began = self.workplace, own_rss_bytes(), _clock.monotonic()
        timetable = load_timetable(place.store, place.deployment, _clock.now())
        seconds = _clock.monotonic() - began
        used = own_rss_bytes() - before
        assert timetable.places
        return {"seconds": seconds, "bytes": used}

    def _scheduler(self) -> float:
        place, began = self.workplace, _clock.monotonic()
        breaker = CircuitBreaker(place.clock)
        managed = TimetableLoop(
            place.store,
            place.bus,
            place.clock,
            place.deployment,
            self._start,
            "bench",
            breaker,
            lambda _tree: True,
        )
        managed.hold(place.deployment.trees)
        return _clock.monotonic() - began

    def _timetable(self, start: str) -> Timetable:
        timetable = Timetable(self.workplace.deployment, start, _clock.now())
        timetable.load(self.workplace.store.jobs.load())
        return timetable


def _a_year_ago() -> str:
    return closed_hours_ago(DAYS * 24, _clock.now())


def _hourly(timetable: Timetable) -> list[Place]:
    return [timetable.places[name] for name in HOURLY]


def _next_job(timetable: Timetable) -> float:
    """Microseconds to find the first job that is not finished."""
    levels = [place.level for place in _hourly(timetable)]
    began = _clock.monotonic()
    for _ in range(ROUNDS):
        for level in levels:
            level.first_unfinished(level.frontier, level.end)
    return (_clock.monotonic() - began) / (ROUNDS * len(levels)) * 1e6


def _close_parents(timetable: Timetable) -> float:
    """Microseconds to finish a child and check whether its parent may finish."""
    places = _hourly(timetable)
    hours = range(places[0].level.frontier, places[0].level.end)
    closed = 0
    began = _clock.monotonic()
    for ordinal in hours:
        for place in places:
            place.level.set(ordinal, ordinal, JobState.PROCESSED, 1)
            assert place.parent is not None
            closed += readiness(place.parent, place.parent_ordinal(ordinal)).may_finish
    seconds = _clock.monotonic() - began
    assert closed >= (OPEN_DAYS - 1) * len(places)
    return seconds / (len(hours) * len(places)) * 1e6


def _close_gap(timetable: Timetable) -> float:
    """Microseconds to finish the only unfinished job, at the very beginning.

    The frontier is then searched over the whole history; nothing else depends on its length.
    """
    levels = [place.level for place in _hourly(timetable)]
    for level in levels:
        level.set(level.start, level.start, JobState.EMBRYO, 2)
    began = _clock.monotonic()
    for level in levels:
        level.set(level.start, level.start, JobState.PROCESSED, 2)
    return (_clock.monotonic() - began) / len(levels) * 1e6
