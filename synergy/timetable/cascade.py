"""What a reprocess or a skip touches.

When a job is done again, whatever was made from its result is wrong until it is done again
too: its parent, because that sums its children up, the jobs that depend on it, and whatever
was made from those. So a reprocess climbs: to ancestors, to dependants, and from each of them
on. Embryos pass through untouched, because they have no result that could be wrong.

When a job is given up, what it would have been made from has no other reason to run, and what
would have been made from it cannot be: so a skip descends: to the job's descendants, to its
dependants, and to the descendants of those. Finished jobs keep their result, and ancestors
are left alone: they may still be made from the job's neighbours.

Every job is named once, in the order in which it would be reached.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from synergy.model.job import JobState
from synergy.timetable.timetable import Place

Node = tuple[Place, int]


def reprocess_cascade(nodes: Iterable[Node]) -> list[Node]:
    """The jobs to start over when `nodes` are: without embryos, which need no starting over."""
    return [
        (place, ordinal)
        for place, ordinal in _closure(nodes, _upwards)
        if place.level.state(ordinal) is not JobState.EMBRYO
    ]


def skip_cascade(nodes: Iterable[Node]) -> list[Node]:
    """The jobs to skip when `nodes` are: those that are not finished."""
    return [
        (place, ordinal)
        for place, ordinal in _closure(nodes, _downwards)
        if place.level.state(ordinal).is_active
    ]


def _closure(nodes: Iterable[Node], step: Callable[[Place, int], Iterator[Node]]) -> list[Node]:
    reached = dict.fromkeys(nodes)
    waiting = list(reached)
    for place, ordinal in waiting:  # grows while it is walked
        for node in step(place, ordinal):
            if node not in reached and node[0].level.holds(node[1]):
                reached[node] = None
                waiting.append(node)
    return waiting


def _upwards(place: Place, ordinal: int) -> Iterator[Node]:
    yield place, place.level.checkpoint(ordinal)
    if place.parent is not None:
        yield place.parent, place.parent_ordinal(ordinal)
    for dependant in place.dependants:
        for member in range(*place.level.covered(ordinal) or (ordinal, ordinal + 1)):
            for reader in dependant.level.readers(member):
                yield dependant, reader


def _downwards(place: Place, ordinal: int) -> Iterator[Node]:
    if place.child is not None:
        for child in range(*place.children(ordinal)):
            yield place.child, child
    for dependant in place.dependants:
        yield dependant, dependant.level.checkpoint(ordinal)
