"""Units of work are created once and found again."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from synergy.errors import InvalidValue
from synergy.model.unit_of_work import UnitState
from synergy.storage.protocol import Store
from tests.contract.concurrency import in_threads
from tests.contract.journal import events
from tests.contract.units import claimed, reread
from tests.factories import (
    HOUR,
    LATER,
    NOW,
    a_conclusion,
    a_unit,
    some_units,
)

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
    assert reread(store, unit) == unit


def test_creating_a_unit_twice_returns_the_first(store: Store) -> None:
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


def test_creating_a_unit_again_finds_it_after_it_was_extended(store: Store) -> None:
    unit = a_unit(start_id=1, end_id=5)
    store.units.create([unit], "scheduler")
    assert store.units.extend(unit.id, 1, 8, NOW)
    assert [found.end_id for found in store.units.create([unit], "scheduler")] == [8]


def test_the_journal_records_the_request_of_a_unit_and_its_author(store: Store) -> None:
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


def test_units_created_by_several_threads_exist_once(store: Store) -> None:
    units = some_units(40)
    answers = in_threads(4, lambda n: store.units.create(units, f"scheduler-{n}"))
    assert all(answer == units for answer in answers)
    assert events(store).count("unit.requested") == 40


# Finding


def test_no_ids_or_unknown_ids_give_no_units(store: Store) -> None:
    assert store.units.get([]) == []
    assert store.units.get(["nobody"]) == []
    assert store.units.of_jobs("Nobody", HOUR, HOUR) == []


def test_the_units_of_a_range_of_jobs_come_newest_first(store: Store) -> None:
    hours = some_units(4)
    again = replace(a_unit(end_id=2), created_at=LATER)
    store.units.create([*hours, again, a_unit("Other")], "scheduler")
    assert store.units.of_jobs("SiteHourly", HOUR, HOUR) == [again, hours[0]]
    both = store.units.of_jobs("SiteHourly", HOUR, hours[1].timeperiod)
    assert {unit.id for unit in both} == {again.id, hours[0].id, hours[1].id}
    assert both[0] == again


def test_only_the_newest_of_many_units_of_a_job_are_found(store: Store) -> None:
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


def test_units_created_between_pages_do_not_change_later_pages(store: Store) -> None:
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
    assert find(process="Other")[0] == [other[1], reread(store, other[0])]
    assert find(state=UnitState.IN_PROGRESS)[0] == [taken]
    assert find("SiteHourly", UnitState.REQUESTED)[0] == [mine[2], mine[0]]
    assert find("Other", UnitState.NOOP)[0] == [reread(store, other[0])]
    assert find("SiteHourly", UnitState.NOOP) == ([], None)


def test_an_invalid_cursor_is_refused(store: Store) -> None:
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


def test_the_processes_with_requested_units_are_found(store: Store) -> None:
    assert store.units.requested() == set()
    hour, day = a_unit(), a_unit("ClientHourly")
    store.units.create([hour, day], "scheduler")
    assert store.units.requested() == {"SiteHourly", "ClientHourly"}
    claimed(store, hour)
    assert store.units.requested() == {"ClientHourly"}
