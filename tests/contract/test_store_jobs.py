"""States of jobs: a move changes all of its jobs or none, and loading returns the result."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synergy.model.job import ACKNOWLEDGED_FLAG, STALE_FLAG, JobChange, JobState
from synergy.storage.protocol import Store
from synergy.timeperiod import Qualifier
from tests.contract.concurrency import in_processes, open_store
from tests.contract.engines import QUICK
from tests.factories import NOW, a_move

EMBRYO, IN_PROGRESS, PROCESSED = JobState.EMBRYO, JobState.IN_PROGRESS, JobState.PROCESSED
FAILED, GIVEN_UP, SKIPPED = JobState.FAILED, JobState.GIVEN_UP, JobState.SKIPPED
BLOCK = 1024


def jobs(store: Store, process: str = "SiteHourly") -> dict[int, tuple[int, int]]:
    """Returns state byte and generation of every job that has left its initial state."""
    found: dict[int, tuple[int, int]] = {}
    for run in store.jobs.load([process]):
        assert run.process == process
        for ordinal, byte in enumerate(run.states, run.first):
            assert ordinal not in found, "each job once"
            found[ordinal] = byte, run.generations.get(ordinal, 1)
        assert set(run.generations) <= set(range(run.first, run.first + len(run.states)))
    return {ordinal: job for ordinal, job in found.items() if job != (0, 1)}


def test_a_new_store_has_no_jobs(store: Store) -> None:
    assert list(store.jobs.load()) == []


def test_a_move_changes_all_of_its_jobs(store: Store) -> None:
    assert store.jobs.move([a_move(500_000, 500_002)], NOW) == []
    assert jobs(store) == {500_000 + n: (IN_PROGRESS, 1) for n in range(3)}


def test_a_move_is_one_journal_entry_with_its_range_and_facts(store: Store) -> None:
    move = a_move(500_000, 502_500, why="nothing there", unit="u1", covered=7)
    store.jobs.move([move], NOW)
    (entry,) = store.journal.since(0, 10)
    hour = Qualifier.HOURLY.timeperiod
    assert (entry.event, entry.first, entry.last) == (
        "job.in_progress",
        hour(500_000),
        hour(502_500),
    )
    assert (entry.before, entry.after, entry.generation) == ("embryo", "in_progress", 1)
    assert (entry.why, entry.who, entry.unit) == ("nothing there", "a test", "u1")
    assert (entry.at, entry.covered) == (NOW, 7)


def test_a_move_is_refused_as_a_whole_if_one_job_is_in_another_state(store: Store) -> None:
    last_of_block = BLOCK * 488 - 1
    store.jobs.move([a_move(last_of_block + 3)], NOW)
    wide = a_move(last_of_block - 3, last_of_block + 5)
    assert store.jobs.move([wide], NOW) == [wide]
    assert jobs(store) == {last_of_block + 3: (IN_PROGRESS, 1)}
    assert len(store.journal.since(0, 10)) == 1


def test_later_moves_of_a_call_see_the_earlier_ones(store: Store) -> None:
    first = a_move(500_000)
    second = a_move(500_000, before=IN_PROGRESS, after=PROCESSED)
    assert store.jobs.move([first, second, first], NOW) == [first]
    assert jobs(store) == {500_000: (PROCESSED, 1)}


def test_starting_over_raises_the_generation_and_is_journaled(store: Store) -> None:
    store.jobs.move([a_move(500_000, after=PROCESSED)], NOW)
    over = a_move(500_000, before=PROCESSED, after=IN_PROGRESS, start_over=True, why="late data")
    assert store.jobs.move([over], NOW) == []
    assert jobs(store) == {500_000: (IN_PROGRESS, 2)}
    entry = store.journal.since(0, 10)[-1]
    assert (entry.event, entry.generation) == ("job.started_over", 2)
    assert store.jobs.move([over], NOW) == [over]


def test_an_embryo_of_a_later_generation_is_loaded(store: Store) -> None:
    store.jobs.move([a_move(500_000, after=PROCESSED)], NOW)
    store.jobs.move([a_move(500_000, before=PROCESSED, after=EMBRYO, start_over=True)], NOW)
    assert jobs(store) == {500_000: (EMBRYO, 2)}


def test_a_move_expects_one_generation_of_all_its_jobs(store: Store) -> None:
    store.jobs.move([a_move(500_000, 500_004, after=PROCESSED)], NOW)
    store.jobs.move([a_move(500_002, before=PROCESSED, after=PROCESSED, start_over=True)], NOW)
    wide = a_move(500_000, 500_004, before=PROCESSED, after=IN_PROGRESS)
    assert store.jobs.move([wide], NOW) == [wide]
    second = replace(wide, generation=2)
    assert store.jobs.move([second], NOW) == [second]
    assert store.jobs.move([replace(second, first=500_002, last=500_002)], NOW) == []
    assert store.jobs.move([replace(wide, last=500_001)], NOW) == []


def test_the_stale_flag_is_kept_and_changes_no_state(store: Store) -> None:
    store.jobs.move([a_move(500_000, after=PROCESSED)], NOW)
    mark = a_move(500_000, before=PROCESSED, after=PROCESSED, stale=True)
    assert store.jobs.move([mark], NOW) == []
    assert jobs(store) == {500_000: (PROCESSED | STALE_FLAG, 1)}
    assert store.journal.since(0, 10)[-1].event == "job.stale"
    over = a_move(500_000, before=PROCESSED, after=IN_PROGRESS, start_over=True)
    assert store.jobs.move([over], NOW) == []
    assert jobs(store) == {500_000: (IN_PROGRESS, 2)}


def test_a_failed_job_is_retried_in_its_generation(store: Store) -> None:
    store.jobs.move([a_move(500_000, after=FAILED)], NOW)
    assert jobs(store) == {500_000: (FAILED, 1)}
    assert store.jobs.move([a_move(500_000, before=FAILED, after=EMBRYO)], NOW) == []
    assert jobs(store) == {}
    events = [(e.event, e.before, e.after) for e in store.journal.since(0, 10)]
    assert events == [
        ("job.failed", "embryo", "failed"),
        ("job.retried", "failed", "embryo"),
    ]


def test_a_job_that_fails_over_the_rows_of_an_earlier_generation_is_stale(store: Store) -> None:
    over = a_move(500_000, before=PROCESSED, after=EMBRYO, start_over=True)
    failed = a_move(500_000, after=FAILED, generation=2)
    assert store.jobs.move([a_move(500_000, after=PROCESSED), over, failed], NOW) == []
    assert jobs(store) == {500_000: (FAILED | STALE_FLAG, 2)}
    retry = a_move(500_000, before=FAILED, after=EMBRYO, generation=2)
    assert store.jobs.move([retry], NOW) == []
    assert jobs(store) == {500_000: (EMBRYO, 2)}


def test_an_acknowledged_job_is_skipped_and_flagged(store: Store) -> None:
    store.jobs.move([a_move(500_000, after=GIVEN_UP)], NOW)
    take = a_move(500_000, before=GIVEN_UP, after=SKIPPED, acknowledged=True)
    assert store.jobs.move([take], NOW) == []
    assert jobs(store) == {500_000: (SKIPPED | ACKNOWLEDGED_FLAG, 1)}
    assert store.jobs.move([take], NOW) == [take]
    mark = a_move(500_000, before=SKIPPED, after=SKIPPED, stale=True, acknowledged=True)
    assert store.jobs.move([mark], NOW) == []
    assert jobs(store) == {500_000: (SKIPPED | ACKNOWLEDGED_FLAG | STALE_FLAG, 1)}
    events = [entry.event for entry in store.journal.since(0, 10)]
    assert events == ["job.given_up", "job.acknowledged", "job.stale"]


def test_processes_are_loaded_by_name_and_kept_apart(store: Store) -> None:
    yearly = a_move(2026, process="SiteYearly", qualifier=Qualifier.YEARLY)
    store.jobs.move([a_move(500_000), yearly], NOW)
    assert {run.process for run in store.jobs.load()} == {"SiteHourly", "SiteYearly"}
    assert jobs(store, "SiteYearly") == {2026: (IN_PROGRESS, 1)}
    assert list(store.jobs.load([])) == []
    assert list(store.jobs.load(["Unknown"])) == []


def _take_over(store: Store, who: str, count: int) -> int:
    moves = [a_move(500_000 + n, who=who) for n in range(count)]
    return sum(store.jobs.move([move], NOW) == [] for move in moves)


def test_one_of_several_processes_moves_a_job_from_a_state(
    shared: Store, address: str, much: int
) -> None:
    made = in_processes(address, _take_over, [("one", much), ("two", much)])
    assert sum(made) == much
    assert len(jobs(shared)) == much
    assert len(shared.journal.since(0, 1_000)) == much


ORDINALS = st.integers(BLOCK - 6, BLOCK + 6)


@st.composite
def moves(draw: st.DrawFn) -> JobChange:
    first, last = sorted((draw(ORDINALS), draw(ORDINALS)))
    return a_move(
        first,
        draw(st.sampled_from([first, last])),
        before=draw(st.sampled_from([EMBRYO, IN_PROGRESS, PROCESSED])),
        after=draw(st.sampled_from([EMBRYO, IN_PROGRESS, PROCESSED])),
        generation=draw(st.integers(1, 2)),
        start_over=draw(st.booleans()),
        stale=draw(st.booleans()),
    )


@pytest.mark.parametrize("place", QUICK)
@settings(max_examples=150, deadline=None)
@given(st.lists(st.lists(moves(), max_size=4), max_size=12))
def test_any_moves_have_the_same_result_as_on_a_dictionary(
    place: str, calls: list[list[JobChange]]
) -> None:
    store = open_store(place)
    model: dict[int, tuple[int, int]] = {}
    for call in calls:
        refused = []
        for move in call:
            span = range(move.first, move.last + 1)
            expected = [
                (state & ~STALE_FLAG, generation)
                for state, generation in (model.get(job, (0, 1)) for job in span)
            ]
            if set(expected) != {(move.before, move.generation)}:
                refused.append(move)
                continue
            state = move.after | (STALE_FLAG if move.stale else 0)
            model.update(dict.fromkeys(span, (state, move.generation + move.start_over)))
        assert store.jobs.move(call, NOW) == refused
    assert jobs(store) == {job: value for job, value in model.items() if value != (0, 1)}
    store.close()
