"""Periods that ended, as the journal tells of them: neighbours in one entry stay one value."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from synergy.schedule.progress.state import Occurrence
from synergy.timeperiod import Qualifier
from synergy.timeperiod.grouping import covered

Range = tuple[int, int]
"""The ordinals of neighbouring periods, both ends included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """Neighbouring periods of a process that ended alike, by entry `seq` of the journal.

    `first` to `last` are their ordinals. A year of them costs what one costs, for as long as
    nobody asks for the occurrence of each.
    """

    seq: int
    at: datetime
    process: str
    qualifier: Qualifier
    grouping: int
    status: str
    generation: int
    first: int
    last: int

    @property
    def nameless(self) -> Occurrence:
        """What is the same in the ends of all of them."""
        return Occurrence(
            stream="journal",
            seq=self.seq,
            id="",
            key=f"timetable|{self.process}",
            type="timetable",
            resource=self.process,
            at=self.at,
            process=self.process,
            status=self.status,
            generation=self.generation,
        )

    def occurrence(self, ordinal: int) -> Occurrence:
        """The end of one of them, as triggers see it."""
        qualifier = self.qualifier
        timeperiod = qualifier.timeperiod(ordinal)
        begin, end = covered(qualifier, ordinal, self.grouping) or (ordinal, ordinal + 1)
        return replace(
            self.nameless,
            part=ordinal - self.first,
            id=f"{self.process}/{timeperiod}/{self.generation}",
            timeperiod=timeperiod,
            start=qualifier.timeperiod(begin),
            end=qualifier.timeperiod(end),
        )

    def number(self, ordinal: int) -> str:
        """The number of one of them, as `Occurrence.number`."""
        return f"j{self.seq}.{ordinal - self.first}"

    def spelled(self, ordinals: Range) -> str:
        """The timeperiods of some of them: one, or the first and the last."""
        first, last = map(self.qualifier.timeperiod, ordinals)
        return first if first == last else f"{first} to {last}"


def without(ordinals: Range, some: Iterable[int]) -> list[Range]:
    """What is left of a range without some of its ordinals, which come in order."""
    begin, last = ordinals
    left = []
    for ordinal in some:
        if begin < ordinal:
            left.append((begin, ordinal - 1))
        begin = ordinal + 1
    return [*left, (begin, last)] if begin <= last else left


def joined(ranges: Iterable[Range]) -> list[Range]:
    """The same ordinals in as few ranges as there can be, in order."""
    found: list[Range] = []
    for first, last in sorted(ranges):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    return found
