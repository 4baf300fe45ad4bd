"""Bounds that are read ahead equal those that are read period by period."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from synergy.commands.sources import source_bounds
from synergy.scheduler.sources import Sources
from synergy.storage.sqlite import SqliteStore
from synergy.timeperiod import Qualifier
from synergy.timetable.level import Level
from tests.deployments import HOURLY, a_process

FIRST = Qualifier.HOURLY.parse("2026112100")
HOURS = st.integers(0, 60)


@settings(max_examples=60)
@given(
    written=st.lists(HOURS, max_size=40),
    asked=st.lists(st.tuples(HOURS, st.integers(1, 30)), min_size=1, max_size=6),
    also=st.sampled_from([(), (-3,), (-24, 2)]),
    grouping=st.sampled_from([1, 3, 6]),
)
def test_runs_of_neighbours_get_what_single_periods_get(written, asked, also, grouping):
    store = SqliteStore.open(":memory:")
    for hour in written:
        at = Qualifier.HOURLY.timeperiod(FIRST + hour)
        store.documents.update("events", [(str(hour), at)], lambda key, _: {"key": key})
    process = a_process("P", HOURLY, source="events", also_reads=also, time_grouping=grouping)
    level = Level(process, FIRST, FIRST + 61)
    sources = Sources(store)
    for first, count in asked:
        for ordinal in range(FIRST + first, min(FIRST + first + count, level.end)):
            assert sources.bounds(level, ordinal) == source_bounds(store, level, ordinal)
    store.close()
