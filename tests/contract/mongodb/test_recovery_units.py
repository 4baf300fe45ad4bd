"""A unit whose writer dies at any moment is done once and journaled once."""

from __future__ import annotations

from itertools import pairwise

import pytest

from synergy.model.job import JobChange, JobState
from synergy.model.unit_of_work import Hint, SinkWrite, UnitChange, UnitState
from synergy.storage.mongodb import MongoStore
from tests.contract.mongodb.deaths import Place
from tests.factories import HOUR, NEXT_HOUR, NOW, a_conclusion, a_move, a_sink_write, a_unit

FIRST, LAST = 1024 * 488 - 1, 1024 * 488  # neighbours in different blocks
TABLE = "site_hourly"


def perform_work(store: MongoStore) -> None:
    """Does what scheduler and worker do for two units, for late data, and for its new unit."""
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
    """Moves the job unless the journal shows that it was moved."""
    entries = store.journal.find(wanted.process, 1_000)
    made = {(entry.event, entry.first, entry.generation) for entry in entries}
    event = "job.started_over" if wanted.start_over else f"job.{wanted.after.word}"
    first = wanted.qualifier.timeperiod(wanted.first)
    if (event, first, wanted.generation + wanted.start_over) not in made:
        assert store.jobs.move([wanted], NOW) == []


def do(store: MongoStore, unit_id: str, rows: dict[str, int] | None) -> None:
    """Carries a unit out; takes it from a dead worker first if one holds it."""
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
    """Checks the end state, which does not depend on when the writer died."""
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
    """Checks that numbers have no gaps, and that each change is journaled once and in order."""
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


def test_work_interrupted_at_any_command_reaches_the_same_end_state(
    mongodb_place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    for store in mongodb_place.deaths(perform_work, check, monkeypatch, more_than=30):
        store.recover()
        store.recover()  # releases claims that are unchanged since the first recovery
        perform_work(store)
        store.recover()
        check(store)
