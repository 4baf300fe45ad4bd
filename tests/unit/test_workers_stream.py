"""Generated visits: reproducible and plausible."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from synergy.timeperiod import Qualifier
from workers.demo_visits import LONGEST_VISIT, SITES, activity, events_between
from workers.single_session_worker import checked

NOON = 1_431_864_000


@given(st.lists(st.integers(1, 1800), min_size=1, max_size=6))
def test_events_of_a_range_are_those_of_its_parts(cuts: list[int]) -> None:
    marks = sorted({NOON, *(NOON + cut for cut in cuts)})
    parts = [event for start, end in pairwise(marks) for event in events_between(start, end)]
    assert parts == events_between(marks[0], marks[-1])


def test_events_are_unique_and_valid_for_the_session_worker() -> None:
    events = events_between(NOON, NOON + 6 * 3600)
    assert len({(e["session"], e["key"]) for e in events}) == len(events)
    assert {checked(e) for e in events} == {f"20150517{hour}" for hour in range(12, 18)}


def test_a_visit_has_one_visitor_one_site_and_the_hour_of_its_first_event() -> None:
    visits = defaultdict(list)
    for event in events_between(NOON, NOON + 4 * 3600):
        visits[event["session"]].append(event)
    for events in visits.values():
        shared = {(e["site"], e["ip"], e["os"], e["country"], e["hour"]) for e in events}
        assert len(shared) == 1
        times = [e["at"] for e in events]
        assert max(times) - min(times) <= LONGEST_VISIT
    begun_here = [events for events in visits.values() if events[0]["key"] == "0"]
    for first, *_ in begun_here:
        assert first["hour"] == Qualifier.HOURLY.timeperiod(first["at"] // 3600)


def test_all_sites_are_visited_and_more_by_day_than_by_night() -> None:
    midnight = NOON - 12 * 3600
    night = events_between(midnight + 3 * 3600, midnight + 4 * 3600)
    day = events_between(midnight + 15 * 3600, midnight + 16 * 3600)

    assert {e["site"] for e in day} == set(SITES)
    assert len(day) > 2 * len(night) > 0
    assert all(0.1 < activity(minute) <= 1.0 for minute in range(1440))
