"""An hour with many sessions, counted by the hourly aggregator of the deployment."""

from __future__ import annotations

import random
from collections.abc import Mapping
from statistics import median
from typing import Any

from bench.figures import BenchFailed, Figure
from bench.stage import Lab, Stage
from synergy.clock import SystemClock
from synergy.messaging.message import UnitMessage
from synergy.model.process import ManagedProcess
from synergy.model.unit_of_work import UnitOfWork, UnitState, unit_id
from synergy.timeperiod import Qualifier

PROCESS = "SiteHourlyAggregator"
HOUR = "2026010112"
SITES = 5
RUNS = 3
GROUP = 5000
LONGEST_SECONDS = 120.0  # the time limit of one unit

_SYSTEMS = ("Windows", "Mac OS X", "Android", "iOS", "Linux")
_BROWSERS = ("Chrome", "Firefox", "Safari", "Edge", "Chrome Mobile", "Mobile Safari", "Googlebot")
_clock = SystemClock()


def measure(lab: Lab, size: int) -> list[Figure]:
    """From the unit's message in the queue to its conclusion in the store, median of some runs."""
    with lab.stage() as stage:
        process = stage.project.process(PROCESS)
        if not isinstance(process, ManagedProcess) or process.stored_source is None:
            raise BenchFailed(f"{PROCESS} of the deployment has no source in the store")
        _fill(stage, process.stored_source, size)
        stage.start(PROCESS)
        seconds = [_run(stage, process, number + 1, size) for number in range(RUNS)]
    return [
        Figure("sessions aggregated", size / median(seconds), "sessions/s", at_least=100_000),
        Figure("the hour, with its conclusion", median(seconds), "s"),
    ]


def _fill(stage: Stage, collection: str, size: int) -> None:
    chance = random.Random(2026)
    for first in range(0, size, GROUP):
        sessions = [_session(chance, number) for number in range(first, min(first + GROUP, size))]
        bodies = {f"{body['domain']}|{body['session_id']}": body for body in sessions}

        def body_of(
            key: str, _: object, bodies: Mapping[str, Mapping[str, Any]] = bodies
        ) -> Mapping[str, Any]:
            return bodies[key]

        stage.store.documents.update(collection, [(key, HOUR) for key in bodies], body_of)
        stage.tell(first + len(sessions), size)


def _session(chance: random.Random, number: int) -> dict[str, Any]:
    """A document as the session workers write it."""
    entries = chance.randrange(1, 12)
    duration = chance.randrange(1800) if entries > 1 else 0
    begin = Qualifier.HOURLY.parse(HOUR) * 3600 + chance.randrange(1800)
    return {
        "domain": f"site{number % SITES}.example",
        "timeperiod": HOUR,
        "session_id": f"{number:024x}",
        "user_profile": {
            "ip": f"198.51.100.{chance.randrange(1, 255)}",
            "os": chance.choice(_SYSTEMS),
            "browser": chance.choice(_BROWSERS),
            "language": "unknown",
            "country": "unknown",
            "screen_resolution": "unknown",
        },
        "browsing_history": {
            "number_of_pageviews": chance.randrange(entries + 1),
            "number_of_entries": entries,
            "total_duration": duration,
        },
        "_pieces": {HOUR: [entries, entries, begin, begin + duration]},
    }


def _run(stage: Stage, process: ManagedProcess, generation: int, size: int) -> float:
    """Seconds for one unit over the hour."""
    now = _clock.now()
    end = Qualifier.HOURLY.timeperiod(Qualifier.HOURLY.parse(HOUR) + 1)
    unit = UnitOfWork(
        unit_id(process.name, HOUR, generation, 1, size),
        process.name,
        HOUR,
        generation,
        HOUR,
        end,
        1,
        size,
        now,
    )
    began = _clock.monotonic()
    with stage.store.batch() as batch:
        stage.store.units.create([unit], "bench")
        stage.bus.publish(process.queue, [UnitMessage(unit.id, unit.attempt)], batch)
    done = stage.woken_until(lambda: _ended(stage, unit.id), "counting the hour", LONGEST_SECONDS)
    seconds = _clock.monotonic() - began
    if done.state is not UnitState.PROCESSED or done.counts.get("sessions") != size:
        raise BenchFailed(f"the unit ended as {done.state.value}: {done.reason or done.counts}")
    return seconds


def _ended(stage: Stage, unit: str) -> UnitOfWork | None:
    (found,) = stage.store.units.get([unit])
    return None if found.state in (UnitState.REQUESTED, UnitState.IN_PROGRESS) else found
