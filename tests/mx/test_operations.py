"""Operations are accepted, carried out in steps, and done once whatever fails in between."""

from __future__ import annotations

from dataclasses import replace

import pytest

from synergy.commands import bulk
from synergy.commands.bulk import BulkVerb, Range
from synergy.errors import MessagingUnavailable, StorageUnavailable
from synergy.model.job import JobState
from tests.contract.operated import an_operation
from tests.factories import a_move
from tests.logged import events_of
from tests.mx.operations_kit import (
    ACTOR,
    ASKED,
    DONE,
    FAILED,
    HOURS,
    RUNNING,
    TOUCHED,
    a_request,
    accept,
    done_days,
    events,
    generations,
    of_a_dead_process,
    short_steps,
    some_services,
    stored,
    world,
)
from tests.service.faults import Died, FaultyStore

__all__ = ["short_steps", "world"]  # fixtures

STILL = 61.0  # seconds


def always() -> bool:
    return True


# Accepting


def test_accepting_records_the_request_and_changes_no_job(world):
    operation = accept(world)
    assert stored(world, operation) == operation
    assert (operation.kind, operation.process, operation.state.value) == (
        "reprocess", "Sitehourly", "accepted",
    )  # fmt: skip
    assert (operation.total, operation.done, operation.touched) == (ASKED, 0, 0)
    assert operation.request == {"ranges": [list(HOURS)]}
    assert events(world) == ["operation.accepted"]
    assert generations(world) == [1] * TOUCHED


def test_an_operation_on_several_processes_has_none(world):
    ranges = (Range("Sitedaily", "2015051700", "2015051700"), Range(*HOURS))
    assert accept(world, a_request(BulkVerb.REPROCESS, *ranges)).process == ""


# Working


def test_an_operation_is_done_in_steps_with_progress(world):
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


def test_jobs_are_skipped_from_a_list(world):
    listed = [Range("Sitehourly", f"20150520{n:02}", f"20150520{n:02}") for n in (1, 3, 5, 1)]
    operation = accept(world, a_request(BulkVerb.SKIP, *listed))
    assert operation.total == 3
    some_services(world).operations.work(always)
    assert stored(world, operation).state is DONE
    states = [world.state("Sitehourly", f"20150520{n:02}") for n in range(1, 6)]
    skipped, embryo = JobState.SKIPPED, JobState.EMBRYO
    assert states == [skipped, embryo, skipped, embryo, skipped]


def test_each_call_does_the_oldest_operation(world):
    first, second = accept(world), accept(world)
    services = some_services(world)
    services.operations.work(always)
    assert [stored(world, one).state for one in (first, second)] == [DONE, first.state]
    services.operations.work(always)
    assert stored(world, second).state is DONE
    assert stored(world, second).touched == 0  # they wait to be done again


def test_a_stopped_worker_releases_the_operation_after_the_step(world):
    operation = accept(world)
    going = iter([True, True, False])
    some_services(world).operations.work(lambda: next(going))
    left = stored(world, operation)
    assert (left.state, left.owner, left.done) == (RUNNING, None, 20)
    assert some_services(world, "mx-2").operations.work(always)
    assert stored(world, operation).touched == TOUCHED
    assert generations(world) == [2] * TOUCHED


def test_an_impossible_operation_fails_with_the_reason(world):
    gone = {"ranges": [["Siteweekly", "2015051700", "2015051700"]]}
    world.store.operations.accept(an_operation("o-1", kind="skip", request=gone, total=1))
    services = some_services(world)
    assert services.operations.work(always)
    found = services.operations.get("o-1")
    assert found.state is FAILED
    assert "Siteweekly" in found.detail
    assert events(world) == ["operation.accepted", "operation.failed"]


@pytest.mark.parametrize("fields", [{"kind": "paint"}, {"request": {}}])
def test_a_malformed_operation_fails_and_does_not_block_others(world, fields, caplog):
    world.store.operations.accept(an_operation("odd", total=1, **fields))
    following, services = accept(world), some_services(world)
    services.operations.work(always)
    services.operations.work(always)
    assert services.operations.get("odd").state is FAILED
    assert services.operations.get("odd").detail == "an unexpected error: see the log"
    assert events_of(caplog) == ["operation.broken"]
    assert stored(world, following).state is DONE


# Several of them, and the dead


def test_an_operation_is_taken_over_when_its_owner_stalls(world):
    operation = accept(world)
    taken = world.store.operations.change(replace(operation, state=RUNNING, owner="far-away"))
    assert taken is not None
    other = some_services(world, "mx-2").operations
    second = accept(world)
    assert other.work(always)
    assert stored(world, second).state is DONE
    assert not other.work(always)
    world.clock.advance(STILL)
    world.store.operations.change(replace(taken, done=10))
    assert not other.work(always)  # the first owner was only slow
    world.clock.advance(STILL / 2)
    assert not other.work(always)
    world.clock.advance(STILL / 2)
    assert other.work(always)
    assert stored(world, operation).done == ASKED


def test_the_operation_of_a_dead_process_is_taken_over_at_once(world):
    operation = accept(world)
    world.store.operations.change(replace(operation, state=RUNNING, owner=of_a_dead_process()))
    assert some_services(world, "mx-2").operations.work(always)
    assert stored(world, operation).state is DONE


def test_a_slow_owner_leaves_the_operation_to_the_new_one(world, caplog):
    operation, other = accept(world), some_services(world, "mx-2").operations
    rounds = iter(range(100))

    def dawdle() -> bool:
        if next(rounds) == 2:
            assert not other.work(always)
            world.clock.advance(STILL)
            assert other.work(always)
        return True

    assert some_services(world, "mx-1").operations.work(dawdle)
    assert events_of(caplog) == ["operation.lost"]
    done = stored(world, operation)
    assert (done.state, done.touched) == (DONE, TOUCHED)
    assert generations(world) == [2] * TOUCHED
    assert events(world) == ["operation.accepted", "operation.done"]


@pytest.mark.parametrize("engine", ["sqlite", "mongomock"])
@pytest.mark.parametrize("is_late", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("fault", [Died, StorageUnavailable, MessagingUnavailable])
def test_an_operation_broken_off_at_any_call_is_done_once(worlds, engine, fault, is_late):
    """Breaks off at every call of the store, before it or after its unreported success."""
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


def test_rows_newer_than_the_timetable_are_read(world):
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
