"""Ended periods from the journal; the neighbouring periods of one entry are one value."""

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
    """Neighbouring periods of a process that ended alike: entry `seq` of the journal.

    `first` to `last` are their ordinals. A year of periods costs no more than one period, until the
    occurrence of each is needed.
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
        """The occurrence without the fields that differ between the periods."""
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
        """The end of one of the periods, as triggers see it."""
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
        """The `Occurrence.number` of one of the periods."""
        return f"j{self.seq}.{ordinal - self.first}"

    def spelled(self, ordinals: Range) -> str:
        """The timeperiods of a range: one, or the first and the last."""
        first, last = map(self.qualifier.timeperiod, ordinals)
        return first if first == last else f"{first} to {last}"


def without(ordinals: Range, some: Iterable[int]) -> list[Range]:
    """The ranges that remain without some of the ordinals, which are given in order."""
    begin, last = ordinals
    rest = []
    for ordinal in some:
        if begin < ordinal:
            rest.append((begin, ordinal - 1))
        begin = ordinal + 1
    return [*rest, (begin, last)] if begin <= last else rest


def joined(ranges: Iterable[Range]) -> list[Range]:
    """The same ordinals in as few ranges as possible, in order."""
    found: list[Range] = []
    for first, last in sorted(ranges):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    return found
