"""Units of work: created once, claimed once, concluded by their owner alone."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from synergy.errors import InvalidValue
from synergy.model.unit_of_work import Hint, UnitState
from synergy.storage.protocol import LogLine, Store
from tests.contract.concurrency import in_processes, in_threads
from tests.factories import (
    HOUR,
    NEXT_HOUR,
    NOW,
    a_conclusion,
    a_hint,
    a_sink_write,
    a_unit,
    a_unit_move,
    some_units,
)

LATER = NOW + timedelta(minutes=1)


def the(store: Store, unit):
    (found,) = store.units.get([unit.id])
    return found


def claimed(store: Store, unit, owner: str = "worker"):
    (found,) = store.units.claim([a_hint(unit)], owner, NOW)
    return found


def events(store: Store) -> list[str]:
    return [entry.event for entry in store.journal.since(0, 10_000)]


# Creating


def test_a_unit_comes_back_as_it_was_created(store: Store) -> None:
    unit = a_unit(start_id=3, end_id=9, created_at=NOW + timedelta(microseconds=1))
    assert store.units.create([unit], "scheduler") == [unit]
    assert store.units.get([unit.id]) == [unit]


def test_every_field_is_kept(store: Store) -> None:
    unit = a_unit(
        state=UnitState.INVALID,
        attempt=4,
        failures=3,
        not_before=LATER,
        published_at=NOW,
        owner="worker",
        heartbeat=7,
        started_at=NOW,
        finished_at=LATER,
        counts={"rows": 5},
        reason="Zürich, 東京",
        first_claimed_at=NOW + timedelta(seconds=1),
    )
    store.units.create([unit], "scheduler")
    assert the(store, unit) == unit


def test_creating_a_unit_twice_finds_the_first(store: Store) -> None:
    first = a_unit()
    store.units.create([first], "scheduler")
    taken = claimed(store, first)
    again = a_unit(created_at=LATER)
    assert store.units.create([again], "another scheduler") == [taken]
    assert events(store).count("unit.requested") == 1


def test_a_unit_that_comes_twice_in_one_call_is_created_once(store: Store) -> None:
    unit = a_unit()
    assert store.units.create([unit, replace(unit, created_at=LATER)], "s") == [unit, unit]
    assert events(store) == ["unit.requested"]


def test_new_and_known_units_come_back_in_the_order_given(store: Store) -> None:
    units = some_units(5)
    store.units.create(units[1:3], "scheduler")
    assert store.units.create(units, "scheduler") == units


def test_a_unit_whose_bound_was_extended_is_found_under_its_first_key_too(store: Store) -> None:
    unit = a_unit(start_id=1, end_id=5)
    store.units.create([unit], "scheduler")
    assert store.units.extend(unit.id, 1, 8, NOW)
    assert [found.end_id for found in store.units.create([unit], "scheduler")] == [8]


def test_the_journal_says_what_was_requested_by_whom(store: Store) -> None:
    unit = a_unit(generation=2)
    store.units.create([unit], "scheduler-1")
    (entry,) = store.journal.since(0, 10)
    assert (entry.event, entry.before, entry.after) == ("unit.requested", "", "requested")
    assert (entry.process, entry.first, entry.last) == (unit.process, HOUR, HOUR)
    assert (entry.generation, entry.who, entry.unit, entry.attempt) == (
        2,
        "scheduler-1",
        unit.id,
        1,
    )


def test_units_created_by_many_at_once_exist_once(store: Store) -> None:
    units = some_units(40)
    answers = in_threads(4, lambda n: store.units.create(units, f"scheduler-{n}"))
    assert all(answer == units for answer in answers)
    assert events(store).count("unit.requested") == 40


# Finding


def test_asking_for_no_units_or_unknown_ones_gives_none(store: Store) -> None:
    assert store.units.get([]) == []
    assert store.units.get(["nobody"]) == []
    assert store.units.of_jobs("Nobody", HOUR, HOUR) == []


def test_the_units_of_jobs_come_newest_first_and_for_the_whole_range(store: Store) -> None:
    hours = some_units(4)
    again = replace(a_unit(end_id=2), created_at=LATER)
    store.units.create([*hours, again, a_unit("Other")], "scheduler")
    assert store.units.of_jobs("SiteHourly", HOUR, HOUR) == [again, hours[0]]
    both = store.units.of_jobs("SiteHourly", HOUR, hours[1].timeperiod)
    assert {unit.id for unit in both} == {again.id, hours[0].id, hours[1].id}
    assert both[0] == again


def test_of_many_units_of_a_job_the_newest_are_found_alone(store: Store) -> None:
    units = [a_unit(generation=2, end_id=n) for n in range(1, 6)]
    store.units.create([*units, a_unit(generation=1), *some_units(3), a_unit("Other")], "scheduler")
    of_hour = [a_unit(), *reversed(units)]
    assert store.units.newest("SiteHourly", HOUR, 1) == of_hour[:1]
    assert store.units.newest("SiteHourly", HOUR, 3) == of_hour[:3]
    assert store.units.newest("SiteHourly", HOUR, 9) == of_hour
    assert store.units.newest("Nobody", HOUR, 9) == []


def test_pages_cover_all_units_newest_first_without_repeating_any(store: Store) -> None:
    units = some_units(25)
    for unit in units:
        store.units.create([unit], "scheduler")
    pages, cursor = [], None
    while True:
        page, cursor = store.units.find(limit=10, cursor=cursor)
        pages.append(page)
        if cursor is None:
            break
    assert [len(page) for page in pages] == [10, 10, 5]
    assert [unit for page in pages for unit in page] == units[::-1]


def test_a_last_page_that_is_full_has_no_cursor(store: Store) -> None:
    store.units.create(some_units(10), "scheduler")
    page, cursor = store.units.find(limit=10)
    assert len(page) == 10
    assert cursor is None


def test_units_that_come_between_pages_disturb_nothing(store: Store) -> None:
    units = some_units(6)
    store.units.create(units[:5], "scheduler")
    _, cursor = store.units.find(limit=2)
    store.units.create(units[5:], "scheduler")
    page, _ = store.units.find(limit=10, cursor=cursor)
    assert page == units[2::-1]


def test_units_are_found_by_process_and_state(store: Store) -> None:
    mine, other = some_units(3), some_units(2, "Other")
    store.units.create([*mine, *other], "scheduler")
    taken = claimed(store, mine[1])
    done = claimed(store, other[0])
    store.units.conclude([a_conclusion(done, "worker", UnitState.NOOP)], LATER)
    find = store.units.find
    assert find(process="Other")[0] == [other[1], the(store, other[0])]
    assert find(state=UnitState.IN_PROGRESS)[0] == [taken]
    assert find("SiteHourly", UnitState.REQUESTED)[0] == [mine[2], mine[0]]
    assert find("Other", UnitState.NOOP)[0] == [the(store, other[0])]
    assert find("SiteHourly", UnitState.NOOP) == ([], None)


def test_a_cursor_that_was_never_given_is_refused(store: Store) -> None:
    with pytest.raises(InvalidValue, match="cursor"):
        store.units.find(cursor="'; drop")


def test_unfinished_units_come_oldest_first_and_are_counted(store: Store) -> None:
    units = some_units(4)
    store.units.create(units, "scheduler")
    done = claimed(store, units[0])
    store.units.conclude([a_conclusion(done, "worker")], NOW)
    taken = claimed(store, units[2])
    assert store.units.unfinished() == [units[1], taken, units[3]]
    assert store.units.counts() == {
        ("SiteHourly", UnitState.REQUESTED): 2,
        ("SiteHourly", UnitState.IN_PROGRESS): 1,
    }


# Claiming


def test_a_claim_takes_the_unit_for_its_owner(store: Store) -> None:
    unit = a_unit()
    store.units.create([unit], "scheduler")
    taken = claimed(store, unit, "worker-1")
    assert taken == replace(
        unit, state=UnitState.IN_PROGRESS, owner="worker-1", started_at=NOW, heartbeat=0,
        first_claimed_at=NOW,
    )  # fmt: skip
    assert the(store, unit) == taken
    entry = store.journal.since(0, 10)[-1]
    assert (entry.event, entry.before, entry.after) == (
        "unit.in_progress",
        "requested",
        "in_progress",
    )
    assert (entry.who, entry.attempt) == ("worker-1", 1)


def test_what_is_taken_unknown_or_of_another_attempt_is_not_claimed(store: Store) -> None:
    units = some_units(3)
    store.units.create(units, "scheduler")
    claimed(store, units[0])
    hints = [a_hint(units[0]), Hint("nobody", 1), Hint(units[1].id, 2), a_hint(units[2])]
    found = store.units.claim(hints, "other", NOW)
    assert [unit.id for unit in found] == [units[2].id]


def test_the_same_hint_twice_is_one_claim(store: Store) -> None:
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


def test_a_heartbeat_advances_what_is_held_and_names_what_is_lost(store: Store) -> None:
    units = some_units(3)
    store.units.create(units, "scheduler")
    for unit in units:
        claimed(store, unit)
    store.units.move([a_unit_move(the(store, units[1]), UnitState.CANCELED)], NOW)
    claims = [*map(a_hint, units), Hint("nobody", 1)]
    assert store.units.heartbeat(claims, "worker") == [claims[1], claims[3]]
    assert [the(store, unit).heartbeat for unit in units] == [1, 0, 1]
    assert store.units.heartbeat([claims[0]], "another") == [claims[0]]


def test_what_is_given_back_is_requested_again_and_no_failure(store: Store) -> None:
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


def test_only_the_owner_gives_back(store: Store) -> None:
    unit = a_unit()
    store.units.create([unit], "scheduler")
    claimed(store, unit)
    assert store.units.give_back([a_hint(unit)], "another", NOW) == []
    assert the(store, unit).state is UnitState.IN_PROGRESS


def test_the_first_claim_is_noted_and_kept_over_all_attempts(store: Store) -> None:
    unit = a_unit()
    store.units.create([unit], "scheduler")
    assert the(store, unit).first_claimed_at is None
    assert claimed(store, unit).first_claimed_at == NOW
    taken = the(store, unit)
    again = a_unit_move(taken, UnitState.REQUESTED, next_attempt=True, failed=True)
    assert store.units.move([again], LATER) == []
    assert the(store, unit).first_claimed_at == NOW
    store.units.claim([Hint(unit.id, 2)], "another", LATER)
    assert (the(store, unit).started_at, the(store, unit).first_claimed_at) == (LATER, NOW)
    ending = a_conclusion(the(store, unit), "another", UnitState.INVALID)
    assert store.units.conclude([ending], LATER) == []
    assert the(store, unit).first_claimed_at == NOW


def test_a_claim_that_is_given_back_is_none_unless_there_was_one_before(store: Store) -> None:
    unit = a_unit()
    store.units.create([unit], "scheduler")
    claimed(store, unit)
    (given,) = store.units.give_back([a_hint(unit)], "worker", LATER)
    assert given.first_claimed_at is None
    store.units.claim([a_hint(given)], "worker", LATER)
    failed = a_conclusion(given, "worker", UnitState.INVALID)
    assert store.units.conclude([failed], LATER) == []
    again = a_unit_move(the(store, unit), UnitState.REQUESTED, next_attempt=True)
    store.units.move([again], LATER)
    much_later = LATER + timedelta(hours=1)
    (taken,) = store.units.claim([a_hint(the(store, unit))], "worker", much_later)
    (given,) = store.units.give_back([a_hint(taken)], "worker", much_later)
    assert given.first_claimed_at == LATER


def test_a_unit_whose_failures_are_forgiven_has_all_its_time_again(store: Store) -> None:
    unit = a_unit(state=UnitState.INVALID, failures=3, first_claimed_at=NOW)
    store.units.create([unit], "scheduler")
    again = a_unit_move(unit, UnitState.REQUESTED, next_attempt=True, forgive=True)
    assert store.units.move([again], LATER) == []
    assert (the(store, unit).failures, the(store, unit).first_claimed_at) == (0, None)


# Concluding


def test_a_conclusion_ends_the_unit_and_its_rows_appear(store: Store) -> None:
    unit = a_unit()
    store.units.create([unit], "scheduler")
    claimed(store, unit)
    ending = a_conclusion(
        unit, "worker", counts={"rows": 1}, writes=(a_sink_write(("k", {"n": 1})),)
    )
    assert store.units.conclude([ending], LATER) == []
    done = the(store, unit)
    assert (done.state, done.finished_at) == (UnitState.PROCESSED, LATER)
    assert (done.counts, done.attempt, done.failures) == ({"rows": 1}, 1, 0)
    assert list(store.documents.read("site_hourly", HOUR, NEXT_HOUR)) == [{"n": 1}]
    entry = store.journal.since(0, 10)[-1]
    assert (entry.event, entry.before, entry.who) == ("unit.processed", "in_progress", "worker")


def test_a_failure_is_counted_with_its_reason_and_its_wait(store: Store) -> None:
    unit = a_unit()
    store.units.create([unit], "scheduler")
    claimed(store, unit)
    failed = a_conclusion(
        unit, "worker", UnitState.INVALID, reason="ValueError: no", not_before=LATER
    )
    assert store.units.conclude([failed], NOW) == []
    found = the(store, unit)
    assert (found.state, found.failures, found.reason) == (UnitState.INVALID, 1, "ValueError: no")
    assert (found.not_before, found.finished_at, found.attempt) == (LATER, None, 1)
    assert store.journal.since(0, 10)[-1].why == "ValueError: no"


@pytest.mark.parametrize("fault", ["owner", "attempt", "state", "unknown"])
def test_a_conclusion_that_is_not_the_newest_attempts_writes_nothing(
    store: Store, fault: str
) -> None:
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
        store.units.move([a_unit_move(the(store, unit), UnitState.CANCELED)], NOW)
    before = the(store, unit)
    assert store.units.conclude([ending], LATER) == [ending]
    assert the(store, unit) == before
    assert list(store.documents.read("site_hourly", "", "")) == []
    assert "unit.processed" not in events(store)


def test_refused_conclusions_do_not_disturb_their_neighbours(store: Store) -> None:
    units = some_units(3)
    store.units.create(units, "scheduler")
    for unit in units:
        claimed(store, unit)
    store.units.move([a_unit_move(the(store, units[1]), UnitState.CANCELED)], NOW)
    endings = [a_conclusion(unit, "worker") for unit in units]
    assert store.units.conclude(endings, NOW) == [endings[1]]
    states = [the(store, unit).state for unit in units]
    assert states == [UnitState.PROCESSED, UnitState.CANCELED, UnitState.PROCESSED]


def test_concluding_twice_counts_once(store: Store) -> None:
    unit = a_unit()
    store.units.create([unit], "scheduler")
    claimed(store, unit)
    ending = a_conclusion(unit, "worker")
    assert store.units.conclude([ending, ending], NOW) == [ending]
    assert store.units.conclude([ending], NOW) == [ending]
    assert events(store).count("unit.processed") == 1


def test_a_paused_worker_that_wakes_up_late_changes_nothing(store: Store) -> None:
    unit = a_unit()
    store.units.create([unit], "scheduler")
    claimed(store, unit, "paused")
    lost = a_unit_move(
        the(store, unit), UnitState.REQUESTED, next_attempt=True, failed=True, why="worker lost"
    )
    assert store.units.move([lost], NOW) == []
    (second,) = store.units.claim([Hint(unit.id, 2)], "fresh", NOW)
    late = a_conclusion(unit, "paused", writes=(a_sink_write(("k", {"by": "paused"})),))
    assert store.units.conclude([late], NOW) == [late]
    good = a_conclusion(second, "fresh", writes=(a_sink_write(("k", {"by": "fresh"})),))
    assert store.units.conclude([good], NOW) == []
    assert store.units.conclude([late], NOW) == [late]
    assert list(store.documents.read("site_hourly", "", "")) == [{"by": "fresh"}]


def test_rows_that_do_not_change_keep_their_number(store: Store) -> None:
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
    assert the(store, unit) == taken


def test_an_attempt_does_not_end_as_requested(store: Store) -> None:
    unit = a_unit()
    store.units.create([unit], "scheduler")
    claimed(store, unit)
    with pytest.raises(InvalidValue, match="requested"):
        store.units.conclude([a_conclusion(unit, "worker", UnitState.REQUESTED)], NOW)


def _race(store: Store, units: list, owner: str) -> int:
    endings = [a_conclusion(unit, "worker", reason=owner) for unit in units]
    return sum(store.units.conclude([ending], NOW) == [] for ending in endings)


def test_of_many_conclusions_of_one_attempt_one_counts(
    shared: Store, address: str, much: int
) -> None:
    units = some_units(much)
    shared.units.create(units, "scheduler")
    shared.units.claim([a_hint(unit) for unit in units], "worker", NOW)
    won = in_processes(address, _race, [(units, f"process-{n}") for n in range(2)])
    assert sum(won) == much
    assert events(shared).count("unit.processed") == much


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
    assert the(store, unit) == replace(taken, heartbeat=1)
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
    assert the(store, unit) == replace(
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


def test_requested_again_the_last_error_is_kept_and_failures_can_be_forgiven(store: Store) -> None:
    unit = a_unit()
    store.units.create([unit], "scheduler")
    claimed(store, unit)
    store.units.conclude([a_conclusion(unit, "worker", UnitState.INVALID, reason="boom")], NOW)
    retry = a_unit_move(
        the(store, unit), UnitState.REQUESTED, next_attempt=True, forgive=True, why="asked to"
    )
    assert store.units.move([retry], NOW) == []
    found = the(store, unit)
    assert (found.attempt, found.failures, found.reason, found.owner) == (2, 0, "boom", None)


def test_a_canceled_unit_says_why_and_when(store: Store) -> None:
    unit = a_unit()
    store.units.create([unit], "scheduler")
    cancel = a_unit_move(unit, UnitState.CANCELED, why="too old", next_attempt=True)
    assert store.units.move([cancel], LATER) == []
    found = the(store, unit)
    assert (found.state, found.reason, found.finished_at, found.attempt) == (
        UnitState.CANCELED,
        "too old",
        LATER,
        2,
    )


def test_published_is_noted_for_the_attempt_it_was_for(store: Store) -> None:
    units = some_units(2)
    store.units.create(units, "scheduler")
    store.units.published([a_hint(units[0]), Hint(units[1].id, 2)], LATER)
    assert [the(store, unit).published_at for unit in units] == [LATER, None]


def test_a_scheduler_may_note_as_many_as_it_publishes_together(store: Store) -> None:
    units = some_units(256)
    store.units.create(units, "scheduler")
    store.units.published([a_hint(unit) for unit in units], LATER)
    noted = store.units.get([unit.id for unit in units])
    assert [unit.published_at for unit in noted] == [LATER] * len(units)


def test_a_waiting_unit_is_extended_and_a_running_one_is_not(store: Store) -> None:
    unit = a_unit(start_id=1, end_id=5)
    store.units.create([unit], "scheduler")
    assert store.units.extend(unit.id, 1, 9, NOW)
    assert the(store, unit) == replace(unit, end_id=9)
    assert not store.units.extend(unit.id, 2, 10, NOW)
    claimed(store, unit)
    assert not store.units.extend(unit.id, 1, 10, NOW)
    store.units.conclude([a_conclusion(unit, "worker", UnitState.INVALID)], NOW)
    assert store.units.extend(unit.id, 1, 11, NOW)
    assert the(store, unit).end_id == 11
    assert events(store).count("unit.extended") == 2


def test_a_unit_is_not_extended_into_another(store: Store) -> None:
    first, second = a_unit(end_id=5), a_unit(end_id=9)
    store.units.create([first, second], "scheduler")
    assert not store.units.extend(first.id, 1, 9, NOW)
    assert the(store, first) == first


# Forgetting


def test_pruning_forgets_superseded_finished_units_with_their_logs(store: Store) -> None:
    old, newer = a_unit(end_id=1), a_unit(end_id=2)
    for unit in (old, newer):
        store.units.create([unit], "scheduler")
        claimed(store, unit)
        store.logs.append(unit.id, [LogLine(NOW, 1, "info", "at work")])
        store.units.conclude([a_conclusion(unit, "worker")], NOW)
    assert store.units.prune(NOW, 100) == 0
    assert store.units.prune(LATER, 100) == 1
    assert store.units.of_jobs("SiteHourly", HOUR, HOUR) == [the(store, newer)]
    assert store.logs.of_unit(old.id) == []
    assert len(store.logs.of_unit(newer.id)) == 1
    assert store.units.prune(LATER, 100) == 0


def test_pruning_leaves_unfinished_units_and_heeds_its_limit(store: Store) -> None:
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
    """A unit of a process that has no timetable; the second is that of its due time."""
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


def test_free_runs_of_the_same_second_are_carried_out_beside_one_another(store: Store) -> None:
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
    assert the(store, one).state is UnitState.PROCESSED


def test_units_of_jobs_stay_alone_beside_free_runs(store: Store) -> None:
    units = [a_unit(start_id=1), a_unit(start_id=2), a_free_run(3)]
    store.units.create(units, "scheduler")
    taken = store.units.claim([a_hint(unit) for unit in units], "worker", NOW)
    assert sorted(unit.start_id for unit in taken) == [1, 3]


def test_free_runs_are_forgotten_once_they_are_finished_and_old(store: Store) -> None:
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
