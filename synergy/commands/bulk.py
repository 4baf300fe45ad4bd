"""Commands on many jobs with their cascades: preview, then carry out.

The requested jobs are processed in steps, each with its cascade, so that an interrupted command can
report how many are done and continue after them. A step that is repeated because of that is
harmless. A job made from several of them is started over with the first of them, and cannot finish
before the last.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from itertools import islice

from synergy.commands.jobs import ATTEMPTS, Touched, make_moves
from synergy.commands.sources import source_bounds
from synergy.errors import Refused
from synergy.lifecycle.legal_moves import JobMove, job_after
from synergy.lifecycle.state_changes import move_job
from synergy.messaging.protocol import Bus
from synergy.model.actor import Actor
from synergy.model.job import JobChange, JobState
from synergy.model.process import Deployment
from synergy.queries.timetable.load import load_timetable
from synergy.storage.protocol import Store
from synergy.timeperiod import parse_between, parse_period
from synergy.timetable.cascade import (
    Node,
    Span,
    nodes_of,
    reprocess_spans,
    skip_spans,
    spans_in,
)
from synergy.timetable.timetable import Place, Timetable

STEP = 500  # requested jobs in a step
BATCH = 5000  # jobs that are moved in one batch

Progress = Callable[[int, int, int], None]
"""Called with the number of requested jobs done, the number of all, and the number of jobs that the
last step touched. In a store with transactions its writes are committed together with the step."""


class BulkVerb(Enum):
    """A command on jobs."""

    REPROCESS = "reprocess"
    SKIP = "skip"
    RETRY = "retry"
    ACKNOWLEDGE = "acknowledge"

    @property
    def move(self) -> JobMove:
        return _MOVES[self]

    def spans(self, requested: Iterable[Span]) -> list[Span]:
        """The jobs that the command touches if these are requested."""
        match self:
            case BulkVerb.REPROCESS:
                return reprocess_spans(requested)
            case BulkVerb.SKIP:
                return skip_spans(requested)
            case BulkVerb.RETRY:
                return spans_in(requested, JobState.FAILED)
            case BulkVerb.ACKNOWLEDGE:
                return spans_in(requested, JobState.GIVEN_UP)


_MOVES = {
    BulkVerb.REPROCESS: JobMove.START_OVER,
    BulkVerb.SKIP: JobMove.SKIP,
    BulkVerb.RETRY: JobMove.RETRY,
    BulkVerb.ACKNOWLEDGE: JobMove.ACKNOWLEDGE,
}


@dataclass(frozen=True, slots=True)
class Range:
    """Jobs of a process, from timeperiod `first` to `last`, inclusive."""

    process: str
    first: str
    last: str


@dataclass(frozen=True, slots=True)
class BulkRequest:
    """A command and the jobs that it is requested for."""

    verb: BulkVerb
    ranges: tuple[Range, ...]

    @staticmethod
    def of_range(
        deployment: Deployment, verb: BulkVerb, process: str, first: str, end: str | None = None
    ) -> BulkRequest:
        """The request for `[first, end)` of a process; see `parse_between`."""
        managed = deployment.managed().get(process)
        if managed is None:  # `Bulk` raises NotFound
            return BulkRequest(verb, (Range(process, first, first),))
        begin, stop = parse_between(managed.qualifier, first, end)
        name = managed.qualifier.timeperiod
        return BulkRequest(verb, (Range(process, name(begin), name(stop - 1)),))

    @staticmethod
    def of_jobs(
        deployment: Deployment, verb: BulkVerb, jobs: Iterable[tuple[str, str]]
    ) -> BulkRequest:
        """The request for jobs that people named by process and timeperiod."""
        managed, ranges = deployment.managed(), []
        for process, written in jobs:
            name = written
            if process in managed:  # `Bulk` raises NotFound for others
                qualifier = managed[process].qualifier
                name = qualifier.timeperiod(parse_period(qualifier, written))
            ranges.append(Range(process, name, name))
        return BulkRequest(verb, tuple(ranges))


@dataclass(frozen=True, slots=True)
class Preview:
    """The number of jobs that would be touched, by process, and the first of them."""

    counts: Mapping[str, int]
    first: Sequence[Touched]


class Bulk:
    """Previews and carries out requests; raises NotFound for unknown processes and jobs."""

    def __init__(
        self,
        store: Store,
        bus: Bus,
        deployment: Deployment,
        timetable: Callable[[], Timetable],
    ) -> None:
        """`timetable` returns the present timetable, as far as the journal says."""
        self._store = store
        self._bus = bus
        self._deployment = deployment
        self._timetable = timetable

    def plan(self, request: BulkRequest) -> int:
        """The number of jobs that would be touched."""
        return _count(self._cascade(request))

    def preview(self, request: BulkRequest, limit: int | None = None) -> Preview:
        """The jobs that would be touched: their number, and the first `limit` (None: all)."""
        spans, counts = self._cascade(request), Counter[str]()
        for place, ordinals in spans:
            counts[place.process.name] += len(ordinals)
        first = (_would_touch(node, request.verb) for node in islice(nodes_of(spans), limit))
        return Preview(counts, list(first))

    def act(self, request: BulkRequest, actor: Actor, now: datetime) -> list[Touched]:
        """Carries out all of it at once. Raises Refused if jobs keep changing meanwhile."""
        positions = range(self.requested(request))
        return self._do(request, actor, now, positions, lambda _done, _total, _touched: None)

    def requested(self, request: BulkRequest) -> int:
        return _count(self._requested(request, self._timetable()))

    def step(
        self, request: BulkRequest, actor: Actor, now: datetime, progress: Progress, after: int
    ) -> list[Touched]:
        """Carries out the next `STEP` requested jobs, after the first `after` of them.

        Raises Refused if jobs keep changing meanwhile.
        """
        return self._do(request, actor, now, range(after, after + STEP), progress)

    def _do(
        self,
        request: BulkRequest,
        actor: Actor,
        now: datetime,
        positions: range,
        progress: Progress,
    ) -> list[Touched]:
        """Carries out the requested jobs at these positions, repeated while others change them.

        An operator's command wins. The timetable is read before the batch, so that a rollback
        does not affect it. After a refusal the rows are read: a job has changed, and its journal
        entry may not be visible yet.
        """
        touched: list[Touched] = []
        for attempt in range(ATTEMPTS):
            timetable = (
                load_timetable(self._store, self._deployment, now) if attempt else self._timetable()
            )
            spans = self._requested(request, timetable)
            part = list(_part(spans, positions))
            moves = self._moves(request.verb, part, actor)
            with self._store.batch():
                made, refused = self._made(moves, actor, now)
                touched += made
                if not refused:
                    progress(positions.start + _count(part), _count(spans), len(touched))
                    return touched
        raise Refused(f"{refused} jobs keep changing; {len(touched):,} were done: try again")

    def _moves(self, verb: BulkVerb, requested: Iterable[Span], actor: Actor) -> list[JobChange]:
        return [
            move_job(
                place, at, verb.move, actor.why, actor.who, covered=self._covered(verb, place, at)
            )
            for place, at in nodes_of(verb.spans(requested))
        ]

    def _covered(self, verb: BulkVerb, place: Place, ordinal: int) -> int:
        """What a skipped job covers: all that its source holds."""
        is_skip = verb is BulkVerb.SKIP
        bounds = source_bounds(self._store, place.level, ordinal) if is_skip else None
        return 0 if bounds is None else bounds.high

    def _made(
        self, moves: Sequence[JobChange], actor: Actor, now: datetime
    ) -> tuple[list[Touched], int]:
        """Makes moves; returns the touched jobs in their order, and the number of refused moves."""
        touched: list[Touched] = []
        refused = 0
        for part in _parts(moves):
            made, not_made = make_moves(self._store, self._bus, part, actor, now)
            touched[:0] = made
            refused += len(not_made)
        return touched, refused

    def _cascade(self, request: BulkRequest) -> list[Span]:
        return request.verb.spans(self._requested(request, self._timetable()))

    def _requested(self, request: BulkRequest, timetable: Timetable) -> list[Span]:
        """The requested jobs without duplicates, always in the same order."""
        spans = (timetable.span(each.process, each.first, each.last) for each in request.ranges)
        return list(dict.fromkeys(spans))


def _count(spans: Iterable[Span]) -> int:
    return sum(len(ordinals) for _, ordinals in spans)


def _part(spans: Iterable[Span], positions: range) -> Iterator[Span]:
    """The jobs at these positions."""
    begin = 0
    for place, ordinals in spans:
        part = ordinals[max(positions.start - begin, 0) : max(positions.stop - begin, 0)]
        if part:
            yield place, part
        begin += len(ordinals)


def _parts(moves: Sequence[JobChange]) -> Iterator[Sequence[JobChange]]:
    """The moves in parts for one batch each, the end of the cascade first, as `make_moves` does."""
    for begin in range((len(moves) - 1) // BATCH * BATCH, -1, -BATCH):
        yield moves[begin : begin + BATCH]


def _would_touch(node: Node, verb: BulkVerb) -> Touched:
    place, ordinal = node
    level, state = place.level, place.level.state(ordinal)
    return Touched(
        place.process.name,
        level.timeperiod(ordinal),
        state,
        job_after(state, verb.move),
        level.generation(ordinal) + (verb is BulkVerb.REPROCESS),
    )
