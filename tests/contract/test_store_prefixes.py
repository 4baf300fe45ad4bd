"""Batches of engines without transactions: after a failure, a prefix of the writes is stored."""

from __future__ import annotations

from contextlib import suppress

from synergy.model.unit_of_work import UnitState
from synergy.storage.protocol import Store
from tests.contract.concurrency import in_threads, open_store, paused_in_batch
from tests.contract.engines import WITHOUT_TRANSACTIONS
from tests.contract.scheduled import a_change, a_run, a_schedule, the_schedule
from tests.factories import NOW, a_move, a_unit

ENGINES = WITHOUT_TRANSACTIONS


def test_writes_before_a_failure_stay(store: Store) -> None:
    with suppress(ZeroDivisionError), store.batch():
        store.units.create([a_unit()], "scheduler")
        store.jobs.move([a_move()], NOW)
        raise ZeroDivisionError
    assert [unit.state for unit in store.units.unfinished()] == [UnitState.REQUESTED]
    assert len(list(store.jobs.load())) == 1
    events = [entry.event for entry in store.journal.since(0, 10)]
    assert events == ["unit.requested", "job.in_progress"]


def test_a_repeated_decision_finds_the_run_of_the_interrupted_one(store: Store) -> None:
    store.schedules.create([a_schedule()], "me")
    with suppress(ZeroDivisionError), store.batch():
        store.runs.create([a_run()], "agent")
        raise ZeroDivisionError
    (run,) = store.runs.unfinished()
    with store.batch():
        assert store.runs.create([a_run()], "another agent") == [run]
        change = a_change(the_schedule(store), progress={"made": 1})
        assert store.schedules.change([change]) == []
    events = [entry.event for entry in store.journal.since(0, 10)]
    assert events == ["schedule.created", "run.pending_constraint"]


def test_each_write_is_visible_to_others_at_once(store: Store) -> None:
    with store.batch():
        store.facts.set("a", "1")
        assert in_threads(1, lambda _: store.facts.get("a")) == ["1"]


def _begin(store: Store) -> None:
    store.units.create([a_unit()], "scheduler")
    store.messages.take("old", 1)
    store.messages.put("q", [b"1"])


def test_a_killed_writer_leaves_its_writes_and_blocks_no_other(shared: Store, address: str) -> None:
    shared.messages.put("old", [b"x"])
    with paused_in_batch(address, _begin) as writer:
        writer.kill()
        writer.join()
        shared.facts.set("b", "1")
    assert len(shared.units.unfinished()) == 1
    assert shared.messages.depths() == {"q": 1}
    again = open_store(address)
    assert again.facts.get("b") == "1"
    again.close()
