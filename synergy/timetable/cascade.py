"""The jobs that a reprocess, late data or a skip touches.

When a job is started over, all results made from its result are wrong until they are made again:
that of its parent, which sums up its children, those of the jobs that depend on it, and all results
made from these. A reprocess and late data therefore climb: to ancestors, to dependants, and from
each of them on. Embryos are passed without a change, because they have no result that could be
wrong.

When a job is skipped, its inputs have no other reason to run, and its outputs cannot be made. A
skip therefore descends: to the job's descendants, to its dependants, and to the descendants of
those. Finished jobs keep their result, and ancestors are left alone: they may still be made from
the job's neighbours.

Every job is listed once, before the jobs that the cascade reaches from it.

Cascades are computed in ranges of neighbours: a range leads to a range, unless a grouping is in
between. So the cascade of several years of hours costs little more than that of one hour.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from synergy.model.job import JobState
from synergy.timetable.level import HELD, UNFINISHED, Level, byte_class
from synergy.timetable.timetable import Place

Node = tuple[Place, int]
Span = tuple[Place, range]
"""Neighbours, in rising order."""

_BEGUN = re.compile(rb"[^\x00]+")
_UNFINISHED = re.compile(UNFINISHED + b"+")
_NOT_HELD = re.compile(b"[^" + re.escape(HELD) + b"]+")


def reprocess_spans(asked: Iterable[Span]) -> list[Span]:
    """These jobs and all that the cascade reaches from them, except embryos: to be started over."""
    return _begun(_closure(asked, _CLIMB))


def skip_spans(asked: Iterable[Span]) -> list[Span]:
    """The unfinished ones of these jobs and of all that the cascade reaches: to be skipped."""
    return [
        (place, unfinished)
        for place, ordinals in _closure(asked, _DESCEND)
        for unfinished in _matching(place.level, ordinals, _UNFINISHED)
    ]


def late_cascade(nodes: Iterable[Node]) -> list[Node]:
    """The jobs to start over when the sources of `nodes` have grown.

    It stops at jobs that an operator skipped, which only an operator starts over. Jobs that were
    skipped only because others were are started over with those.
    """
    asked = ((place, range(ordinal, ordinal + 1)) for place, ordinal in nodes)
    found = nodes_of(_begun(_closure(asked, _CLIMB_PAST_NO_SKIP)))
    return [(place, at) for place, at in found if not place.level.is_unreadable(at)]


def _begun(reached: Iterable[Span]) -> list[Span]:
    return [
        (place, begun)
        for place, ordinals in reached
        for begun in _matching(place.level, ordinals, _BEGUN)
    ]


def spans_in(asked: Iterable[Span], state: JobState) -> list[Span]:
    """Those of the jobs that are in a state, with any flags."""
    pattern = re.compile(byte_class(state) + b"+")
    return [
        (place, found)
        for place, ordinals in asked
        for found in _matching(place.level, ordinals, pattern)
    ]


def nodes_of(spans: Iterable[Span]) -> Iterator[Node]:
    """The jobs of spans, one by one."""
    for place, ordinals in spans:
        for ordinal in ordinals:
            yield place, ordinal


def upwards(place: Place, ordinal: int) -> Iterator[Node]:
    """The jobs that are made from a job directly; some may lie outside the timetable.

    For a period of a grouped process they include the checkpoint that covers it.
    """
    own = range(ordinal, ordinal + 1)
    for checkpoint in _checkpoints(place.level, own):
        yield from ((place, at) for at in checkpoint if at != ordinal)
    yield from nodes_of(_upwards(place, own))


class _Direction(NamedTuple):
    """The steps of a cascade.

    `near` gives the places that it reaches from a place, `within` the further jobs of the same
    level, and `leads` the jobs of other places. `passes` selects the jobs from which it continues.
    """

    near: Callable[[Place], Iterable[Place]]
    within: Callable[[Level, range], Iterable[range]]
    leads: Callable[[Place, range], Iterable[Span]]
    passes: Callable[[Level, range], Iterable[range]]


def _closure(asked: Iterable[Span], direction: _Direction) -> Iterator[Span]:
    """All reached jobs, a place only after all places from which it is reached."""
    reached: dict[Place, list[range]] = {}
    for place, ordinals in asked:
        reached.setdefault(place, []).append(ordinals)
    for place in _in_order(list(reached), direction):
        level, own = place.level, _joined(reached.get(place, ()))
        further = (more for ordinals in own for more in direction.within(level, ordinals))
        for ordinals in _joined([*own, *further]):
            held = range(max(ordinals.start, level.start), min(ordinals.stop, level.end))
            for passed in direction.passes(level, held) if held else ():
                yield place, passed
                for other, led_to in direction.leads(place, passed):
                    reached.setdefault(other, []).append(led_to)


def _in_order(places: Iterable[Place], direction: _Direction) -> list[Place]:
    """The places reached from these, each after all places from which it is reached."""
    done: dict[Place, None] = {}

    def visit(place: Place) -> None:
        if place not in done:
            for other in direction.near(place):
                visit(other)
            done[place] = None

    for place in places:
        visit(place)
    return list(done)[::-1]


def _above(place: Place) -> Iterator[Place]:
    if place.parent is not None:
        yield place.parent
    yield from place.dependants


def _upwards(place: Place, ordinals: range) -> Iterator[Span]:
    parent = place.parent
    if parent is not None:
        first, last = place.parent_ordinal(ordinals[0]), place.parent_ordinal(ordinals[-1])
        for checkpoint in _checkpoints(parent.level, range(first, last + 1)):
            yield parent, checkpoint
    for members in _members(place.level, ordinals) if place.dependants else ():
        for dependant in place.dependants:
            for distance in (0, *dependant.process.also_reads):
                readers = range(members.start - distance, members.stop - distance)
                for checkpoint in _checkpoints(dependant.level, readers):
                    yield dependant, checkpoint


def _below(place: Place) -> Iterator[Place]:
    if place.child is not None:
        yield place.child
    yield from place.dependants


def _downwards(place: Place, ordinals: range) -> Iterator[Span]:
    child = place.child
    if child is not None:
        own, finer = place.process.qualifier, child.process.qualifier
        for members in _members(place.level, ordinals):
            yield child, range(own.down(members.start, finer)[0], own.down(members.stop, finer)[0])
    for dependant in place.dependants:
        for checkpoint in _checkpoints(dependant.level, ordinals):
            yield dependant, checkpoint


def _nothing(_level: Level, _ordinals: range) -> Iterable[range]:
    return ()


def _checkpoints(level: Level, ordinals: range) -> Iterable[range]:
    """The periods whose jobs cover these."""
    if level.process.time_grouping == 1:
        return (ordinals,)
    return _joined(range(at, at + 1) for at in set(map(level.checkpoint, ordinals)))


def _members(level: Level, ordinals: range) -> Iterable[range]:
    """The periods that the jobs of these cover; for jobs that cover none, their own periods."""
    if level.process.time_grouping == 1:
        return (ordinals,)
    return _joined(range(*level.covered(at) or (at, at + 1)) for at in ordinals)


def _joined(ranges: Iterable[range]) -> list[range]:
    """The same ordinals in the fewest ranges, in rising order."""
    found: list[range] = []
    for each in sorted(ranges, key=lambda each: each.start):
        if found and each.start <= found[-1].stop:
            found[-1] = range(found[-1].start, max(found[-1].stop, each.stop))
        else:
            found.append(each)
    return found


def _matching(level: Level, ordinals: range, pattern: re.Pattern[bytes]) -> Iterator[range]:
    """The runs of ordinals whose states match the pattern."""
    first, start = level.start, ordinals.start - level.start
    for found in pattern.finditer(level.states, start, ordinals.stop - first):
        yield range(first + found.start(), first + found.end())


def _all(_level: Level, ordinals: range) -> Iterable[range]:
    return (ordinals,)


def _not_held(level: Level, ordinals: range) -> Iterable[range]:
    return _matching(level, ordinals, _NOT_HELD)


_CLIMB = _Direction(_above, _checkpoints, _upwards, _all)
_CLIMB_PAST_NO_SKIP = _Direction(_above, _checkpoints, _upwards, _not_held)
_DESCEND = _Direction(_below, _nothing, _downwards, _all)
