"""Operations over three processed days of hours."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from synergy.commands import bulk
from synergy.commands.bulk import BulkRequest, BulkVerb, Range
from synergy.model.actor import Actor
from synergy.model.job import JobState
from synergy.model.operation import Operation, OperationState
from synergy.mx import operation_runner
from synergy.mx.services import Services
from synergy.runtime import identity
from tests.contract.mongomock_engine import mongomock_store
from tests.deployments import site_and_client
from tests.mx.timetable_kit import move
from tests.service.scheduler_harness import SchedulerHarness

HOURS = ("Sitehourly", "2015051700", "2015051923")
DAYS = ("Sitedaily", "2015051700", "2015051900")
ASKED = 72
TOUCHED = ASKED + 3  # the days are made from them
ACTOR = Actor("jo (mx)", "late data")
DONE, FAILED, RUNNING = OperationState.DONE, OperationState.FAILED, OperationState.RUNNING


@pytest.fixture(autouse=True)
def short_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shortens steps to 10 jobs; a runner that is not woken is too late."""
    monkeypatch.setattr(bulk, "STEP", 10)
    monkeypatch.setattr(operation_runner, "POLL_SECONDS", 3600.0)


@pytest.fixture(params=["sqlite", "mongomock"])
def world(
    request: pytest.FixtureRequest, worlds: Callable[..., SchedulerHarness]
) -> SchedulerHarness:
    """A world of three processed days."""
    return done_days(worlds, request.param)


@pytest.fixture
def ended(world: SchedulerHarness, monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Set when an operation is done."""
    event, real = threading.Event(), world.store.operations.change

    def change(operation: Operation) -> Operation | None:
        changed = real(operation)
        if operation.state is DONE:
            event.set()
        return changed

    monkeypatch.setattr(world.store.operations, "change", change)
    return event


def done_days(worlds: Callable[..., SchedulerHarness], engine: str) -> SchedulerHarness:
    world = worlds(site_and_client(), store=mongomock_store() if engine == "mongomock" else None)
    world.store.facts.set("timetable.start", world.start)
    finish(world)
    return world


def finish(world: SchedulerHarness, **fields: object) -> None:
    """Moves the hours and days from embryo to processed."""
    for process, first, last in (HOURS, DAYS):
        move(world, first, last, JobState.PROCESSED, process=process, **fields)


def some_services(world: SchedulerHarness, owner: str = "mx-1", store: object = None) -> Services:
    return Services.at(replace(world.workplace("", owner), store=store or world.store))


def a_request(verb: BulkVerb = BulkVerb.REPROCESS, *ranges: Range) -> BulkRequest:
    return BulkRequest(verb, ranges or (Range(*HOURS),))


def accept(world: SchedulerHarness, request: BulkRequest | None = None) -> Operation:
    return some_services(world).operations.accept(request or a_request(), ACTOR, world.clock.now())


def stored(world: SchedulerHarness, operation: Operation) -> Operation:
    found = world.store.operations.get(operation.id)
    assert found is not None
    return found


def generations(world: SchedulerHarness) -> list[int]:
    """The generations of all jobs that the operation touches."""
    found = []
    for process, first, last in (HOURS, DAYS):
        level = world.timetable().places[process].level
        ordinals = range(level.ordinal(first), level.ordinal(last) + 1)
        found += [level.generation(ordinal) for ordinal in ordinals]
    return found


def events(world: SchedulerHarness) -> list[str]:
    """The journal's events of operations."""
    entries = world.store.journal.since(0, 10_000)
    return [entry.event for entry in entries if entry.event.startswith("operation.")]


def of_a_dead_process() -> str:
    """The incarnation of a process of this machine that has ended."""
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    return str(identity.Incarnation(socket.gethostname(), identity.boot_id(), pid, 1, "x"))
