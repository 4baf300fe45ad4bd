"""Acting on many jobs, with the cascade of each: looked at first, then done.

The jobs that were asked for are taken in steps, each with all that it touches; so whoever has to
stop in between can say how many of them are done, and go on after those. What is done twice
because of that is done in vain, and does no harm. What was made from several of them is started
over with the first, and cannot be done before the last.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from itertools import islice

from synergy.commands.jobs import TRIES, Actor, Touched, cascade_moves, make_moves
from synergy.errors import InvalidValue, Refused
from synergy.lifecycle.transitions import Move
from synergy.lifecycle.transitions import after as state_after
from synergy.messaging.protocol import Bus
from synergy.model.job import JobMove, JobState
from synergy.model.process import Deployment
from synergy.queries.timetable.load import load_timetable
from synergy.storage.protocol import Store
from synergy.timetable.cascade import (
    Node,
    Span,
    nodes_of,
    reprocess_spans,
    skip_spans,
    spans_in,
)
from synergy.timetable.timetable import Timetable

STEP = 500  # jobs that were asked for, in a step
PIECE = 5000  # jobs that are moved in one batch

Progress = Callable[[int, int, int], None]
"""Told how many of the jobs that were asked for are done, how many there are, and how many jobs
the last step touched. What it writes is durable together with that step, in a store that can."""


class BulkVerb(Enum):
    """What is to be done with the jobs."""

    REPROCESS = "reprocess"
    SKIP = "skip"
    RETRY = "retry"
    ACKNOWLEDGE = "acknowledge"

    @property
    def move(self) -> Move:
        return _MOVES[self]

    def spans(self, asked: Iterable[Span]) -> list[Span]:
        """The jobs that it touches where these are asked for."""
        match self:
            case BulkVerb.REPROCESS:
                return reprocess_spans(asked)
            case BulkVerb.SKIP:
                return skip_spans(asked)
            case BulkVerb.RETRY:
                return spans_in(asked, JobState.FAILED)
            case BulkVerb.ACKNOWLEDGE:
                return spans_in(asked, JobState.GIVEN_UP)


_MOVES = {
    BulkVerb.REPROCESS: Move.START_OVER,
    BulkVerb.SKIP: Move.SKIP,
    BulkVerb.RETRY: Move.RETRY,
    BulkVerb.ACKNOWLEDGE: Move.ACKNOWLEDGE,
}


@dataclass(frozen=True, slots=True)
class Range:
    """Jobs of a process, from timeperiod `first` to `last`, which is included."""

    process: str
    first: str
    last: str


@dataclass(frozen=True, slots=True)
class BulkRequest:
    """What is to be done with which jobs."""

    verb: BulkVerb
    ranges: tuple[Range, ...]

    @staticmethod
    def of_range(
        deployment: Deployment, verb: BulkVerb, process: str, first: str, end: str | None = None
    ) -> BulkRequest:
        """For `[first, end)` of a process; without `end`, for that one job.

        Raises InvalidValue for a range that is empty.
        """
        managed = deployment.managed().get(process)
        if end is None or managed is None:  # whoever looks at it will say what is not there
            return BulkRequest(verb, (Range(process, first, first),))
        qualifier = managed.qualifier
        begin, stop = qualifier.parse(first), qualifier.parse(end)
        if stop <= begin:
            raise InvalidValue(f"{first} to {end} is empty: the end is not included")
        return BulkRequest(verb, (Range(process, first, qualifier.timeperiod(stop - 1)),))


@dataclass(frozen=True, slots=True)
class Preview:
    """How many jobs would be touched, by process, and the first of them."""

    counts: Mapping[str, int]
    first: Sequence[Touched]


class Bulk:
    """Looks what requests would touch, and does it. Raises NotFound for what is not there."""

    def __init__(
        self,
        store: Store,
        bus: Bus,
        deployment: Deployment,
        timetable: Callable[[], Timetable],
    ) -> None:
        """`timetable` tells how it is now, as far as the journal was told (`Following`)."""
        self._store = store
        self._bus = bus
        self._deployment = deployment
        self._timetable = timetable

    def plan(self, request: BulkRequest) -> int:
        """How many jobs would be touched."""
        return _count(self._cascade(request))

    def preview(self, request: BulkRequest, limit: int | None = None) -> Preview:
        """What would be touched, with so many of the jobs, or all."""
        spans, counts = self._cascade(request), Counter[str]()
        for place, ordinals in spans:
            counts[place.process.name] += len(ordinals)
        first = (_would_touch(node, request.verb) for node in islice(nodes_of(spans), limit))
        return Preview(counts, list(first))

    def act(self, request: BulkRequest, actor: Actor, now: datetime) -> list[Touched]:
        """Does all of it at once. Raises Refused if jobs keep changing meanwhile."""
        part = range(self.asked(request))
        return self._do(request, actor, now, part, lambda _done, _total, _touched: None)

    def asked(self, request: BulkRequest) -> int:
        """How many jobs are asked for."""
        return _count(self._asked(request, self._timetable()))

    def step(
        self, request: BulkRequest, actor: Actor, now: datetime, progress: Progress, after: int
    ) -> list[Touched]:
        """The next `STEP` jobs, if `after` so many of those that were asked for are done already.

        Raises Refused if jobs keep changing meanwhile.
        """
        return self._do(request, actor, now, range(after, after + STEP), progress)

    def _do(
        self, request: BulkRequest, actor: Actor, now: datetime, part: range, progress: Progress
    ) -> list[Touched]:
        """A part of the jobs, again while others change them: an operator's word wins.

        The timetable is looked at before the batch: what it holds must not be undone with it.
        What was refused has changed and the journal may not have been told, so then the rows are
        looked at.
        """
        touched: list[Touched] = []
        for turn in range(TRIES):
            spans = self._asked(request, self._rows(now) if turn else self._timetable())
            nodes = list(islice(nodes_of(_without(spans, part.start)), len(part)))
            moves = cascade_moves(self._store, nodes, request.verb.move, actor)
            with self._store.batch():
                made, refused = self._made(moves, actor, now)
                touched += made
                if not refused:
                    progress(part.start + len(nodes), _count(spans), len(touched))
                    return touched
        raise Refused(f"{refused} jobs keep changing; {len(touched):,} were done: try again")

    def _made(
        self, moves: Sequence[JobMove], actor: Actor, now: datetime
    ) -> tuple[list[Touched], int]:
        """Makes moves; what was touched, in their order, and how many were refused."""
        touched: list[Touched] = []
        refused = 0
        for piece in _pieces(moves):
            made, not_made = make_moves(self._store, self._bus, piece, actor, now)
            touched[:0] = made
            refused += len(not_made)
        return touched, refused

    def _cascade(self, request: BulkRequest) -> list[Span]:
        return request.verb.spans(self._asked(request, self._timetable()))

    def _asked(self, request: BulkRequest, timetable: Timetable) -> list[Span]:
        """The jobs that were asked for, always in the same order; what is said twice, once."""
        spans = (timetable.span(each.process, each.first, each.last) for each in request.ranges)
        return list(dict.fromkeys(spans))

    def _rows(self, now: datetime) -> Timetable:
        return load_timetable(self._store, self._deployment, now)


def _count(spans: Iterable[Span]) -> int:
    return sum(len(ordinals) for _, ordinals in spans)


def _without(spans: Iterable[Span], count: int) -> Iterator[Span]:
    """What is left without so many of the first jobs."""
    for place, ordinals in spans:
        yield place, ordinals[count:]
        count = max(count - len(ordinals), 0)


def _pieces(moves: Sequence[JobMove]) -> Iterator[Sequence[JobMove]]:
    """What the cascade reached last comes first, as within each of them."""
    for begin in range((len(moves) - 1) // PIECE * PIECE, -1, -PIECE):
        yield moves[begin : begin + PIECE]


def _would_touch(node: Node, verb: BulkVerb) -> Touched:
    place, ordinal = node
    level, state = place.level, place.level.state(ordinal)
    return Touched(
        place.process.name,
        level.timeperiod(ordinal),
        state,
        state_after(state, verb.move),
        level.generation(ordinal) + (verb is BulkVerb.REPROCESS),
    )
