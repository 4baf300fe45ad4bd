"""Units of work are claimed once, and held by their owner alone."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from synergy.model.unit_of_work import Hint, UnitState
from synergy.storage.protocol import Store
from tests.contract.concurrency import in_processes, in_threads
from tests.contract.units import claimed, reread
from tests.factories import (
    LATER,
    NEXT_HOUR,
    NOW,
    a_conclusion,
    a_hint,
    a_unit,
    a_unit_move,
    some_units,
)

# Claiming


def test_a_claim_takes_the_unit_for_its_owner(store: Store) -> None:
    unit = a_unit()
    store.units.create([unit], "scheduler")
    taken = claimed(store, unit, "worker-1")
    assert taken == replace(
        unit, state=UnitState.IN_PROGRESS, owner="worker-1", started_at=NOW, heartbeat=0,
        first_claimed_at=NOW,
    )  # fmt: skip
    assert reread(store, unit) == taken
    entry = store.journal.since(0, 10)[-1]
    assert (entry.event, entry.before, entry.after) == (
        "unit.in_progress",
        "requested",
        "in_progress",
    )
    assert (entry.who, entry.attempt) == ("worker-1", 1)


def test_taken_unknown_or_outdated_units_are_not_claimed(store: Store) -> None:
    units = some_units(3)
    store.units.create(units, "scheduler")
    claimed(store, units[0])
    hints = [a_hint(units[0]), Hint("nobody", 1), Hint(units[1].id, 2), a_hint(units[2])]
    found = store.units.claim(hints, "other", NOW)
    assert [unit.id for unit in found] == [units[2].id]


def test_a_repeated_hint_claims_its_unit_once(store: Store) -> None:
    unit = a_unit()
    store.units.create([unit], "scheduler")
    assert len(store.units.claim([a_hint(unit), a_hint(unit)], "worker", NOW)) == 1


def test_a_unit_is_not_claimed_before_its_time(store: Store) -> None:
    unit = a_unit(not_before=LATER)
    store.units.create([unit], "scheduler")
    assert store.units.claim([a_hint(unit)], "worker", NOW) == []
    assert len(store.units.claim([a_hint(unit)], "worker", LATER)) == 1


def test_two_units_of_one_job_are_never_in_progress_together(store: Store) -> None:
    first, second = a_unit(end_id=1), a_unit(end_id=2)
    elsewhere = a_unit(timeperiod=NEXT_HOUR)
    store.units.create([first, second, elsewhere], "scheduler")
    hints = [a_hint(first), a_hint(second), a_hint(elsewhere)]
    assert [unit.id for unit in store.units.claim(hints, "worker", NOW)] == [first.id, elsewhere.id]
    assert store.units.claim([a_hint(second)], "other", NOW) == []
    store.units.conclude([a_conclusion(first, "worker")], NOW)
    assert len(store.units.claim([a_hint(second)], "other", NOW)) == 1


def _claim_all(store: Store, hints: list[Hint], owner: str) -> list[str]:
    won = []
    for start in range(0, len(hints), 7):
        group = store.units.claim(hints[start : start + 7], owner, NOW)
        won.extend(unit.id for unit in group)
    return won


def test_threads_never_claim_the_same_unit(store: Store, much: int) -> None:
    units = some_units(much)
    store.units.create(units, "scheduler")
    hints = [a_hint(unit) for unit in units]
    won = in_threads(4, lambda n: _claim_all(store, hints, f"worker-{n}"))
    assert sorted(unit for some in won for unit in some) == sorted(unit.id for unit in units)


def test_processes_never_claim_the_same_unit(shared: Store, address: str, much: int) -> None:
    units = some_units(much)
    shared.units.create(units, "scheduler")
    hints = [a_hint(unit) for unit in units]
    won = in_processes(address, _claim_all, [(hints, f"worker-{n}") for n in range(3)])
    assert sorted(unit for some in won for unit in some) == sorted(unit.id for unit in units)
    owners = {unit.id: unit.owner for unit in shared.units.unfinished()}
    assert all(owners[unit] == f"worker-{n}" for n, some in enumerate(won) for unit in some)
    claims = [entry.unit for entry in shared.journal.since(0, 10_000) if "in_prog" in entry.event]
    assert len(claims) == len(set(claims)) == much


# Holding


def test_a_heartbeat_advances_held_units_and_returns_lost_ones(store: Store) -> None:
    units = some_units(3)
    store.units.create(units, "scheduler")
    for unit in units:
        claimed(store, unit)
    store.units.move([a_unit_move(reread(store, units[1]), UnitState.CANCELED)], NOW)
    claims = [*map(a_hint, units), Hint("nobody", 1)]
    assert store.units.heartbeat(claims, "worker") == [claims[1], claims[3]]
    assert [reread(store, unit).heartbeat for unit in units] == [1, 0, 1]
    assert store.units.heartbeat([claims[0]], "another") == [claims[0]]


def test_a_returned_unit_is_requested_again_without_a_failure(store: Store) -> None:
    unit = a_unit()
    store.units.create([unit], "scheduler")
    store.units.published([a_hint(unit)], NOW)
    claimed(store, unit)
    (given,) = store.units.give_back([a_hint(unit), Hint("nobody", 1)], "worker", LATER)
    assert given == replace(unit, attempt=2)
    assert store.units.conclude([a_conclusion(unit, "worker")], LATER) != []
    entry = store.journal.since(0, 10)[-1]
    assert (entry.event, entry.before, entry.who, entry.attempt) == (
        "unit.requested",
        "in_progress",
        "worker",
        2,
    )


def test_only_the_owner_can_return_a_unit(store: Store) -> None:
    unit = a_unit()
    store.units.create([unit], "scheduler")
    claimed(store, unit)
    assert store.units.give_back([a_hint(unit)], "another", NOW) == []
    assert reread(store, unit).state is UnitState.IN_PROGRESS


def test_the_time_of_the_first_claim_is_kept_over_all_attempts(store: Store) -> None:
    unit = a_unit()
    store.units.create([unit], "scheduler")
    assert reread(store, unit).first_claimed_at is None
    assert claimed(store, unit).first_claimed_at == NOW
    taken = reread(store, unit)
    again = a_unit_move(taken, UnitState.REQUESTED, next_attempt=True, failed=True)
    assert store.units.move([again], LATER) == []
    assert reread(store, unit).first_claimed_at == NOW
    store.units.claim([Hint(unit.id, 2)], "another", LATER)
    assert (reread(store, unit).started_at, reread(store, unit).first_claimed_at) == (LATER, NOW)
    ending = a_conclusion(reread(store, unit), "another", UnitState.INVALID)
    assert store.units.conclude([ending], LATER) == []
    assert reread(store, unit).first_claimed_at == NOW


def test_a_returned_claim_does_not_count_as_the_first_claim(store: Store) -> None:
    unit = a_unit()
    store.units.create([unit], "scheduler")
    claimed(store, unit)
    (given,) = store.units.give_back([a_hint(unit)], "worker", LATER)
    assert given.first_claimed_at is None
    store.units.claim([a_hint(given)], "worker", LATER)
    failed = a_conclusion(given, "worker", UnitState.INVALID)
    assert store.units.conclude([failed], LATER) == []
    again = a_unit_move(reread(store, unit), UnitState.REQUESTED, next_attempt=True)
    store.units.move([again], LATER)
    much_later = LATER + timedelta(hours=1)
    (taken,) = store.units.claim([a_hint(reread(store, unit))], "worker", much_later)
    (given,) = store.units.give_back([a_hint(taken)], "worker", much_later)
    assert given.first_claimed_at == LATER


def test_resetting_failures_resets_the_first_claim(store: Store) -> None:
    unit = a_unit(state=UnitState.INVALID, failures=3, first_claimed_at=NOW)
    store.units.create([unit], "scheduler")
    again = a_unit_move(unit, UnitState.REQUESTED, next_attempt=True, forgive=True)
    assert store.units.move([again], LATER) == []
    assert (reread(store, unit).failures, reread(store, unit).first_claimed_at) == (0, None)
