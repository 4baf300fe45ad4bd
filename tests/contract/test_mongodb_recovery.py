"""A writer that dies between any two commands to the server leaves a legal state behind.

The same work is done again and again; each time its writer dies after one command more. Then
another one comes, recovers, and goes on as schedulers and workers do. Whatever the moment was,
the end is the same: everything done once, told once, and nothing half shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import pairwise
from typing import Any

import pytest
from pymongo.collection import Collection

from synergy.model.job import JobMove, JobState
from synergy.model.unit_of_work import Hint, SinkWrite, UnitMove, UnitState
from synergy.storage.mongodb import MongoStore
from tests.factories import HOUR, NEXT_HOUR, NOW, a_conclusion, a_move, a_sink_write, a_unit
from tests.servers.mongodb import Server

WRITES = (
    "insert_one", "insert_many", "update_one", "update_many", "bulk_write", "delete_one",
    "delete_many", "find_one_and_update",
)  # fmt: skip
FIRST, LAST = 1024 * 488 - 1, 1024 * 488  # neighbours in different blocks
TABLE = "site_hourly"


class Died(BaseException):
    """What nobody catches."""


@contextmanager
def dying_after(count: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], int]]:
    """The writer dies when that many writing commands are done; tells how many were."""
    done = 0

    def counted(method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            nonlocal done
            answer = method(*args, **kwargs)
            done += 1
            if done == count:
                raise Died
            return answer

        return call

    with monkeypatch.context() as patch:
        for name in WRITES:
            patch.setattr(Collection, name, counted(getattr(Collection, name)))
        yield lambda: done


@contextmanager
def opened(url: str) -> Iterator[MongoStore]:
    store = MongoStore.open(url)
    yield store
    store.close()


def the_work(store: MongoStore) -> None:
    """What scheduler and worker do for two units, for late data, and for the unit after it."""
    store.documents.update("source", [("a", HOUR), ("b", HOUR)], lambda key, _: {"key": key})
    with_rows, without = a_unit(), a_unit(timeperiod=NEXT_HOUR)
    store.units.create([with_rows, without], "scheduler")
    move(store, a_move(FIRST, LAST))
    do(store, with_rows.id, {"a": 1, "b": 1})
    do(store, without.id, None)
    move(store, a_move(FIRST, LAST, before=JobState.IN_PROGRESS, after=JobState.PROCESSED))
    store.documents.update("source", [("a", HOUR)], lambda key, _: {"key": key, "late": True})
    over = a_move(FIRST, before=JobState.PROCESSED, after=JobState.EMBRYO, start_over=True)
    move(store, over)
    again = a_unit(generation=2)
    store.units.create([again], "scheduler")
    move(store, a_move(FIRST, generation=2))
    do(store, again.id, {"b": 1, "c": 2})


def move(store: MongoStore, wanted: JobMove) -> None:
    """Makes a move unless it was made."""
    entries = store.journal.find(wanted.process, 1_000)
    made = {(entry.event, entry.first, entry.generation) for entry in entries}
    event = "job.started_over" if wanted.start_over else f"job.{wanted.after.word}"
    first = wanted.qualifier.timeperiod(wanted.first)
    if (event, first, wanted.generation + wanted.start_over) not in made:
        assert store.jobs.move([wanted], NOW) == []


def do(store: MongoStore, unit_id: str, rows: dict[str, int] | None) -> None:
    """Carries a unit out; one that a dead worker holds is taken from it first."""
    (unit,) = store.units.get([unit_id])
    if unit.state.is_finished:
        return
    if unit.state is UnitState.IN_PROGRESS:
        lost = UnitMove(
            unit.id, unit.state, unit.attempt, UnitState.REQUESTED, "worker lost", "collector",
            heartbeat=unit.heartbeat, next_attempt=True, failed=True,
        )  # fmt: skip
        assert store.units.move([lost], NOW) == []
    (unit,) = store.units.get([unit_id])
    owner = f"worker-{unit.attempt}"
    (claimed,) = store.units.claim([Hint(unit.id, unit.attempt)], owner, NOW)
    store.units.heartbeat([Hint(unit.id, unit.attempt)], owner)
    writes: tuple[SinkWrite, ...] = ()
    if rows is not None:
        bodies = [(key, {"key": key, "n": number}) for key, number in rows.items()]
        writes = (a_sink_write(*bodies, collection=TABLE),)
    assert store.units.conclude([a_conclusion(claimed, owner, writes=writes)], NOW) == []


def check(store: MongoStore) -> None:
    """The end that every life of the writer leads to."""
    assert [(unit.state, unit.generation) for unit in store.units.find()[0]] == [
        (UnitState.PROCESSED, 2),
        (UnitState.PROCESSED, 1),
        (UnitState.PROCESSED, 1),
    ]
    rows = list(store.documents.read(TABLE, HOUR, NEXT_HOUR))
    assert rows == [{"key": "b", "n": 1}, {"key": "c", "n": 2}]
    states = {
        run.first + at: byte for run in store.jobs.load() for at, byte in enumerate(run.states)
    }
    assert states == {FIRST: JobState.IN_PROGRESS, LAST: JobState.PROCESSED}
    assert [run.generations for run in store.jobs.load()] == [{FIRST: 2}, {}]
    for collection, count in store.documents.collections().items():
        assert count == len(list(store.documents.read(collection, "", "")))
    check_journal(store)


def check_journal(store: MongoStore) -> None:
    """Numbers without gaps; each change told once, after the one before it."""
    entries = store.journal.since(0, 1_000)
    assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
    for unit in store.units.find()[0]:
        chain = [entry for entry in entries if entry.unit == unit.id]
        assert chain[0].before == ""
        assert chain[-1].after == unit.state.value
        assert all(one.after == other.before for one, other in pairwise(chain))
    jobs = [(entry.event, entry.generation) for entry in entries if entry.event[:4] == "job."]
    assert jobs == [
        ("job.in_progress", 1),
        ("job.processed", 1),
        ("job.started_over", 2),
        ("job.in_progress", 2),
    ]


def test_work_that_is_cut_short_anywhere_comes_to_the_same_end(
    mongodb: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    with mongodb.fresh_database() as url, opened(url) as store:
        with dying_after(0, monkeypatch) as count:
            the_work(store)
        check(store)
    assert count() > 30
    for number in range(1, count()):
        with mongodb.fresh_database() as url:
            with opened(url) as first, dying_after(number, monkeypatch), pytest.raises(Died):
                the_work(first)
            with opened(url) as other:
                other.recover()
                other.recover()  # what stood still since the first look
                the_work(other)
                other.recover()
                check(other)


def test_messages_of_a_batch_that_fails_wait_again_in_their_order(mongodb_url: str) -> None:
    with opened(mongodb_url) as store:
        store.messages.put("q", [b"1", b"2", b"3"])
        with suppress(Died), store.batch():
            assert [message.body for message in store.messages.take("q", 2)] == [b"1", b"2"]
            assert store.messages.depths() == {"q": 1}
            raise Died
        assert [message.body for message in store.messages.take("q", 9)] == [b"1", b"2", b"3"]
        assert store.messages.depths() == {}


def test_messages_whose_taker_died_wait_again_after_two_looks(mongodb_url: str) -> None:
    with opened(mongodb_url) as dead, opened(mongodb_url) as other:
        other.messages.put("q", [b"1", b"2"])
        never_ended = dead.batch()
        never_ended.__enter__()
        assert len(dead.messages.take("q", 1)) == 1
        assert other.recover() == 0
        assert other.messages.depths() == {"q": 1}
        assert other.recover() == 1
        assert [message.body for message in other.messages.take("q", 9)] == [b"1", b"2"]
