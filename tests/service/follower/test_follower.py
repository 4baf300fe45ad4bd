"""A timetable that follows the journal equals the one that the rows hold."""

from __future__ import annotations

import gc
from datetime import timedelta

import pytest

from synergy.errors import Refused, StorageUnavailable
from synergy.model.job import JobState
from synergy.names import TIMETABLE_START
from synergy.queries.timetable import follower as module
from synergy.timetable.level import Level
from synergy.timetable.timetable import Timetable
from tests.deployments import HOURLY, a_deployment, a_process
from tests.factories import an_entry
from tests.service.faults import FaultyStore
from tests.service.follower.kit import DAY, FIRST, HOUR, ReadCounter, content, following_of, move
from tests.service.scheduler_harness import OPERATOR, SchedulerHarness

EIGHT = "2015051708"


def words(timetable: Timetable, first: int, end: int) -> list[str]:
    level = timetable.place(HOUR).level
    return [level.state(FIRST + at).word for at in range(first, end)]


def test_a_snapshot_equals_the_store(system):
    following = following_of(system)
    assert words(following.timetable(), 0, 3) == ["embryo", "embryo", "embryo"]
    move(system, 0, 1, JobState.PROCESSED)
    assert words(following.timetable(), 0, 3) == ["processed", "processed", "embryo"]


def test_snapshots_never_change(system):
    following = following_of(system)
    before = following.timetable()
    move(system, 0, 1, JobState.PROCESSED)
    following.timetable()
    assert words(before, 0, 2) == ["embryo", "embryo"]
    assert before.place(HOUR).level.frontier == FIRST


def test_unchanged_levels_and_unchanged_timetables_are_shared(system):
    following = following_of(system)
    before = following.timetable()
    move(system, 0, 0, JobState.PROCESSED)
    after = following.timetable()
    assert after.place(DAY).level is before.place(DAY).level
    assert after.place(HOUR).level is not before.place(HOUR).level
    assert following.timetable() is after


def test_places_of_a_new_timetable_refer_only_to_one_another(system):
    following = following_of(system)
    before = following.timetable()
    move(system, 0, 0, JobState.PROCESSED)
    after = following.timetable()
    assert after.place(HOUR).parent is after.place(DAY)
    assert after.place(DAY).child is after.place(HOUR)
    assert before.place(DAY).child is before.place(HOUR)


def test_unused_snapshots_are_freed(system, monkeypatch):
    following = following_of(system)
    monkeypatch.setattr(module, "UNUSED", 10 * following.timetable().place(HOUR).level.memory)
    gc.collect()
    before = _levels()
    gc.disable()  # in MX it hardly runs, because of the number of objects there
    gc.freeze()  # existing objects are not examined
    try:
        seen = [_levels_after_a_move(system, following, hour) for hour in range(36)]
    finally:
        gc.unfreeze()
        gc.enable()
    assert before + max(seen) < 20


def _levels_after_a_move(system, following, hour) -> int:
    move(system, hour, hour, JobState.PROCESSED)
    following.timetable()
    return _levels()


def _levels() -> int:
    return sum(type(each) is Level for each in gc.get_objects())


def test_consecutive_changes_are_applied_without_reading_rows(system):
    following = following_of(system)
    following.timetable()
    counter = ReadCounter(system)
    move(system, 0, 5, JobState.PROCESSED)
    move(system, 3, 3, JobState.PROCESSED, before=JobState.PROCESSED, stale=True)
    move(system, 4, 4, JobState.EMBRYO, before=JobState.PROCESSED, start_over=True)
    timetable = following.timetable()
    level = timetable.place(HOUR).level
    assert words(timetable, 2, 6) == ["processed", "processed", "embryo", "processed"]
    assert [level.is_stale(FIRST + at) for at in (2, 3, 4)] == [False, True, False]
    assert [level.generation(FIRST + at) for at in (3, 4)] == [1, 2]
    assert level.frontier == FIRST + 4
    assert counter.reads == []


def test_a_change_that_does_not_follow_rereads_its_process(system):
    following = following_of(system)
    following.timetable()
    move(system, 0, 0, JobState.PROCESSED)
    system.store.journal.append(
        [an_entry("job.processed", process=HOUR, first=EIGHT, last=EIGHT, before="final_run",
                  after="processed", generation=1)]
    )  # fmt: skip
    counter = ReadCounter(system)
    assert words(following.timetable(), 0, 9) == ["processed"] + ["embryo"] * 8
    assert counter.reads == [[HOUR]]


def test_changes_outside_the_timetable_are_ignored(system):
    following = following_of(system)
    before = following.timetable()
    job = {"before": "embryo", "after": "processed", "generation": 1}
    system.store.journal.append(
        [
            an_entry("job.processed", process="Gone", first=EIGHT, last=EIGHT, **job),
            an_entry("job.processed", process=DAY, first=EIGHT, last=EIGHT, **job),
            an_entry("job.processed", process=HOUR, first="2014010100", last="2014010100", **job),
            an_entry("unit.processed", process=HOUR, first=EIGHT, last=EIGHT, **job),
        ]
    )
    assert following.timetable() is before


def test_periods_that_begin_are_added(system):
    following = following_of(system)
    assert following.timetable().place(HOUR).level.end == FIRST + 37
    system.clock.advance(3600)
    timetable = following.timetable()
    assert timetable.place(HOUR).level.end == FIRST + 38
    assert timetable.place(HOUR).level.counts[JobState.EMBRYO] == 38
    assert timetable.place(DAY).level.end == timetable.place(DAY).level.start + 2


def test_changes_of_a_future_period_are_seen_when_it_begins(system):
    following = following_of(system)
    following.timetable()
    move(system, 36, 37, JobState.PROCESSED)
    following.timetable()
    system.clock.advance(3600)
    assert words(following.timetable(), 36, 38) == ["processed", "processed"]


def test_a_clock_set_back_removes_periods(system):
    following = following_of(system)
    move(system, 36, 36, JobState.PROCESSED)
    following.timetable()
    system.clock.advance(-2 * 3600)
    assert following.timetable().place(HOUR).level.end == FIRST + 35
    system.clock.advance(2 * 3600)
    assert words(following.timetable(), 36, 37) == ["processed"]


def test_an_earlier_timetable_start_is_followed(system):
    following = following_of(system)
    move(system, 0, 0, JobState.PROCESSED)
    following.timetable()
    system.timetable_commands.extend("2015051600", OPERATOR, system.clock.now())
    timetable = following.timetable()
    assert timetable.start == "2015051600"
    assert words(timetable, -24, 1) == ["embryo"] * 24 + ["processed"]


def test_a_timetable_without_a_start_is_refused_until_there_is_one():
    system = SchedulerHarness(a_deployment({"site": [a_process(HOUR, HOURLY)]}))
    following = following_of(system)
    with pytest.raises(Refused):
        following.timetable()
    system.store.facts.set(TIMETABLE_START, "2015051700")
    assert following.timetable().start == "2015051700"


def test_entries_pruned_before_they_were_read_cause_a_read_of_all_rows(system):
    following = following_of(system)
    following.timetable()
    move(system, 0, 0, JobState.PROCESSED)
    system.clock.advance(86400)
    system.store.journal.prune(system.clock.now() - timedelta(hours=1), 1000)
    move(system, 1, 1, JobState.PROCESSED)
    assert words(following.timetable(), 0, 2) == ["processed", "processed"]


def test_all_unread_entries_may_be_pruned(system):
    following = following_of(system)
    following.timetable()
    move(system, 0, 0, JobState.PROCESSED)
    system.store.journal.prune(system.clock.now() + timedelta(hours=1), 1000)
    assert words(following.timetable(), 0, 2) == ["processed", "embryo"]


def test_entries_that_were_read_may_be_pruned(system):
    following = following_of(system)
    move(system, 0, 0, JobState.PROCESSED)
    following.timetable()
    system.store.journal.prune(system.clock.now() + timedelta(hours=1), 1000)
    counter = ReadCounter(system)
    before = following.timetable()
    move(system, 1, 1, JobState.NOOP)
    assert words(following.timetable(), 0, 3) == ["processed", "noop", "embryo"]
    assert words(before, 0, 3) == ["processed", "embryo", "embryo"]
    assert counter.reads == []


@pytest.mark.parametrize("entries", [1, 2, 3, 4])
def test_another_store_is_read_from_the_start(system, entries):
    """The journal of the other store is shorter, as long, or longer."""
    following = following_of(system)
    for at in range(3):
        move(system, at, at, JobState.PROCESSED)
    following.timetable()
    other = SchedulerHarness(system.deployment, now=system.clock.now())
    other.store.facts.set(TIMETABLE_START, "2015051700")
    for at in range(10, 10 + entries):
        move(other, at, at, JobState.NOOP)
    following._store = other.store
    expected = ["embryo"] * 10 + ["noop"] * entries + ["embryo"]
    assert words(following.timetable(), 0, 11 + entries) == expected


def test_a_follower_far_behind_reads_the_rows(system, monkeypatch):
    monkeypatch.setattr(module, "PAGE", 2)
    monkeypatch.setattr(module, "FAR", 4)
    following = following_of(system)
    following.timetable()
    counter = ReadCounter(system)
    for at in range(6):
        move(system, at, at, JobState.PROCESSED)
    assert words(following.timetable(), 0, 7) == ["processed"] * 6 + ["embryo"]
    assert counter.reads == []  # 4 behind after the first page
    for at in range(6, 13):
        move(system, at, at, JobState.PROCESSED)
    assert words(following.timetable(), 0, 14) == ["processed"] * 13 + ["embryo"]
    assert counter.reads == [None]  # 5 behind


def test_the_next_look_succeeds_after_any_failed_call(system):
    """Another call fails in each round."""
    faulty = FaultyStore(system.store, 0, StorageUnavailable)
    following = following_of(system, faulty)
    following.timetable()
    failed = 0
    for at in range(8):
        move(system, at, at, JobState.PROCESSED)
        system.clock.advance(3600)
        faulty.fails_at = faulty.calls + at + 1
        try:
            timetable = following.timetable()
        except StorageUnavailable:
            failed += 1
            timetable = following.timetable()
        assert content(timetable) == content(system.timetable())
    assert failed >= 3
