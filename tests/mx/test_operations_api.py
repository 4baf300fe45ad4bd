"""Operations by REST, and the thread that carries them out."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from synergy.model.operation import Operation
from synergy.mx.api import jobs
from synergy.mx.operation_runner import OperationRunner
from tests.mx.asking import Client
from tests.mx.conftest import client_of
from tests.mx.operations_kit import (
    ACTOR,
    ASKED,
    HOURS,
    RUNNING,
    TOUCHED,
    a_request,
    accept,
    ended,
    finish,
    generations,
    short_steps,
    some_services,
    stored,
    world,
)
from tests.service.scheduler_harness import SchedulerHarness

__all__ = ["ended", "short_steps", "world"]  # fixtures


@pytest.fixture
def client(world: SchedulerHarness) -> Iterator[Client]:
    """MX with its operation runner."""
    with client_of(world) as client:
        yield client


# The thread


def test_the_thread_wakes_for_an_accepted_operation(world, ended):
    services = some_services(world)
    service = OperationRunner(services)
    service.start()
    for _ in range(2):
        operation = services.operations.accept(a_request(), ACTOR, world.clock.now())
        assert ended.wait(30)
        ended.clear()
        assert stored(world, operation).done == ASKED
    service.stop()


def test_a_stopped_thread_leaves_the_rest(world, monkeypatch):
    services, under_way = some_services(world), threading.Event()
    operation = services.operations.accept(a_request(), ACTOR, world.clock.now())
    real = world.store.operations.change

    def change(wanted: Operation) -> Operation | None:
        if wanted.done == 30:
            under_way.set()
            assert service._stop.wait(30)
        return real(wanted)

    monkeypatch.setattr(world.store.operations, "change", change)
    service = OperationRunner(services)
    service.start()
    if under_way.wait(30):
        service.stop()
    left = stored(world, operation)
    assert (left.done, left.owner, left.state) == (30, None, RUNNING)


def test_a_thread_that_never_started_can_be_stopped(world):
    operation, service = accept(world), OperationRunner(some_services(world))
    service.stop()
    service.run_once(world.clock.now())
    assert stored(world, operation).state.value == "accepted"


# REST


def test_operations_are_listed_newest_first(world, client):
    first, second, third = (accept(world).id for _ in range(3))
    page = client.get("/api/v1/operations?limit=2").json()
    assert [one["id"] for one in page["items"]] == [third, second]
    rest = client.get(f"/api/v1/operations?limit=2&cursor={page['next']}").json()
    assert ([one["id"] for one in rest["items"]], rest["next"]) == ([first], None)
    assert client.get("/api/v1/operations?cursor=x").status_code == 422


def test_an_operation_shows_its_progress(world):
    operation = accept(world)
    going = iter([True, False])
    some_services(world).operations.work(lambda: next(going))
    client = client_of(world)  # which was not started: it would work on it as well
    assert client.get(f"/api/v1/operations/{operation.id}").json() == {
        "id": operation.id,
        "kind": "reprocess",
        "process": "Sitehourly",
        "state": "running",
        "total": 72,
        "done": 10,
        "touched": 11,
        "detail": "",
        "who": "jo (mx)",
        "why": "late data",
        "created_at": "2015-05-20T12:00:00Z",
        "finished_at": None,
    }
    assert client.get(f"/api/v1/operations/{'0' * 32}").status_code == 404
    assert client.get("/api/v1/operations/x").status_code == 422


# What is answered so


def body(**fields: object) -> dict[str, object]:
    process, first, _ = HOURS
    return {"process": process, "from": first, "to": "2015052000", "reason": "late", **fields}


@pytest.mark.parametrize("prefer", ["respond-async", "wait=10, Respond-Async; foo"])
def test_respond_async_returns_the_operation(world, ended, client, prefer):
    answer = client.post("/api/v1/jobs/reprocess", json=body(), headers={"Prefer": prefer})
    assert answer.status_code == 202
    assert (answer.json()["total"], answer.json()["who"]) == (ASKED, "local (mx)")
    assert answer.headers["location"] == f"/api/v1/operations/{answer.json()['id']}"
    assert ended.wait(30)
    found = client.get(answer.headers["location"]).json()
    assert (found["state"], found["done"], found["touched"]) == ("done", ASKED, TOUCHED)
    assert generations(world) == [2] * TOUCHED


@pytest.mark.parametrize("prefer", ["", "respond-asynchronously", "wait=10", "return=minimal"])
def test_without_respond_async_the_response_waits(world, client, prefer):
    answer = client.post("/api/v1/jobs/reprocess", json=body(), headers={"Prefer": prefer})
    assert (answer.status_code, answer.json()["count"]) == (200, TOUCHED)
    assert world.store.operations.find() == ([], None)


def test_a_large_request_becomes_an_operation(world, ended, client, monkeypatch):
    monkeypatch.setattr(jobs, "LONG_JOBS", TOUCHED)
    first = client.post("/api/v1/jobs/reprocess", json=body())
    assert first.status_code == 200
    finish(world, generation=2)
    monkeypatch.setattr(jobs, "LONG_JOBS", TOUCHED - 1)
    dry = client.post("/api/v1/jobs/reprocess", json=body(dry_run=True))
    assert (dry.status_code, dry.json()["count"]) == (200, TOUCHED)
    assert client.post("/api/v1/jobs/reprocess", json=body()).status_code == 202
    assert ended.wait(30)
    assert generations(world) == [3] * TOUCHED


def test_an_unknown_process_is_refused_and_not_accepted(world, client):
    wrong = body(process="Siteweekly")
    answer = client.post("/api/v1/jobs/skip", json=wrong, headers={"Prefer": "respond-async"})
    assert answer.status_code == 404
    assert world.store.operations.find() == ([], None)
