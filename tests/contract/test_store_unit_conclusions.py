"""Units of work are concluded by the owner of their newest attempt, once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from synergy.errors import InvalidValue
from synergy.model.unit_of_work import Hint, UnitState
from synergy.storage.protocol import Store
from tests.contract.concurrency import in_processes
from tests.contract.journal import events
from tests.contract.units import claimed, reread
from tests.factories import (
    HOUR,
    LATER,
    NEXT_HOUR,
    NOW,
    a_conclusion,
    a_hint,
    a_sink_write,
    a_unit,
    a_unit_move,
    some_units,
)


def test_a_conclusion_finishes_the_unit_and_writes_its_rows(store: Store) -> None:
    unit = a_unit()
    store.units.create([unit], "scheduler")
    claimed(store, unit)
    ending = a_conclusion(
        unit, "worker", counts={"rows": 1}, writes=(a_sink_write(("k", {"n": 1})),)
    )
    assert store.units.conclude([ending], LATER) == []
    done = reread(store, unit)
    assert (done.state, done.finished_at) == (UnitState.PROCESSED, LATER)
    assert (done.counts, done.attempt, done.failures) == ({"rows": 1}, 1, 0)
    assert list(store.documents.read("site_hourly", HOUR, NEXT_HOUR)) == [{"n": 1}]
    entry = store.journal.since(0, 10)[-1]
    assert (entry.event, entry.before, entry.who) == ("unit.processed", "in_progress", "worker")


def test_a_failure_is_counted_with_its_reason_and_earliest_retry(store: Store) -> None:
    unit = a_unit()
    store.units.create([unit], "scheduler")
    claimed(store, unit)
    failed = a_conclusion(
        unit, "worker", UnitState.INVALID, reason="ValueError: no", not_before=LATER
    )
    assert store.units.conclude([failed], NOW) == []
    found = reread(store, unit)
    assert (found.state, found.failures, found.reason) == (UnitState.INVALID, 1, "ValueError: no")
    assert (found.not_before, found.finished_at, found.attempt) == (LATER, None, 1)
    assert store.journal.since(0, 10)[-1].why == "ValueError: no"


@pytest.mark.parametrize("fault", ["owner", "attempt", "state", "unknown"])
def test_only_the_newest_attempt_of_the_owner_can_conclude_a_unit(store: Store, fault: str) -> None:
    unit = a_unit()
    store.units.create([unit], "scheduler")
    claimed(store, unit)
    ending = a_conclusion(unit, "worker", writes=(a_sink_write(("k", {"n": 1})),))
    if fault == "owner":
        ending = replace(ending, owner="another")
    elif fault == "attempt":
        ending = replace(ending, attempt=2)
    elif fault == "unknown":
        ending = replace(ending, unit="nobody")
    else:
        store.units.move([a_unit_move(reread(store, unit), UnitState.CANCELED)], NOW)
    before = reread(store, unit)
    assert store.units.conclude([ending], LATER) == [ending]
    assert reread(store, unit) == before
    assert list(store.documents.read("site_hourly", "", "")) == []
    assert "unit.processed" not in events(store)


def test_a_refused_conclusion_does_not_affect_the_others(store: Store) -> None:
    units = some_units(3)
    store.units.create(units, "scheduler")
    for unit in units:
        claimed(store, unit)
    store.units.move([a_unit_move(reread(store, units[1]), UnitState.CANCELED)], NOW)
    endings = [a_conclusion(unit, "worker") for unit in units]
    assert store.units.conclude(endings, NOW) == [endings[1]]
    states = [reread(store, unit).state for unit in units]
    assert states == [UnitState.PROCESSED, UnitState.CANCELED, UnitState.PROCESSED]


def test_a_repeated_conclusion_is_refused(store: Store) -> None:
    unit = a_unit()
    store.units.create([unit], "scheduler")
    claimed(store, unit)
    ending = a_conclusion(unit, "worker")
    assert store.units.conclude([ending, ending], NOW) == [ending]
    assert store.units.conclude([ending], NOW) == [ending]
    assert events(store).count("unit.processed") == 1


def test_a_late_conclusion_of_a_paused_worker_is_refused(store: Store) -> None:
    unit = a_unit()
    store.units.create([unit], "scheduler")
    claimed(store, unit, "paused")
    lost = a_unit_move(
        reread(store, unit), UnitState.REQUESTED, next_attempt=True, failed=True, why="worker lost"
    )
    assert store.units.move([lost], NOW) == []
    (second,) = store.units.claim([Hint(unit.id, 2)], "fresh", NOW)
    late = a_conclusion(unit, "paused", writes=(a_sink_write(("k", {"by": "paused"})),))
    assert store.units.conclude([late], NOW) == [late]
    good = a_conclusion(second, "fresh", writes=(a_sink_write(("k", {"by": "fresh"})),))
    assert store.units.conclude([good], NOW) == []
    assert store.units.conclude([late], NOW) == [late]
    assert list(store.documents.read("site_hourly", "", "")) == [{"by": "fresh"}]


def test_rewriting_unchanged_rows_does_not_raise_the_upper_bound(store: Store) -> None:
    bounds = []
    for end_id, rows in enumerate(
        [
            [("a", {"n": 1}), ("b", {"n": 1})],
            [("b", {"n": 1}), ("a", {"n": 1})],
            [("a", {"n": 1}), ("b", {"n": 2})],
            [("a", {"n": 1})],
            [],
        ]
    ):
        unit = a_unit(end_id=end_id)
        store.units.create([unit], "scheduler")
        claimed(store, unit)
        writes = (a_sink_write(*rows),)
        assert store.units.conclude([a_conclusion(unit, "worker", writes=writes)], NOW) == []
        found = store.documents.bounds("site_hourly", HOUR, NEXT_HOUR)
        bounds.append((found.high, found.rows))
    assert bounds == [(2, 2), (2, 2), (3, 2), (4, 1), (5, 0)]


def test_a_replacement_leaves_other_periods_and_collections_alone(store: Store) -> None:
    everything = (
        a_sink_write(("k", {"n": 1})),
        a_sink_write(("k", {"n": 1}), timeperiod=NEXT_HOUR, end="2026112112"),
        a_sink_write(("k", {"n": 1}), collection="other"),
    )
    for end_id, writes in enumerate([everything, (a_sink_write(),)]):
        unit = a_unit(end_id=end_id)
        store.units.create([unit], "scheduler")
        claimed(store, unit)
        store.units.conclude([a_conclusion(unit, "worker", writes=writes)], NOW)
    assert list(store.documents.read("site_hourly", "", "")) == [{"n": 1}]
    assert list(store.documents.read("other", "", "")) == [{"n": 1}]


@pytest.mark.parametrize(
    ("documents", "message"),
    [
        ([("k", {"n": 1}), ("k", {"n": 2})], "two documents 'k'"),
        ([("k", {"n": {1, 2}})], "cannot be stored"),
    ],
)
def test_rows_that_cannot_be_stored_are_refused_before_anything_is_written(
    store: Store, documents: list[tuple[str, dict[str, object]]], message: str
) -> None:
    unit = a_unit()
    store.units.create([unit], "scheduler")
    taken = claimed(store, unit)
    ending = a_conclusion(unit, "worker", writes=(a_sink_write(*documents),))
    with pytest.raises(InvalidValue, match=message):
        store.units.conclude([ending], NOW)
    assert reread(store, unit) == taken


def test_a_conclusion_cannot_request_the_unit_again(store: Store) -> None:
    unit = a_unit()
    store.units.create([unit], "scheduler")
    claimed(store, unit)
    with pytest.raises(InvalidValue, match="requested"):
        store.units.conclude([a_conclusion(unit, "worker", UnitState.REQUESTED)], NOW)


def _race(store: Store, units: list, owner: str) -> int:
    endings = [a_conclusion(unit, "worker", reason=owner) for unit in units]
    return sum(store.units.conclude([ending], NOW) == [] for ending in endings)


def test_one_of_several_processes_concludes_an_attempt(
    shared: Store, address: str, much: int
) -> None:
    units = some_units(much)
    shared.units.create(units, "scheduler")
    shared.units.claim([a_hint(unit) for unit in units], "worker", NOW)
    won = in_processes(address, _race, [(units, f"process-{n}") for n in range(2)])
    assert sum(won) == much
    assert events(shared).count("unit.processed") == much
