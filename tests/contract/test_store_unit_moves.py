"""Units of work are moved, extended and pruned; units of free runs."""

from __future__ import annotations

from dataclasses import replace

from synergy.model.unit_of_work import Hint, UnitState
from synergy.storage.protocol import LogLine, Store
from tests.contract.journal import events
from tests.contract.units import claimed, reread
from tests.factories import (
    HOUR,
    LATER,
    NOW,
    a_conclusion,
    a_hint,
    a_unit,
    a_unit_move,
    some_units,
)

# Moving


def test_a_move_applies_only_to_the_state_attempt_and_heartbeat_it_expects(store: Store) -> None:
    unit = a_unit()
    store.units.create([unit], "scheduler")
    taken = claimed(store, unit)
    store.units.heartbeat([a_hint(unit)], "worker")
    wrong = [
        a_unit_move(unit, UnitState.CANCELED),
        a_unit_move(replace(taken, attempt=2), UnitState.CANCELED),
        a_unit_move(taken, UnitState.REQUESTED, heartbeat=0),
        a_unit_move(replace(taken, id="nobody"), UnitState.CANCELED),
    ]
    assert store.units.move(wrong, NOW) == wrong
    assert reread(store, unit) == replace(taken, heartbeat=1)
    assert store.units.move([a_unit_move(taken, UnitState.REQUESTED, heartbeat=1)], NOW) == []


def test_a_lost_worker_costs_an_attempt_and_a_failure(store: Store) -> None:
    unit = a_unit()
    store.units.create([unit], "scheduler")
    store.units.published([a_hint(unit)], NOW)
    taken = claimed(store, unit)
    move = a_unit_move(
        taken,
        UnitState.REQUESTED,
        next_attempt=True,
        failed=True,
        not_before=LATER,
        why="worker lost",
    )
    assert store.units.move([move], NOW) == []
    assert reread(store, unit) == replace(
        unit, attempt=2, failures=1, not_before=LATER, reason="worker lost", first_claimed_at=NOW
    )
    entry = store.journal.since(0, 10)[-1]
    assert (entry.event, entry.before, entry.why, entry.who, entry.attempt) == (
        "unit.requested",
        "in_progress",
        "worker lost",
        "a test",
        2,
    )


def test_a_retry_keeps_the_last_error_and_can_reset_the_failures(store: Store) -> None:
    unit = a_unit()
    store.units.create([unit], "scheduler")
    claimed(store, unit)
    store.units.conclude([a_conclusion(unit, "worker", UnitState.INVALID, reason="boom")], NOW)
    retry = a_unit_move(
        reread(store, unit), UnitState.REQUESTED, next_attempt=True, forgive=True, why="asked to"
    )
    assert store.units.move([retry], NOW) == []
    found = reread(store, unit)
    assert (found.attempt, found.failures, found.reason, found.owner) == (2, 0, "boom", None)


def test_a_canceled_unit_has_its_reason_and_end_time(store: Store) -> None:
    unit = a_unit()
    store.units.create([unit], "scheduler")
    cancel = a_unit_move(unit, UnitState.CANCELED, why="too old", next_attempt=True)
    assert store.units.move([cancel], LATER) == []
    found = reread(store, unit)
    assert (found.state, found.reason, found.finished_at, found.attempt) == (
        UnitState.CANCELED,
        "too old",
        LATER,
        2,
    )


def test_publication_is_recorded_only_for_the_current_attempt(store: Store) -> None:
    units = some_units(2)
    store.units.create(units, "scheduler")
    store.units.published([a_hint(units[0]), Hint(units[1].id, 2)], LATER)
    assert [reread(store, unit).published_at for unit in units] == [LATER, None]


def test_publication_of_256_units_is_recorded_in_one_call(store: Store) -> None:
    units = some_units(256)
    store.units.create(units, "scheduler")
    store.units.published([a_hint(unit) for unit in units], LATER)
    noted = store.units.get([unit.id for unit in units])
    assert [unit.published_at for unit in noted] == [LATER] * len(units)


def test_a_waiting_unit_is_extended_and_a_running_one_is_not(store: Store) -> None:
    unit = a_unit(start_id=1, end_id=5)
    store.units.create([unit], "scheduler")
    assert store.units.extend(unit.id, 1, 9, NOW)
    assert reread(store, unit) == replace(unit, end_id=9)
    assert not store.units.extend(unit.id, 2, 10, NOW)
    claimed(store, unit)
    assert not store.units.extend(unit.id, 1, 10, NOW)
    store.units.conclude([a_conclusion(unit, "worker", UnitState.INVALID)], NOW)
    assert store.units.extend(unit.id, 1, 11, NOW)
    assert reread(store, unit).end_id == 11
    assert events(store).count("unit.extended") == 2


def test_a_unit_is_not_extended_to_the_range_of_another(store: Store) -> None:
    first, second = a_unit(end_id=5), a_unit(end_id=9)
    store.units.create([first, second], "scheduler")
    assert not store.units.extend(first.id, 1, 9, NOW)
    assert reread(store, first) == first


# Pruning


def test_pruning_deletes_superseded_finished_units_with_their_logs(store: Store) -> None:
    old, newer = a_unit(end_id=1), a_unit(end_id=2)
    for unit in (old, newer):
        store.units.create([unit], "scheduler")
        claimed(store, unit)
        store.logs.append(unit.id, [LogLine(NOW, 1, "info", "at work")])
        store.units.conclude([a_conclusion(unit, "worker")], NOW)
    assert store.units.prune(NOW, 100) == 0
    assert store.units.prune(LATER, 100) == 1
    assert store.units.of_jobs("SiteHourly", HOUR, HOUR) == [reread(store, newer)]
    assert store.logs.of_unit(old.id) == []
    assert len(store.logs.of_unit(newer.id)) == 1
    assert store.units.prune(LATER, 100) == 0


def test_pruning_keeps_unfinished_units_and_obeys_its_limit(store: Store) -> None:
    waiting = a_unit(end_id=0)
    store.units.create([waiting], "scheduler")
    for end_id in range(1, 6):
        unit = a_unit(end_id=end_id)
        store.units.create([unit], "scheduler")
        claimed(store, unit)
        store.units.conclude([a_conclusion(unit, "worker")], NOW)
    assert [store.units.prune(LATER, 3), store.units.prune(LATER, 3)] == [3, 1]
    left = store.units.of_jobs("SiteHourly", HOUR, HOUR)
    assert [unit.end_id for unit in left] == [5, 0]


# Free runs


def a_free_run(number: int, timeperiod: str = "20261121100000", **fields):
    """Returns a unit of a process without a timetable; `timeperiod` is its due second."""
    return replace(
        a_unit(start_id=number, end_id=number, **fields),
        id=f"run-{number}-{timeperiod}",
        timeperiod=timeperiod,
        start_timeperiod=timeperiod,
        end_timeperiod=timeperiod,
    )


def test_free_runs_of_the_same_second_are_two_units(store: Store) -> None:
    one, two = a_free_run(1), a_free_run(2)
    assert store.units.create([one, two], "agent") == [one, two]
    assert store.units.create([a_free_run(1, created_at=LATER)], "agent") == [one]
    assert events(store) == ["unit.requested"] * 2


def test_free_runs_of_the_same_second_can_be_in_progress_together(store: Store) -> None:
    one, two, three = (a_free_run(n) for n in range(3))
    store.units.create([one, two, three], "agent")
    taken = store.units.claim([a_hint(one), a_hint(two)], "worker", NOW)
    assert {unit.id for unit in taken} == {one.id, two.id}
    assert [unit.id for unit in store.units.claim([a_hint(three)], "other", NOW)] == [three.id]
    assert store.units.claim([a_hint(one)], "other", NOW) == []
    back = store.units.give_back([a_hint(two)], "worker", NOW)
    assert len(store.units.claim([a_hint(back[0])], "other", NOW)) == 1
    ended = store.units.conclude([a_conclusion(one, "worker")], NOW)
    assert ended == []
    assert reread(store, one).state is UnitState.PROCESSED


def test_free_runs_do_not_lift_the_limit_of_one_unit_per_job(store: Store) -> None:
    units = [a_unit(start_id=1), a_unit(start_id=2), a_free_run(3)]
    store.units.create(units, "scheduler")
    taken = store.units.claim([a_hint(unit) for unit in units], "worker", NOW)
    assert sorted(unit.start_id for unit in taken) == [1, 3]


def test_old_finished_free_runs_are_deleted(store: Store) -> None:
    units = [a_free_run(n, f"2026112110000{n}") for n in range(4)]
    store.units.create(units, "agent")
    store.units.claim([a_hint(unit) for unit in units[:3]], "worker", NOW)
    store.units.conclude([a_conclusion(units[0], "worker")], NOW)
    store.units.conclude([a_conclusion(units[1], "worker")], LATER)
    store.logs.append(units[0].id, [LogLine(NOW, 1, "INFO", "done")])
    assert store.units.prune(NOW, 10) == 0
    assert store.units.prune(LATER, 10) == 1
    left = {unit.id for unit in store.units.get([unit.id for unit in units])}
    assert left == {unit.id for unit in units[1:]}
    assert store.logs.of_unit(units[0].id) == []
