"""The event stream of the illustration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from synergy.clock import SteppedClock
from synergy.compose import open_project
from synergy.messaging.message import EventsMessage
from synergy.model.process import Deployment
from synergy.runtime.stop import Stop
from synergy.worker import Workplace
from workers.demo_visits import events_between
from workers.event_stream_generator import (
    HISTORY,
    PAUSE,
    PAUSE_WHILE_FULL,
    QUEUE_LIMIT,
    EventStreamGenerator,
)

PROJECT = Path(__file__).parents[2]
Body = Mapping[str, Any]


@pytest.fixture(scope="module")
def deployment() -> Deployment:
    environ = {"SYNERGY_DEMO_STREAM": "off", "SYNERGY_ENV": "test"}
    return open_project(PROJECT, environ).deployment


class Wire:
    """Replaces what the stream writes to: facts, a batch, a queue."""

    def __init__(self, start: str | None) -> None:
        self.facts = self
        self.known = {} if start is None else {"timetable.start": start}
        self.events: list[Body] = []
        self.depth = 0

    def get(self, name: str) -> str | None:
        return self.known.get(name)

    def set(self, name: str, value: str) -> None:
        self.known[name] = value

    @contextmanager
    def batch(self) -> Iterator[None]:
        yield

    def publish(self, queue: str, messages: Sequence[EventsMessage], _batch: object) -> None:
        assert queue == "SingleSessionWorker"
        self.events.extend(event for message in messages for event in message.events)

    def depths(self, _queues: object = None) -> dict[str, int]:
        return {"SingleSessionWorker": self.depth}


NOW = datetime(2026, 11, 21, 6, 30, tzinfo=UTC)


SECOND = int(NOW.timestamp())


def stream(deployment: Deployment, wire: Wire, clock: SteppedClock) -> EventStreamGenerator:
    process = deployment.processes["EventStreamGenerator"]
    workplace = Workplace(process, wire, wire, clock, "me", Stop())  # type: ignore[arg-type]
    return EventStreamGenerator(workplace)


def until_done(generator: EventStreamGenerator) -> None:
    while generator.run_once() != PAUSE:
        pass


def test_the_stream_begins_with_the_last_48_hours(deployment: Deployment) -> None:
    wire = Wire("2026010100")
    until_done(stream(deployment, wire, SteppedClock(NOW)))

    assert min(e["at"] for e in wire.events) < SECOND - HISTORY + 600
    assert wire.events == events_between(SECOND - HISTORY, SECOND)


def test_the_stream_does_not_reach_back_before_the_timetable(deployment: Deployment) -> None:
    wire = Wire("2026112105")
    until_done(stream(deployment, wire, SteppedClock(NOW)))

    assert wire.events == events_between(SECOND - 90 * 60, SECOND)


def test_without_a_timetable_the_stream_waits(deployment: Deployment) -> None:
    wire, clock = Wire(None), SteppedClock(NOW)
    generator = stream(deployment, wire, clock)
    assert generator.run_once() == PAUSE
    assert wire.events == []
    wire.set("timetable.start", "2026112106")
    until_done(generator)
    assert wire.events == events_between(SECOND - 30 * 60, SECOND)


def test_new_events_are_sent_when_they_are_due(deployment: Deployment) -> None:
    wire, clock = Wire("2026112106"), SteppedClock(NOW)
    generator = stream(deployment, wire, clock)
    until_done(generator)
    wire.events.clear()
    for _ in range(300):
        clock.advance(1)
        generator.run_once()

    assert wire.events == events_between(SECOND, SECOND + 300)


def test_a_restart_continues_where_the_stream_was(deployment: Deployment) -> None:
    wire, clock = Wire("2026112106"), SteppedClock(NOW)
    until_done(stream(deployment, wire, clock))
    clock.advance(600)
    until_done(stream(deployment, wire, clock))

    assert wire.events == events_between(SECOND - 30 * 60, SECOND + 600)


def test_a_killed_stream_sends_again_what_it_may_not_have_sent(deployment: Deployment) -> None:
    wire = Wire("2026112106")
    until_done(stream(deployment, wire, SteppedClock(NOW)))
    del wire.known["event_stream.sent_until"]
    until_done(stream(deployment, wire, SteppedClock(NOW)))
    once = len(wire.events) // 2

    assert wire.events[:once] == wire.events[once:]


def test_a_clock_that_goes_back_sends_nothing_twice(deployment: Deployment) -> None:
    wire, clock = Wire("2026112106"), SteppedClock(NOW)
    generator = stream(deployment, wire, clock)
    until_done(generator)
    sent = len(wire.events)
    clock.advance(-600)
    assert generator.run_once() == PAUSE

    assert len(wire.events) == sent


def test_the_stream_waits_for_the_session_workers(deployment: Deployment) -> None:
    wire = Wire("2026112000")
    wire.depth = QUEUE_LIMIT + 1
    assert stream(deployment, wire, SteppedClock(NOW)).run_once() == PAUSE_WHILE_FULL
    assert wire.events == []


def test_a_stopped_stream_ends_at_once(deployment: Deployment) -> None:
    generator = stream(deployment, Wire("2026112106"), SteppedClock(NOW))
    generator.workplace.stop.set()
    generator.start()
