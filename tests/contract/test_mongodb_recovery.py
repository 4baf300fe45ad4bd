"""A writer that dies between any two commands to the server leaves a legal state behind.

The same work is done again and again; each time its writer dies after one command more. Then
another one comes, recovers, and goes on as schedulers and workers do. Whatever the moment was,
the end is the same: everything done once, told once, and nothing half shown.

It dies at each moment over mongomock, and at some of them over a server, which takes ten times
as long: what is asked of both is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import mongomock
import pytest
from pymongo.collection import Collection

from synergy.model.job import JobChange, JobState
from synergy.model.operation import OperationState
from synergy.model.schedule import RunState
from synergy.model.unit_of_work import Hint, SinkWrite, UnitChange, UnitState
from synergy.storage.mongodb import MongoStore, journaled, payloads
from tests.contract.engines import MONGOMOCK
from tests.contract.mongomock_engine import mongomock_store
from tests.contract.operated import an_operation
from tests.contract.scheduled import (
    a_change,
    a_run,
    a_run_change,
    a_schedule,
    an_event,
    the_run,
    the_schedule,
)
from tests.factories import HOUR, NEXT_HOUR, NOW, a_conclusion, a_move, a_sink_write, a_unit
from tests.servers.mongodb import Server

WRITES = (
    "insert_one", "insert_many", "update_one", "update_many", "bulk_write", "delete_one",
    "delete_many", "find_one_and_update",
)  # fmt: skip
FIRST, LAST = 1024 * 488 - 1, 1024 * 488  # neighbours in different blocks
TABLE = "site_hourly"
LONG = bytes(1_500)
SOME = 12  # of so many moments one is tried over a server


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
        for kind in (Collection, mongomock.Collection):
            for name in WRITES:
                patch.setattr(kind, name, counted(getattr(kind, name)))
        yield lambda: done


@contextmanager
def opened(url: str) -> Iterator[MongoStore]:
    with closing(MongoStore.open(url)) as store:
        yield store


Opening = Callable[[], closing[MongoStore]]


@dataclass(frozen=True)
class Place:
    """A server, or the memory of this process."""

    server: Server | None

    @contextmanager
    def database(self) -> Iterator[Opening]:
        """A new one, which whoever comes can open."""
        if self.server is None:
            client = mongomock.MongoClient()
            yield lambda: closing(mongomock_store(client))
        else:
            with self.server.fresh_database() as url:
                yield lambda: closing(MongoStore.open(url))

    def moments(self, count: int) -> range:
        """After which of so many commands the writer dies."""
        return range(1, count, 1 if self.server is None else SOME)


@pytest.fixture(params=[MONGOMOCK, "mongodb"])
def place(request: pytest.FixtureRequest) -> Place:
    is_toy = request.param == MONGOMOCK
    return Place(None if is_toy else request.getfixturevalue("mongodb"))


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


def move(store: MongoStore, wanted: JobChange) -> None:
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
        lost = UnitChange(
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
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    with place.database() as opened, opened() as store:
        with dying_after(0, monkeypatch) as count:
            the_work(store)
        check(store)
    assert count() > 30
    for number in place.moments(count()):
        with place.database() as opened:
            with opened() as first, dying_after(number, monkeypatch), pytest.raises(Died):
                the_work(first)
            with opened() as other:
                other.recover()
                other.recover()  # what stood still since the first look
                the_work(other)
                other.recover()
                check(other)


# Schedules and runs


KEY = "due:2026-11-21T12:00:00Z"


def the_decisions(store: MongoStore) -> None:
    """What an operator and an agent do to a schedule, from its beginning to its end.

    Each step is taken unless the journal, or a row, says that it was.
    """
    if not made(store, "schedule.created", 1):
        store.schedules.create([a_schedule(keys=("A|1",), wake_at=NOW)], "me")
    if not made(store, "schedule.changed", 1):
        edit(store, 2)
    decide(store)
    for state in (RunState.LAUNCHED, RunState.FAILED, RunState.LAUNCHED, RunState.PROCESSED):
        carry_on(store, state)
    store.events.append([an_event("e-1"), an_event("e-2"), an_event("e-1")])
    assert store.payloads.get(store.payloads.put(LONG)) == LONG
    if not made(store, "schedule.changed", 2):
        edit(store, 3)
    if not made(store, "schedule.removed", 1):
        assert store.schedules.remove(the_schedule(store), "obsolete", "me", NOW)
    if not made(store, "schedule.created", 2):
        store.schedules.create([a_schedule(definition={"n": "new"})], "me")
    if not made(store, "schedule.changed", 3):
        edit(store, 2)


def made(store: MongoStore, event: str, times: int) -> bool:
    """Whether the journal says that it happened so often; `recover` has told it everything."""
    return [entry.event for entry in store.journal.since(0, 1_000)].count(event) >= times


def edit(store: MongoStore, version: int) -> None:
    change = a_change(
        the_schedule(store), event="schedule.changed", version=version, definition={"n": version}
    )
    assert store.schedules.change([change]) == []


def decide(store: MongoStore) -> None:
    """The run is made before the row moves on: a decision that is made twice makes one run."""
    if made(store, "schedule.removed", 1) or the_schedule(store).progress:
        return
    seen = the_schedule(store)
    store.runs.create([a_run(KEY, state=RunState.PENDING_LAUNCH)], "agent")
    assert store.schedules.change([a_change(seen, progress={"last_due": KEY})]) == []


def carry_on(store: MongoStore, state: RunState) -> None:
    """Moves the run to its next state, unless it was there already."""
    run = the_run(store, a_run(KEY))
    path = {
        (RunState.PENDING_LAUNCH, 0): (RunState.LAUNCHED, 1),
        (RunState.LAUNCHED, 1): (RunState.FAILED, 1),
        (RunState.FAILED, 1): (RunState.LAUNCHED, 2),
        (RunState.LAUNCHED, 2): (RunState.PROCESSED, 2),
    }
    following = path.get((run.state, run.attempt))
    if following is not None and following[0] is state:
        change = a_run_change(run, state=state, attempt=following[1])
        assert store.runs.change([change]) == []


def check_decisions(store: MongoStore) -> None:
    """The end that every life of the writer leads to."""
    (schedule,), _ = store.schedules.find()
    assert (schedule.version, schedule.definition, schedule.rev) == (2, {"n": 2}, 2)
    versions = [(one.version, one.definition) for one in store.schedules.versions("nightly")]
    assert versions == [(2, {"n": 2}), (1, {"n": "new"})]
    (run,), _ = store.runs.find()
    assert (run.state, run.attempt) == (RunState.PROCESSED, 2)
    assert [(event.seq, event.id) for event in store.events.since(0, 10)] == [
        (1, "e-1"),
        (2, "e-2"),
    ]
    assert store.payloads.prune([]) == 1
    entries = store.journal.since(0, 1_000)
    assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
    assert [entry.event for entry in entries if entry.unit is None] == [
        "schedule.created", "schedule.changed", "schedule.changed", "schedule.removed",
        "schedule.created", "schedule.changed",
    ]  # fmt: skip
    assert [entry.event for entry in entries if entry.unit == run.id] == [
        "run.pending_launch", "run.launched", "run.failed", "run.launched", "run.processed",
    ]  # fmt: skip


def test_decisions_that_are_cut_short_anywhere_come_to_the_same_end(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(payloads, "PART", 1_000)
    with place.database() as opened, opened() as store:
        with dying_after(0, monkeypatch) as count:
            the_decisions(store)
        check_decisions(store)
    assert count() > 20
    for number in place.moments(count()):
        with place.database() as opened:
            with opened() as first, dying_after(number, monkeypatch), pytest.raises(Died):
                the_decisions(first)
            with opened() as other:
                other.recover()
                the_decisions(other)
                other.recover()
                check_decisions(other)
                other.recover()
                left = ("payload_parts", "schedule_versions")
                assert [counted(other, name) for name in left] == [0, 1]


# Operations


def the_operation(store: MongoStore) -> None:
    """An operation that is accepted, worked off and ended, by whoever takes it up."""
    operation = store.operations.accept(an_operation())
    for done in range(operation.done, 3):
        step = replace(operation, state=OperationState.RUNNING, done=done + 1)
        operation = store.operations.change(step) or operation
        assert operation.done == done + 1
    if not operation.state.is_finished:
        ended = replace(operation, state=OperationState.DONE, finished_at=NOW)
        assert store.operations.change(ended) is not None


def test_an_operation_that_is_cut_short_anywhere_comes_to_the_same_end(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        place.database() as opened,
        opened() as store,
        dying_after(0, monkeypatch) as count,
    ):
        the_operation(store)
    assert count() > 6
    for number in place.moments(count()):
        with place.database() as opened:
            with opened() as first, dying_after(number, monkeypatch), pytest.raises(Died):
                the_operation(first)
            with opened() as other:
                the_operation(other)
                other.recover()
                assert other.operations.find()[0][0].state is OperationState.DONE
                events = [entry.event for entry in other.journal.since(0, 10)]
                assert events == ["operation.accepted", "operation.done"]


def counted(store: MongoStore, collection: str) -> int:
    return store._database[collection].count_documents({})


def test_a_name_is_free_although_nobody_finished_its_removal(
    mongodb_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without anybody recovering: who wants the name does what is left."""
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


def test_an_entry_of_a_dead_writer_is_told_before_that_of_the_next(
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


def test_more_untold_entries_than_are_told_at_once_are_all_told(
    mongodb_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journaled, "_AT_ONCE", 3)
    with opened(mongodb_url) as store:
        with dying_after(2, monkeypatch), pytest.raises(Died):  # numbers, then the runs
            store.runs.create([a_run(f"due:{n}") for n in range(10)], "agent")
        assert store.journal.last_seq() == 0
        assert store.recover() == 10
        assert store.journal.last_seq() == 10
        assert store.recover() == 0


def test_parts_of_a_payload_that_nobody_can_find_are_forgotten_after_two_looks(
    mongodb_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(payloads, "PART", 1_000)
    with opened(mongodb_url) as store:
        kept = store.payloads.put(LONG[1:])
        with dying_after(2, monkeypatch), pytest.raises(Died):
            store.payloads.put(LONG)
    with opened(mongodb_url) as other:
        assert other.recover() == 0
        assert counted(other, "payload_parts") == 4
        assert other.recover() == 2
        assert counted(other, "payload_parts") == 2
        assert other.payloads.get(kept) == LONG[1:]
        assert other.payloads.get(other.payloads.put(LONG)) == LONG


# Messages


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
