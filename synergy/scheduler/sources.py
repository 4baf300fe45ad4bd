"""The bounds of the sources of jobs, as of one turn."""

from __future__ import annotations

from bisect import bisect_left
from functools import reduce

from synergy.commands.sources import source_bounds
from synergy.storage.protocol import Bounds, Store
from synergy.timetable.level import Level

_LARGEST = 4096  # the most neighbouring periods whose sources are read together

Answers = dict[int, Bounds | None]
"""The bounds of the sources of neighbouring periods, by ordinal."""


class Sources:
    """Reads the bounds of a period, and ahead those of its neighbours.

    So a long history that is considered period by period takes few calls of the store.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._answers: dict[str, Answers] = {}

    def bounds(self, level: Level, ordinal: int, ahead: int = 1) -> Bounds | None:
        """The bounds of a job's source; None if nothing was written there, or it has none stored.

        `ahead` is how many neighbours, this one included, are likely to be asked for next.
        """
        process = level.process.name
        answers = self._answers.get(process, {})
        if ordinal not in answers:
            is_next = ordinal - 1 in answers
            likely = max(ahead, 2 * len(answers) if is_next else 1)
            count = min(likely, _LARGEST, level.end - ordinal)
            answers = self._answers[process] = self._ask(level, range(ordinal, ordinal + count))
        return answers[ordinal]

    def _ask(self, level: Level, ordinals: range) -> Answers:
        source = level.process.stored_source
        if source is None or len(ordinals) == 1:
            return {at: source_bounds(self._store, level, at) for at in ordinals}
        reads = {at: level.reads(at) for at in ordinals}
        first = level.timeperiod(min(begin for spans in reads.values() for begin, _ in spans))
        last = level.timeperiod(max(end for spans in reads.values() for _, end in spans))
        found = self._store.documents.bounds_by_timeperiod(source, first, last)
        timeperiods, bounds = list(found), list(found.values())

        def within(span: tuple[int, int]) -> list[Bounds]:
            begin, end = (bisect_left(timeperiods, level.timeperiod(at)) for at in span)
            return bounds[begin:end]

        return {
            at: _joined([one for span in spans for one in within(span)])
            for at, spans in reads.items()
        }


def _joined(found: list[Bounds]) -> Bounds | None:
    if not found:
        return None
    return reduce(
        lambda a, b: Bounds(min(a.low, b.low), max(a.high, b.high), a.rows + b.rows), found
    )
