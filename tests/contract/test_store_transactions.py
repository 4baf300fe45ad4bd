"""Batches of engines with transactions: all writes become durable together, or none."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, suppress

import pytest

from synergy.errors import StorageUnavailable
from synergy.messaging.message import UnitMessage
from synergy.messaging.protocol import Bus, Consumer
from synergy.model.schedule import RunState
from synergy.storage.protocol import QuarantineContents, QuarantineLimits, Store
from tests.contract.concurrency import in_processes, in_threads, open_store, paused_in_batch
from tests.contract.engines import STORED, WITH_TRANSACTIONS
from tests.contract.scheduled import (
    a_change,
    a_run,
    a_run_change,
    a_schedule,
    an_event,
    the_schedule,
)
from tests.factories import HOUR, NOW, a_move, a_unit, an_entry
from tests.servers.standing_still import stand_still

ENGINES = WITH_TRANSACTIONS
BUS_ENGINES = (STORED,)  # it takes part in transactions
ONE, TWO = (UnitMessage("u", n) for n in (1, 2))


@pytest.fixture
def consumer(bus: Bus) -> Iterator[Consumer]:
    with closing(bus.consumer("q")) as consumer:
        yield consumer


def take(store: Store, consumer: Consumer) -> list[object]:
    with store.batch() as batch:
        return [delivery.message for delivery in consumer.take(10, batch)]


def publish(store: Store, bus: Bus, *messages: UnitMessage) -> None:
    with store.batch() as batch:
        bus.publish("q", messages, batch)


def test_a_failed_batch_writes_nothing(store: Store) -> None:
    with suppress(ZeroDivisionError), store.batch():
        store.facts.set("a", "1")
        store.units.create([a_unit()], "scheduler")
        store.jobs.move([a_move()], NOW)
        store.documents.update("c", [("k", HOUR)], lambda *_: {})
        store.messages.put("q", [b"1"])
        store.leases.take(None, "lease", "me")
        raise ZeroDivisionError
    assert store.facts.get("a") is None
    assert store.units.unfinished() == []
    assert list(store.jobs.load()) == []
    assert store.documents.changed_since(0, 10) == []
    assert store.messages.depths() == {}
    assert store.leases.read("lease") is None
    assert store.journal.since(0, 10) == []


def test_a_failed_decision_leaves_the_schedule_and_its_runs_unchanged(store: Store) -> None:
    store.schedules.create([a_schedule(keys=("A|1",))], "me")
    (run,) = store.runs.create([a_run()], "agent")
    before = the_schedule(store)
    last = store.journal.last_seq()
    with suppress(ZeroDivisionError), store.batch():
        change = a_change(before, event="schedule.changed", version=2, keys=("A|2",))
        assert store.schedules.change([change]) == []
        store.schedules.create([a_schedule("other")], "me")
        assert store.runs.change([a_run_change(run, state=RunState.LAUNCHED)]) == []
        store.runs.create([a_run("due:2")], "agent")
        store.events.append([an_event()])
        store.payloads.put(b"body")
        raise ZeroDivisionError
    assert store.schedules.find() == ([before], None)
    assert len(store.schedules.versions("nightly")) == 1
    assert (store.schedules.listening(["A|1"]), store.schedules.listening(["A|2"])) == (
        [before],
        [],
    )
    assert store.runs.find() == ([run], None)
    assert store.events.append([an_event("e-2")])[0][0].seq == 1
    assert store.payloads.prune([]) == 0
    assert store.journal.last_seq() == last


def test_actions_after_a_commit_may_write_in_their_own_batch(store: Store) -> None:
    def write() -> None:
        with suppress(ZeroDivisionError), store.batch():
            store.facts.set("b", "1")
            raise ZeroDivisionError

    with store.batch() as batch:
        store.facts.set("a", "1")
        batch.after_commit(write)
    assert (store.facts.get("a"), store.facts.get("b")) == ("1", None)


def test_actions_of_an_inner_batch_run_after_the_outer_commit(store: Store) -> None:
    calls = []
    with suppress(ZeroDivisionError), store.batch():
        with store.batch() as inner:
            store.facts.set("a", "1")
            inner.after_commit(lambda: calls.append(1))
        assert calls == []
        raise ZeroDivisionError
    assert (store.facts.get("a"), calls) == (None, [])


def test_a_batch_with_a_suppressed_error_is_undone(store: Store) -> None:
    """An incomplete write must not become durable because its error was suppressed."""

    def fail(*_: object) -> dict[str, object]:
        raise ZeroDivisionError

    def write_after_a_failure() -> None:
        with store.batch():
            store.facts.set("a", "1")
            with suppress(ZeroDivisionError):
                store.documents.update("c", [("k", HOUR)], fail)
            store.facts.set("b", "1")

    with pytest.raises(StorageUnavailable, match="undone"):
        write_after_a_failure()
    assert (store.facts.get("a"), store.facts.get("b")) == (None, None)


def test_each_thread_has_its_own_batch(store: Store) -> None:
    def act(number: int) -> None:
        for step in range(20):
            with suppress(ZeroDivisionError), store.batch():
                store.journal.append([an_entry(who=str(number)), an_entry(who=str(number))])
                if step % 2:
                    raise ZeroDivisionError

    in_threads(4, act)
    found = [entry.who for entry in store.journal.since(0, 1_000)]
    assert sorted(found) == sorted("0123" * 20)
    assert found[::2] == found[1::2], "the two entries of a batch are neighbours"


def _count(store: Store, times: int) -> None:
    for _ in range(times):
        with store.batch():
            store.facts.set("n", str(int(store.facts.get("n") or 0) + 1))


def test_read_and_write_in_a_batch_lose_no_update(shared: Store, address: str) -> None:
    in_processes(address, _count, [(80,), (80,), (80,)])
    assert shared.facts.get("n") == "240"


def _everything(store: Store) -> None:
    store.facts.set("a", "1")
    store.units.create([a_unit()], "scheduler")
    store.jobs.move([a_move()], NOW)
    store.messages.put("q", [b"1"])
    store.messages.take("old", 1)


def test_a_batch_is_invisible_to_others_before_its_end(shared: Store, address: str) -> None:
    shared.messages.put("old", [b"x"])
    with paused_in_batch(address, _everything):
        assert shared.facts.get("a") is None
        assert shared.messages.depths() == {"old": 1}


def test_a_killed_writer_leaves_nothing_and_blocks_no_other(shared: Store, address: str) -> None:
    shared.messages.put("old", [b"x"])
    with paused_in_batch(address, _everything) as writer:
        writer.kill()
        writer.join()
        shared.facts.set("b", "1")
    assert shared.facts.get("a") is None
    assert shared.units.unfinished() == []
    assert shared.messages.depths() == {"old": 1}
    again = open_store(address)
    assert again.facts.get("b") == "1"
    again.close()


def test_a_paused_writer_blocks_writes_until_the_deadline_and_no_reads(
    shared: Store, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("synergy.storage.sqlite.writer_gate.LOCK_SECONDS", 0.2)
    shared.facts.set("a", "0")
    with paused_in_batch(address, _everything) as writer:
        assert writer.pid is not None
        stand_still(writer.pid)
        with pytest.raises(StorageUnavailable, match="locked"):
            shared.facts.set("b", "1")
        with pytest.raises(StorageUnavailable, match="locked"), shared.batch():
            pytest.fail("the batch began")
        assert shared.facts.get("a") == "0"
    shared.facts.set("b", "1")
    assert shared.facts.get("b") == "1"


def test_messages_of_a_failed_batch_return_to_their_places(store: Store) -> None:
    store.messages.put("q", [b"1", b"2", b"3"])
    with suppress(ZeroDivisionError), store.batch():
        assert [message.body for message in store.messages.take("q", 2)] == [b"1", b"2"]
        store.messages.put("q", [b"4"])
        raise ZeroDivisionError
    assert [message.body for message in store.messages.take("q", 10)] == [b"1", b"2", b"3"]


def test_a_failed_batch_publishes_nothing(store: Store, bus: Bus, consumer: Consumer) -> None:
    with suppress(ZeroDivisionError), store.batch() as batch:
        bus.publish("q", [ONE], batch)
        raise ZeroDivisionError
    assert take(store, consumer) == []
    assert not consumer.wait(0)


def test_a_failed_batch_puts_nothing_into_quarantine(
    store: Store, bus: Bus, consumer: Consumer
) -> None:
    publish(store, bus, ONE)
    store.messages.put("q", [b"\xff"])
    with suppress(ZeroDivisionError), store.batch() as batch:
        consumer.take(10, batch)
        raise ZeroDivisionError
    assert bus.dead() == []
    assert take(store, consumer) == [ONE]
    assert [dead.body for dead in bus.dead()] == [b"\xff"]


def test_a_failed_batch_drops_nothing_from_quarantine(store: Store) -> None:
    limits = QuarantineLimits(messages=2, bytes=100)
    store.messages.bury("q", b"1", "odd", NOW, limits)
    store.messages.bury("q", b"2", "odd", NOW, limits)
    with suppress(ZeroDivisionError), store.batch():
        assert store.messages.bury("q", b"3", "odd", NOW, limits) == 1
        raise ZeroDivisionError
    assert [dead.body for dead in store.messages.buried()] == [b"2", b"1"]
    assert store.messages.quarantine() == QuarantineContents(2, 8, 0)
