"""Operations are accepted, worked off in steps, and done once whoever dies in between."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from synergy.commands import bulk
from synergy.commands.bulk import BulkRequest, BulkVerb, Range
from synergy.errors import MessagingUnavailable, NotFound, StorageUnavailable
from synergy.model.actor import Actor
from synergy.model.job import JobState
from synergy.model.operation import Operation, OperationState
from synergy.mx import operation_runner
from synergy.mx.api import jobs
from synergy.mx.operation_runner import OperationRunner
from synergy.mx.services import Services
from synergy.runtime import identity
from tests.contract.mongomock_engine import mongomock_store
from tests.contract.operated import an_operation
from tests.deployments import site_and_client
from tests.factories import a_move
from tests.mx.asking import Client
from tests.mx.conftest import client_of
from tests.service.faults import Died, FaultyStore
from tests.service.scheduler_harness import SchedulerHarness

STEP = 10  # jobs
HOURS = ("Sitehourly", "2015051700", "2015051923")  # of three days
ASKED = 72
TOUCHED = ASKED + 3  # the days are made from them
ACTOR = Actor("jo (mx)", "late data")
STILL = 61.0  # seconds
DONE, FAILED, RUNNING = OperationState.DONE, OperationState.FAILED, OperationState.RUNNING


@pytest.fixture(autouse=True)
def short_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "STEP", STEP)
    monkeypatch.setattr(operation_runner, "LOOK", 3600.0)  # whoever is not woken comes too late


@pytest.fixture(params=["sqlite", "mongomock"])
def world(
    request: pytest.FixtureRequest, worlds: Callable[..., SchedulerHarness]
) -> SchedulerHarness:
    """Three days are done, hour by hour."""
    return done_days(worlds, request.param)


@pytest.fixture
def client(world: SchedulerHarness) -> Iterator[Client]:
    """MX with those who carry operations out."""
    with client_of(world) as client:
        yield client


def done_days(worlds: Callable[..., SchedulerHarness], engine: str) -> SchedulerHarness:
    world = worlds(site_and_client(), store=mongomock_store() if engine == "mongomock" else None)
    world.store.facts.set("timetable.start", world.start)
    places = world.timetable().places
    for process, first, last in (HOURS, ("Sitedaily", "2015051700", "2015051900")):
        level, qualifier = places[process].level, places[process].process.qualifier
        move = a_move(
            level.ordinal(first), level.ordinal(last),
            process=process, qualifier=qualifier, after=JobState.PROCESSED,
        )  # fmt: skip
        assert world.store.jobs.move([move], world.clock.now()) == []
    return world


def some_services(world: SchedulerHarness, owner: str = "mx-1", store: object = None) -> Services:
    place = world.workplace("", owner)
    return Services.at(replace(place, store=store or world.store))


def a_request(verb: BulkVerb = BulkVerb.REPROCESS, *ranges: Range) -> BulkRequest:
    return BulkRequest(verb, ranges or (Range(*HOURS),))


def accept(world: SchedulerHarness, request: BulkRequest | None = None) -> Operation:
    return some_services(world).operations.accept(request or a_request(), ACTOR, world.clock.now())


def always() -> bool:
    return True


def stored(world: SchedulerHarness, operation: Operation) -> Operation:
    found = world.store.operations.get(operation.id)
    assert found is not None
    return found


def generations(world: SchedulerHarness) -> list[int]:
    """Of all jobs that the operation touches."""
    places = world.timetable().places
    hours, days = places["Sitehourly"].level, places["Sitedaily"].level
    begin = hours.ordinal(HOURS[1])
    found = [hours.generation(begin + n) for n in range(ASKED)]
    first = days.ordinal("2015051700")
    return found + [days.generation(first + n) for n in range(3)]


def events(world: SchedulerHarness, noun: str = "operation") -> list[str]:
    entries = world.store.journal.since(0, 10_000)
    return [entry.event for entry in entries if entry.event.startswith(f"{noun}.")]


def of_a_dead_process() -> str:
    """The incarnation of a process that ran here and is no more."""
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    return str(identity.Incarnation(socket.gethostname(), identity.boot_id(), pid, 1, "x"))


# Accepting


def test_what_is_accepted_says_what_was_asked_and_changes_nothing_else(
    world: SchedulerHarness,
) -> None:
    operation = accept(world)
    assert stored(world, operation) == operation
    assert (operation.kind, operation.process, operation.state.value) == (
        "reprocess", "Sitehourly", "accepted",
    )  # fmt: skip
    assert (operation.total, operation.done, operation.touched) == (ASKED, 0, 0)
    assert operation.request == {"ranges": [list(HOURS)]}
    assert events(world) == ["operation.accepted"]
    assert generations(world) == [1] * TOUCHED


def test_one_of_several_processes_is_filed_under_none(world: SchedulerHarness) -> None:
    ranges = (Range("Sitedaily", "2015051700", "2015051700"), Range(*HOURS))
    assert accept(world, a_request(BulkVerb.REPROCESS, *ranges)).process == ""


def test_what_is_not_there_is_not_accepted(world: SchedulerHarness) -> None:
    with pytest.raises(NotFound, match="Siteweekly"):
        accept(world, a_request(BulkVerb.SKIP, Range("Siteweekly", "2015051700", "2015051700")))
    assert world.store.operations.find() == ([], None)
    with pytest.raises(NotFound, match="operation"):
        some_services(world).operations.get("0" * 32)


# Working


def test_it_is_done_in_steps_that_tell_how_far_it_is(world: SchedulerHarness) -> None:
    operation, seen = accept(world), []

    def look() -> bool:
        seen.append((stored(world, operation).done, stored(world, operation).state))
        return True

    services = some_services(world)
    assert services.operations.work(look)
    assert seen == [(10 * n, RUNNING) for n in range(8)]
    done = stored(world, operation)
    assert (done.state, done.done, done.total, done.touched) == (DONE, ASKED, ASKED, TOUCHED)
    assert (done.owner, done.detail, done.finished_at) == (None, "", world.clock.now())
    assert generations(world) == [2] * TOUCHED
    assert not services.operations.work(always)
    assert events(world) == ["operation.accepted", "operation.done"]
    moved = [e for e in world.store.journal.since(0, 1000) if e.event == "job.started_over"]
    assert {(entry.who, entry.why) for entry in moved} == {(ACTOR.who, ACTOR.why)}


def test_jobs_are_skipped_from_a_list(world: SchedulerHarness) -> None:
    listed = [Range("Sitehourly", f"20150520{n:02}", f"20150520{n:02}") for n in (1, 3, 5, 1)]
    operation = accept(world, a_request(BulkVerb.SKIP, *listed))
    assert operation.total == 3
    some_services(world).operations.work(always)
    assert stored(world, operation).state is DONE
    states = [world.state("Sitehourly", f"20150520{n:02}") for n in range(1, 6)]
    skipped, embryo = JobState.SKIPPED, JobState.EMBRYO
    assert states == [skipped, embryo, skipped, embryo, skipped]


def test_the_oldest_comes_first_and_one_call_does_one(world: SchedulerHarness) -> None:
    first, second = accept(world), accept(world)
    services = some_services(world)
    services.operations.work(always)
    assert [stored(world, one).state for one in (first, second)] == [DONE, first.state]
    services.operations.work(always)
    assert stored(world, second).state is DONE
    assert stored(world, second).touched == 0  # they wait to be done again


def test_who_is_to_stop_gives_it_back_after_the_step(world: SchedulerHarness) -> None:
    operation = accept(world)
    going = iter([True, True, False])
    some_services(world).operations.work(lambda: next(going))
    left = stored(world, operation)
    assert (left.state, left.owner, left.done) == (RUNNING, None, 20)
    assert some_services(world, "mx-2").operations.work(always)
    assert stored(world, operation).touched == TOUCHED
    assert generations(world) == [2] * TOUCHED


def test_what_nobody_can_do_fails_and_says_why(world: SchedulerHarness) -> None:
    gone = {"ranges": [["Siteweekly", "2015051700", "2015051700"]]}
    world.store.operations.accept(an_operation("o-1", kind="skip", request=gone, total=1))
    services = some_services(world)
    assert services.operations.work(always)
    found = services.operations.get("o-1")
    assert found.state is FAILED
    assert "Siteweekly" in found.detail
    assert events(world) == ["operation.accepted", "operation.failed"]


@pytest.mark.parametrize("fields", [{"kind": "paint"}, {"request": {}}])
def test_what_nobody_understands_fails_and_holds_nobody_up(
    world: SchedulerHarness, fields: dict[str, object], caplog: pytest.LogCaptureFixture
) -> None:
    world.store.operations.accept(an_operation("odd", total=1, **fields))
    following, services = accept(world), some_services(world)
    services.operations.work(always)
    services.operations.work(always)
    assert services.operations.get("odd").state is FAILED
    assert services.operations.get("odd").detail == "something went wrong; the log says what"
    assert [record.event for record in caplog.records] == ["operation.broken"]
    assert stored(world, following).state is DONE


# Several of them, and the dead


def test_what_somebody_works_on_is_left_to_him_until_he_stands_still(
    world: SchedulerHarness,
) -> None:
    operation = accept(world)
    taken = world.store.operations.change(replace(operation, state=RUNNING, owner="far-away"))
    assert taken is not None
    other = some_services(world, "mx-2").operations
    assert not other.work(always)
    world.clock.advance(STILL)
    world.store.operations.change(replace(taken, done=10))
    assert not other.work(always)  # he had only been slow
    world.clock.advance(STILL / 2)
    assert not other.work(always)
    world.clock.advance(STILL / 2)
    assert other.work(always)
    assert stored(world, operation).done == ASKED


def test_of_one_who_is_dead_it_is_taken_over_at_once(world: SchedulerHarness) -> None:
    operation = accept(world)
    world.store.operations.change(replace(operation, state=RUNNING, owner=of_a_dead_process()))
    assert some_services(world, "mx-2").operations.work(always)
    assert stored(world, operation).state is DONE


def test_what_is_in_other_hands_holds_nobody_up(world: SchedulerHarness) -> None:
    operation = accept(world)
    world.store.operations.change(replace(operation, state=RUNNING, owner="far-away"))
    second = accept(world)
    assert some_services(world, "mx-2").operations.work(always)
    assert stored(world, second).state is DONE


def test_who_was_too_slow_leaves_it_to_the_one_that_took_over(
    world: SchedulerHarness, caplog: pytest.LogCaptureFixture
) -> None:
    operation, other = accept(world), some_services(world, "mx-2").operations
    rounds = iter(range(100))

    def dawdle() -> bool:
        if next(rounds) == 2:
            assert not other.work(always)
            world.clock.advance(STILL)
            assert other.work(always)
        return True

    assert some_services(world, "mx-1").operations.work(dawdle)
    assert [record.event for record in caplog.records] == ["operation.lost"]
    done = stored(world, operation)
    assert (done.state, done.touched) == (DONE, TOUCHED)
    assert generations(world) == [2] * TOUCHED
    assert events(world) == ["operation.accepted", "operation.done"]


@pytest.mark.parametrize("engine", ["sqlite", "mongomock"])
@pytest.mark.parametrize("is_late", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("fault", [Died, StorageUnavailable, MessagingUnavailable])
def test_whenever_it_is_broken_off_it_is_done_once(
    worlds: Callable[..., SchedulerHarness], engine: str, fault: type[BaseException], is_late: bool
) -> None:
    """At every call of the store: before it, or after it was done and nobody was told."""
    number = 0
    while True:
        number += 5 if engine == "mongomock" else 1  # which is slow
        world = done_days(worlds, engine)
        operation = accept(world)
        store = FaultyStore(world.store, number, fault)
        store.is_late = is_late
        first = some_services(world, "mx-1", store).operations
        try:
            first.work(always)
            break
        except fault:
            pass
        if fault is Died:
            other = some_services(world, "mx-2").operations
            other.work(always)
            world.clock.advance(STILL)
            other.work(always)
        else:
            first.work(always)
        done = stored(world, operation)
        assert (done.state, done.done) == (DONE, ASKED), number
        assert generations(world) == [2] * TOUCHED, number
        assert done.touched == TOUCHED or engine == "mongomock", number
        world.store.recover()
        assert events(world) == ["operation.accepted", "operation.done"], number
        world.close()
    assert number > 40


# The thread


@pytest.fixture
def ended(world: SchedulerHarness, monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Set when an operation is done."""
    event, real = threading.Event(), world.store.operations.change

    def change(operation: Operation) -> Operation | None:
        changed = real(operation)
        if operation.state is DONE:
            event.set()
        return changed

    monkeypatch.setattr(world.store.operations, "change", change)
    return event


def test_the_thread_hears_of_what_is_accepted(
    world: SchedulerHarness, ended: threading.Event
) -> None:
    services = some_services(world)
    service = OperationRunner(services)
    service.start()
    for _ in range(2):
        operation = services.operations.accept(a_request(), ACTOR, world.clock.now())
        assert ended.wait(30)
        ended.clear()
        assert stored(world, operation).done == ASKED
    service.stop()


def test_a_thread_that_is_stopped_leaves_the_rest(
    world: SchedulerHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
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


def test_a_thread_that_was_never_started_is_stopped(world: SchedulerHarness) -> None:
    operation, service = accept(world), OperationRunner(some_services(world))
    service.stop()
    service.run_once(world.clock.now())
    assert stored(world, operation).state.value == "accepted"


# REST


def test_operations_are_listed_newest_first(world: SchedulerHarness, client) -> None:
    first, second, third = (accept(world).id for _ in range(3))
    page = client.get("/api/v1/operations?limit=2").json()
    assert [one["id"] for one in page["items"]] == [third, second]
    rest = client.get(f"/api/v1/operations?limit=2&cursor={page['next']}").json()
    assert ([one["id"] for one in rest["items"]], rest["next"]) == ([first], None)
    assert client.get("/api/v1/operations?cursor=x").status_code == 422


def test_an_operation_says_how_far_it_is(world: SchedulerHarness) -> None:
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
def test_who_prefers_not_to_wait_is_told_where_to_follow_it(
    world: SchedulerHarness, ended: threading.Event, client, prefer: str
) -> None:
    answer = client.post("/api/v1/jobs/reprocess", json=body(), headers={"Prefer": prefer})
    assert answer.status_code == 202
    assert (answer.json()["total"], answer.json()["who"]) == (ASKED, "local (mx)")
    assert answer.headers["location"] == f"/api/v1/operations/{answer.json()['id']}"
    assert ended.wait(30)
    found = client.get(answer.headers["location"]).json()
    assert (found["state"], found["done"], found["touched"]) == ("done", ASKED, TOUCHED)
    assert generations(world) == [2] * TOUCHED


@pytest.mark.parametrize("prefer", ["", "respond-asynchronously", "wait=10", "return=minimal"])
def test_others_wait(world: SchedulerHarness, client, prefer: str) -> None:
    answer = client.post("/api/v1/jobs/reprocess", json=body(), headers={"Prefer": prefer})
    assert (answer.status_code, answer.json()["count"]) == (200, TOUCHED)
    assert world.store.operations.find() == ([], None)


def test_what_touches_more_jobs_than_an_answer_may_take_goes_on_after_it(
    world: SchedulerHarness, ended: threading.Event, client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "LONG", TOUCHED)
    first = client.post("/api/v1/jobs/reprocess", json=body())
    assert first.status_code == 200
    for job in (HOURS, ("Sitedaily", "2015051700", "2015051900")):
        level = world.timetable().places[job[0]].level
        begin, end = level.ordinal(job[1]), level.ordinal(job[2])
        qualifier = world.timetable().places[job[0]].process.qualifier
        again = a_move(
            begin, end, process=job[0], qualifier=qualifier, after=JobState.PROCESSED, generation=2
        )
        assert world.store.jobs.move([again], world.clock.now()) == []
    monkeypatch.setattr(jobs, "LONG", TOUCHED - 1)
    dry = client.post("/api/v1/jobs/reprocess", json=body(dry_run=True))
    assert (dry.status_code, dry.json()["count"]) == (200, TOUCHED)
    assert client.post("/api/v1/jobs/reprocess", json=body()).status_code == 202
    assert ended.wait(30)
    assert generations(world) == [3] * TOUCHED


def test_what_the_journal_was_not_told_yet_is_looked_up_in_the_rows(
    world: SchedulerHarness,
) -> None:
    told = world.timetable()
    place = told.places["Sitehourly"]
    third = place.level.ordinal("2015051703")
    again = a_move(
        third, third, process="Sitehourly", qualifier=place.process.qualifier,
        before=JobState.PROCESSED, after=JobState.EMBRYO, start_over=True,
    )  # fmt: skip
    done = replace(
        again, before=JobState.EMBRYO, after=JobState.PROCESSED, generation=2, start_over=False
    )
    for move in (again, done):
        assert world.store.jobs.move([move], world.clock.now()) == []
    late = bulk.Bulk(world.store, world.bus, world.deployment, lambda: told)
    touched = late.act(a_request(), ACTOR, world.clock.now())
    assert len(touched) == TOUCHED
    assert world.generation("Sitehourly", "2015051703") == 3


def test_what_is_not_there_is_refused_and_not_accepted(world: SchedulerHarness, client) -> None:
    wrong = body(process="Siteweekly")
    answer = client.post("/api/v1/jobs/skip", json=wrong, headers={"Prefer": "respond-async"})
    assert answer.status_code == 404
    assert world.store.operations.find() == ([], None)


def test_the_same_key_is_accepted_once(
    world: SchedulerHarness, ended: threading.Event, client
) -> None:
    headers = {"Prefer": "respond-async", "Idempotency-Key": "k"}
    first = client.post("/api/v1/jobs/reprocess", json=body(), headers=headers)
    assert ended.wait(30)
    again = client.post("/api/v1/jobs/reprocess", json=body(), headers=headers)
    assert (again.status_code, again.json()) == (202, first.json())
    assert again.headers["location"] == first.headers["location"]
    assert len(world.store.operations.find()[0]) == 1
