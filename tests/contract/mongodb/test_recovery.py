"""The next writer of a MongoDB store completes what a dead writer left unfinished."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import pytest

from synergy.model.schedule import RunState
from synergy.storage.mongodb import journaled, payloads
from synergy.storage.mongodb.changes import Changes, Written
from tests.contract.mongodb.deaths import Died, Place, counted, dying_after, opened
from tests.contract.scheduled import (
    a_change,
    a_run,
    a_run_change,
    a_schedule,
    the_run,
    the_schedule,
)
from tests.factories import HOUR, NOW

TWO_PARTS = bytes(1_500)


def test_a_name_is_free_after_an_unfinished_removal(
    mongodb_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Needs no recovery: creating a schedule of that name completes the removal first."""
    with opened(mongodb_url) as store:
        store.schedules.create([a_schedule(keys=("A|1",), wake_at=NOW)], "me")
        seen = the_schedule(store)
        with dying_after(1, monkeypatch), pytest.raises(Died):
            store.schedules.remove(seen, "", "me", NOW)
    with opened(mongodb_url) as other:
        assert other.schedules.find() == ([], None)
        assert other.schedules.count() == 0
        assert other.schedules.versions("nightly") == []
        assert other.schedules.change([a_change(seen)]) == [a_change(seen)]
        assert not other.schedules.remove(seen, "", "me", NOW)
        assert other.schedules.create([a_schedule()], "you") == []
        events = [entry.event for entry in other.journal.since(0, 10)]
        assert events == ["schedule.created", "schedule.removed", "schedule.created"]
        assert other.recover() == 0
        assert other.schedules.count() == 1


def test_the_journal_entry_of_a_dead_writer_precedes_that_of_the_next_writer(
    mongodb_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(mongodb_url) as store:
        (run,) = store.runs.create([a_run()], "agent")
        with dying_after(1, monkeypatch), pytest.raises(Died):
            store.runs.change([a_run_change(run, state=RunState.PENDING_LAUNCH)])
    with opened(mongodb_url) as other:
        launched = a_run_change(the_run(other, run), state=RunState.LAUNCHED)
        assert other.runs.change([launched]) == []
        assert [entry.after for entry in other.journal.since(0, 10)] == [
            "pending_constraint", "pending_launch", "launched",
        ]  # fmt: skip


def test_recovery_journals_all_pending_entries_also_over_several_pages(
    mongodb_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journaled, "_AT_ONCE", 3)
    with opened(mongodb_url) as store:
        with (
            dying_after(2, monkeypatch),
            pytest.raises(Died),
        ):  # the sequence numbers, then the runs
            store.runs.create([a_run(f"due:{n}") for n in range(10)], "agent")
        assert store.journal.last_seq() == 0
        assert store.recover() == 10
        assert store.journal.last_seq() == 10
        assert store.recover() == 0


def test_parts_of_an_unfinished_payload_are_deleted_by_the_second_recovery(
    mongodb_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(payloads, "PART", 1_000)
    with opened(mongodb_url) as store:
        kept = store.payloads.put(TWO_PARTS[1:])
        with dying_after(2, monkeypatch), pytest.raises(Died):
            store.payloads.put(TWO_PARTS)
    with opened(mongodb_url) as other:
        assert other.recover() == 0
        assert counted(other, "payload_parts") == 4
        assert other.recover() == 2
        assert counted(other, "payload_parts") == 2
        assert other.payloads.get(kept) == TWO_PARTS[1:]
        assert other.payloads.get(other.payloads.put(TWO_PARTS)) == TWO_PARTS


# Messages


def test_messages_taken_in_a_failed_batch_return_to_their_queue_in_order(mongodb_url: str) -> None:
    with opened(mongodb_url) as store:
        store.messages.put("q", [b"1", b"2", b"3"])
        with suppress(Died), store.batch():
            assert [message.body for message in store.messages.take("q", 2)] == [b"1", b"2"]
            assert store.messages.depths() == {"q": 1}
            raise Died
        assert [message.body for message in store.messages.take("q", 9)] == [b"1", b"2", b"3"]
        assert store.messages.depths() == {}


def test_messages_taken_by_a_dead_process_return_at_the_second_recovery(mongodb_url: str) -> None:
    with opened(mongodb_url) as dead, opened(mongodb_url) as other:
        other.messages.put("q", [b"1", b"2"])
        never_ended = dead.batch()
        never_ended.__enter__()
        assert len(dead.messages.take("q", 1)) == 1
        assert other.recover() == 0
        assert other.messages.depths() == {"q": 1}
        assert other.recover() == 1
        assert [message.body for message in other.messages.take("q", 9)] == [b"1", b"2"]


def test_a_recovery_amid_a_write_leaves_the_number_of_documents_right(
    mongodb_place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It announces a dead writer's documents after a live one has shown its own."""
    with mongodb_place.database() as opening, opening() as live, opening() as other:
        announce = Changes.announce

        def die(*_: object) -> None:
            raise Died

        with monkeypatch.context() as patch:
            patch.setattr(Changes, "announce", die)
            with pytest.raises(Died):
                other.documents.update("source", [("dead", HOUR)], lambda key, _: {"key": key})
        assert other.recover() == 0

        def announce_late(changes: Changes, writes: Sequence[Written]) -> None:
            if changes is live.documents._changes:
                assert other.recover() == 1
            announce(changes, writes)

        with monkeypatch.context() as patch:
            patch.setattr(Changes, "announce", announce_late)
            live.documents.update("source", [("live", HOUR)], lambda key, _: {"key": key})
        assert live.documents.collections() == {"source": 2}
