"""Cascades computed in ranges equal those computed job by job from the rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from hypothesis import given, settings
from hypothesis import strategies as st

from synergy.model.job import JobState
from synergy.timeperiod import Qualifier, largest_grouping
from synergy.timetable.cascade import Node, nodes_of, reprocess_spans, skip_spans
from synergy.timetable.timetable import Place, Timetable
from tests.deployments import a_deployment, a_process

COARSE_TO_FINE = sorted(Qualifier, key=lambda qualifier: -qualifier.rank)


@st.composite
def timetables(draw: st.DrawFn) -> Timetable:
    """Draws up to three trees that depend on one another, grouped or not, with any job states."""
    trees = {}
    depends = {}
    for name in ("a", "b", "c")[: draw(st.integers(1, 3))]:
        levels = draw(st.sets(st.sampled_from(Qualifier), min_size=1))
        trees[name] = [
            a_process(
                f"{name}-{qualifier.value}",
                qualifier,
                time_grouping=draw(st.sampled_from([1, 1, 5, largest_grouping(qualifier)]))
                if qualifier is not Qualifier.YEARLY
                else 1,
                also_reads=draw(st.sampled_from([(), (-1,), (-7, -2)])),
            )
            for qualifier in COARSE_TO_FINE
            if qualifier in levels
        ]
        depends[name] = tuple(draw(st.sets(st.sampled_from("ab"))) & trees.keys() - {name})
    timetable = Timetable(
        a_deployment(trees, depends), "2015120807", datetime(2016, 2, 3, 4, tzinfo=UTC)
    )
    for place in timetable.places.values():
        for first, last in draw(st.lists(_spans(place), max_size=4)):
            place.level.set(first, last, draw(st.sampled_from(JobState)), 1)
    return timetable


def _spans(place: Place) -> st.SearchStrategy[tuple[int, int]]:
    job = st.integers(place.level.start, place.level.end - 1)
    return st.tuples(job, job).map(lambda ends: (min(ends), max(ends)))


def above(place: Place, ordinal: int) -> Iterator[Node]:
    """Yields the jobs made from a job: its checkpoint, its parent, and readers of its output."""
    yield place, place.level.checkpoint(ordinal)
    if place.parent is not None:
        yield place.parent, place.parent_ordinal(ordinal)
    covered = range(*place.level.covered(ordinal) or (ordinal, ordinal + 1))
    for dependant in place.dependants:
        for member in covered:
            yield from ((dependant, reader) for reader in dependant.level.readers(member))


def below(place: Place, ordinal: int) -> Iterator[Node]:
    """Yields the jobs that a skip also skips: children, and checkpoints of dependants."""
    if place.child is not None:
        yield from ((place.child, child) for child in range(*place.children(ordinal)))
    yield from ((other, other.level.checkpoint(ordinal)) for other in place.dependants)


def reached(nodes: list[Node], near: Callable[[Place, int], Iterator[Node]]) -> set[Node]:
    found: set[Node] = set()
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        if node not in found and node[0].level.holds(node[1]):
            found.add(node)
            waiting += near(*node)
    return found


@settings(max_examples=150, deadline=None)
@given(timetables(), st.data())
def test_a_cascade_of_ranges_equals_the_cascade_job_by_job(timetable, data):
    asked = []
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.sampled_from(list(timetable.places.values())))
        first, last = data.draw(_spans(place))
        asked.append((place, range(first, last + 1)))
    nodes = list(nodes_of(asked))
    for cascade, near, is_touched in (
        (reprocess_spans, above, lambda state: state is not JobState.EMBRYO),
        (skip_spans, below, lambda state: state.is_active),
    ):
        touched = list(nodes_of(cascade(asked)))
        expected = {n for n in reached(nodes, near) if is_touched(n[0].level.state(n[1]))}
        assert set(touched) == expected
        assert len(touched) == len(expected)
        _check_order(touched, near)


def _check_order(touched: list[Node], near: Callable[[Place, int], Iterator[Node]]) -> None:
    """Checks that jobs of other processes come after the jobs that lead to them."""
    at = {node: number for number, node in enumerate(touched)}
    for node, number in at.items():
        assert all(at.get(n, number) >= number for n in near(*node) if n[0] is not node[0])


def test_a_cascade_reaches_processes_that_also_read_earlier_periods():
    alert = a_process("Alert", Qualifier.DAILY, also_reads=(-7, -1))
    deployment = a_deployment(
        {"site": [a_process("Day", Qualifier.DAILY)], "alert": [alert]}, {"alert": ("site",)}
    )
    timetable = Timetable(deployment, "2015120100", datetime(2015, 12, 31, tzinfo=UTC))
    for place in timetable.places.values():
        place.level.set(place.level.start, place.level.end - 1, JobState.PROCESSED, 1)
    touched = list(nodes_of(reprocess_spans([timetable.span("Day", "2015121000", "2015121100")])))
    assert [(place.process.name, place.level.timeperiod(at)[:8]) for place, at in touched] == [
        *(("Day", f"201512{day}") for day in (10, 11)),
        *(("Alert", f"201512{day}") for day in (10, 11, 12, 17, 18)),
    ]
