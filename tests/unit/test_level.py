"""One level of the timetable, compared with a plain list that does the same slowly."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from synergy.model.job import STALE_FLAG, JobSpan, JobState
from synergy.timetable.level import Level
from tests.deployments import HOURLY, a_process

START, LENGTH = 1000, 40


def a_level() -> Level:
    return Level(a_process("P", HOURLY), START, START + LENGTH)


CHANGES = st.lists(
    st.tuples(
        st.integers(START, START + LENGTH - 1),
        st.integers(0, 12),
        st.sampled_from(JobState),
        st.integers(1, 3),
    ),
    max_size=40,
)


@given(CHANGES)
def test_frontier_and_counts_follow_every_change(changes):
    level, slow = a_level(), [JobState.EMBRYO] * LENGTH
    for first, more, state, generation in changes:
        last = min(first + more, START + LENGTH - 1)
        level.set(first, last, state, generation, flags=STALE_FLAG * (more % 2))
        for ordinal in range(first, last + 1):
            slow[ordinal - START] = state
        unfinished = [START + i for i, s in enumerate(slow) if s.is_active]
        assert level.frontier == (unfinished[0] if unfinished else START + LENGTH)
        assert level.counts == [slow.count(s) for s in JobState]
        assert list(level.unfinished(START, START + LENGTH)) == unfinished
        failed = [START + i for i, s in enumerate(slow) if s is JobState.FAILED]
        assert list(level.failed(START, START + LENGTH)) == failed
        pending = [START + i for i, s in enumerate(slow) if s.is_pending]
        assert level.first_pending(START, START + LENGTH) == min([*pending, START + LENGTH])


@given(CHANGES, st.integers(START - 5, START + LENGTH + 5), st.integers(0, 20))
def test_queries_of_a_range_agree_with_the_list(changes, first, more):
    level, end = a_level(), first + more
    for at, _, state, generation in changes:
        level.set(at, at, state, generation)
    inside = [level.state(o) for o in range(max(first, START), min(end, START + LENGTH))]
    if end > START + LENGTH:
        assert not level.all_finished(first, end)
        assert not level.all_skipped(first, end)
    else:
        assert level.all_finished(first, end) == all(s.is_finished for s in inside)
        skipped = bool(inside) and all(s in (JobState.SKIPPED, JobState.GIVEN_UP) for s in inside)
        assert level.all_skipped(first, end) == skipped


def test_growing_and_extending_keep_existing_jobs():
    level = a_level()
    level.set(START + 3, START + 3, JobState.PROCESSED, 2)
    level.grow(START + LENGTH + 5)
    level.extend(START - 10)
    assert level.state(START + 3) is JobState.PROCESSED
    assert level.generation(START + 3) == 2
    assert (level.start, level.end) == (START - 10, START + LENGTH + 5)
    assert level.frontier == START - 10
    assert sum(level.counts) == LENGTH + 15


def test_loading_clips_to_the_level_and_keeps_the_stale_flag():
    level = a_level()
    stored = bytes([JobState.PROCESSED, JobState.PROCESSED | STALE_FLAG, JobState.IN_PROGRESS])
    level.load(JobSpan("P", START - 1, stored, {START: 4}))
    level.loaded()
    assert level.state(START) is JobState.PROCESSED
    assert level.is_stale(START)
    assert level.generation(START) == 4
    assert level.frontier == START + 1
    assert level.counts[JobState.PROCESSED] == 1


def test_setting_a_job_again_clears_the_stale_flag():
    level = a_level()
    level.set(START, START, JobState.PROCESSED, 1, flags=STALE_FLAG)
    level.set(START, START, JobState.EMBRYO, 2)
    assert not level.is_stale(START)
