"""The journal is read in the order in which entries become visible, and none is missed."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synergy.storage.protocol import Store
from synergy.timeperiod import Qualifier
from tests.contract.concurrency import in_processes, open_store
from tests.contract.engines import QUICK
from tests.factories import HOUR, NEXT_HOUR, NOW, a_move, an_entry


def test_an_entry_comes_back_as_it_was_written_with_a_number(store: Store) -> None:
    entry = an_entry(
        "job.skipped",
        process="SiteHourly",
        first=HOUR,
        last=NEXT_HOUR,
        before="embryo",
        after="skipped",
        generation=3,
        why="wegen Ärger",
        unit="u",
        attempt=2,
        covered=9,
        at=NOW + timedelta(microseconds=5),
    )
    store.journal.append([entry])
    (found,) = store.journal.since(0, 10)
    assert found.seq > 0
    assert replace(found, seq=0) == entry


def test_the_feed_continues_after_the_last_number_read(store: Store) -> None:
    assert store.journal.last_seq() == 0
    store.journal.append([an_entry(why=str(n)) for n in range(5)])
    first = store.journal.since(0, 3)
    rest = store.journal.since(first[-1].seq, 3)
    assert [entry.why for entry in first + rest] == list("01234")
    assert store.journal.last_seq() == rest[-1].seq
    assert store.journal.since(rest[-1].seq, 3) == []


def test_a_follower_skips_its_own_entries(store: Store) -> None:
    store.journal.append([an_entry(who="me"), an_entry(who="you"), an_entry(who="")])
    assert [entry.who for entry in store.journal.since(0, 10, besides="me")] == ["you", ""]
    assert len(store.journal.since(0, 10)) == 3


def test_entries_of_all_processes_or_of_one_come_newest_first(store: Store) -> None:
    store.journal.append([an_entry(process=name, why=name + n) for n in "12" for name in "AB"])
    assert [entry.why for entry in store.journal.find()] == ["B2", "A2", "B1", "A1"]
    assert [entry.why for entry in store.journal.find("A")] == ["A2", "A1"]
    assert [entry.why for entry in store.journal.find("A", limit=1)] == ["A2"]


def test_a_page_continues_before_the_last_entry_of_the_previous_one(store: Store) -> None:
    names = "ABAAB"  # number 1 to 5
    store.journal.append([an_entry(process=name, first=HOUR, last=HOUR) for name in names])
    assert [entry.seq for entry in store.journal.find(limit=2, before=4)] == [3, 2]
    assert [entry.seq for entry in store.journal.find("A", before=4)] == [3, 1]
    assert [entry.seq for entry in store.journal.of_job("A", HOUR, limit=2)] == [4, 3]
    assert [entry.seq for entry in store.journal.of_job("A", HOUR, before=3)] == [1]
    assert store.journal.find(before=1) == []


def test_a_job_shows_its_own_entries_and_ranges_that_include_it(store: Store) -> None:
    spans = [
        (HOUR, HOUR),  # the job itself
        ("2026112109", HOUR),  # ends with it
        (HOUR, NEXT_HOUR),  # begins with it
        ("2026112100", "2026112123"),  # around it
        ("2026103100", "2026120100"),  # around it, across months
        ("2025010100", "2027010100"),  # around it, across years
        ("2026112100", "2026112109"),  # before it
        (NEXT_HOUR, "2026112112"),  # after it
        ("2026103100", "2026110100"),  # before it, across a month's end
        ("2026113023", "2026120100"),  # after it, across a month's end
    ]
    store.journal.append(
        [
            an_entry(process="SiteHourly", first=first, last=last, why=str(number))
            for number, (first, last) in enumerate(spans)
        ]
    )
    store.journal.append([an_entry(process="Other", first=HOUR, last=HOUR)])
    found = store.journal.of_job("SiteHourly", HOUR)
    assert [entry.why for entry in found] == list("543210")
    assert [entry.why for entry in store.journal.of_job("SiteHourly", HOUR, limit=2)] == ["5", "4"]


HOURS = st.integers(0, 24 * 70).map(lambda n: Qualifier.HOURLY.parse("2026110100") + n)


@pytest.mark.parametrize("place", QUICK)
@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(HOURS, HOURS), max_size=30), HOURS)
def test_the_entries_of_a_job_are_all_whose_range_includes_it(
    place: str, spans: list[tuple[int, int]], job: int
) -> None:
    store = open_store(place)
    hour = Qualifier.HOURLY.timeperiod
    ranges = [sorted(span) for span in spans]
    store.journal.append(
        [an_entry(process="P", first=hour(first), last=hour(last)) for first, last in ranges]
    )
    expected = [n for n, (first, last) in enumerate(ranges, 1) if first <= job <= last]
    assert [entry.seq for entry in store.journal.of_job("P", hour(job))] == expected[::-1]
    store.close()


def test_pruning_deletes_old_entries_and_never_reuses_a_number(store: Store) -> None:
    old, new = NOW - timedelta(days=1), NOW
    store.journal.append([an_entry(at=old) for _ in range(5)])
    store.journal.append([an_entry(at=new)])
    last = store.journal.last_seq()
    assert [store.journal.prune(NOW, 3), store.journal.prune(NOW, 3)] == [3, 2]
    assert store.journal.prune(NOW, 3) == 0
    assert store.journal.prune(NOW + timedelta(days=1), 3) == 1
    assert store.journal.last_seq() == last
    store.journal.append([an_entry()])
    assert store.journal.since(last, 10)[0].seq > last


def _write(store: Store, who: str, count: int) -> None:
    for number in range(count):
        with store.batch():
            store.journal.append([an_entry(who=who, why=str(number))])
            store.jobs.move([a_move(500_000 + number, process=who, who=who)], NOW)


def test_a_follower_of_many_writers_misses_nothing(shared: Store, address: str, much: int) -> None:
    seen = []
    done = threading.Event()

    def follow() -> None:
        seq, last = 0, False
        while not (shared.journal.last_seq() or done.is_set()):
            done.wait(0.02)  # until the processes that write have started
        while not last:
            last = done.is_set()
            for entry in shared.journal.since(seq, 1_000):
                seen.append(entry)
                seq = entry.seq

    follower = threading.Thread(target=follow)
    follower.start()
    in_processes(address, _write, [("one", much), ("two", much)])
    done.set()
    follower.join()
    assert [entry.seq for entry in seen] == [entry.seq for entry in shared.journal.since(0, 10_000)]
    for who in ("one", "two"):
        mine = [entry.why for entry in seen if entry.who == who and entry.event[0] == "s"]
        assert mine == [str(number) for number in range(much)]
    assert len(seen) == 4 * much
