"""Jobs of one process or of all, oldest first, selected by state, in pages.

They are searched in the bytes of a level, so that a state that is rare among ten years of hours is
found as quickly as a frequent one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from synergy.model.cursor import invalid_cursor
from synergy.model.job import STALE_FLAG, JobState, bytes_of
from synergy.model.switches import is_switched_on
from synergy.queries.page import Page
from synergy.queries.timetable.window import LevelReader
from synergy.queries.views import JobView, Window
from synergy.storage.protocol import StoreView
from synergy.timetable.cascade import Node
from synergy.timetable.timetable import Place, Timetable

ALWAYS = Window()


@dataclass(frozen=True, slots=True)
class Wanted:
    """A selection of jobs: of a process, in a state, of periods that overlap a window.

    None and False select all. SKIPPED does not include jobs that were given up, unless that was
    acknowledged.
    """

    process: str | None = None
    state: JobState | None = None
    window: Window = ALWAYS
    is_late: bool = False
    is_stale: bool = False

    def pattern(self) -> re.Pattern[bytes]:
        """The pattern of the stored bytes of such jobs."""
        states = [s for s in JobState if self.state in (None, s)]
        if self.is_late:
            states = [s for s in states if s.is_pending]
        some = bytes_of(*states)
        if self.is_stale:
            some = bytes(byte for byte in some if byte & STALE_FLAG)
        return re.compile(b"[%b]" % re.escape(some) if some else b"(?!)")


@dataclass(frozen=True, slots=True)
class ListedJob(JobView):
    """A job in a list of several processes; it is late if it is pending long after it closed."""

    process: str
    is_late: bool


class JobList:
    """Lists the jobs of one snapshot."""

    def __init__(self, store: StoreView, timetable: Timetable, now: datetime) -> None:
        self._store = store
        self._timetable = timetable
        self._now = now

    def page(self, wanted: Wanted, limit: int, cursor: str | None) -> Page[ListedJob]:
        """A page; raises NotFound for an unknown process, InvalidValue for an unknown cursor."""
        found = list(islice(self._find(wanted, self._after(wanted, cursor)), limit + 1))
        following = None
        if len(found) > limit:
            place, ordinal = found.pop()
            following = f"{place.process.name}.{place.level.timeperiod(ordinal)}"
        return Page(tuple(self.read(found)), following)

    def _after(self, wanted: Wanted, cursor: str | None) -> dict[Place, int]:
        """The places to search, each with the period to begin at."""
        timetable = self._timetable
        places = (
            list(timetable.places.values())
            if wanted.process is None
            else [timetable.place(wanted.process)]
        )
        begins = {place: place.level.start for place in places}
        if cursor is None:
            return begins
        name, _, timeperiod = cursor.rpartition(".")
        first = next((place for place in places if place.process.name == name), None)
        ordinal = None if first is None else first.level.find(timeperiod)
        if first is None or ordinal is None:
            raise invalid_cursor(cursor)
        return {first: ordinal, **{p: begins[p] for p in places[places.index(first) + 1 :]}}

    def _find(self, wanted: Wanted, begins: dict[Place, int]) -> Iterator[Node]:
        pattern = wanted.pattern()
        for place, begin in begins.items():
            level = place.level
            within = wanted.window.within(level)
            first, end = max(within.start, begin), within.stop
            if wanted.is_late:
                end = min(end, place.process.late_before(self._now))
            for job in pattern.finditer(
                level.states, first - level.start, max(end - level.start, 0)
            ):
                yield place, level.start + job.start()

    def read(self, found: Sequence[Node]) -> Iterator[ListedJob]:
        """These jobs in detail; `found` has those of one process in rising order."""
        controls = self._store.controls.all()
        for place in dict.fromkeys(place for place, _ in found):
            ordinals = [ordinal for at, ordinal in found if at is place]
            process = place.process
            is_on = is_switched_on(process, controls.get(process.name))
            reader = LevelReader(self._store, place, self._now, is_on=is_on)
            end = process.late_before(self._now)
            for ordinal, job in zip(ordinals, reader.jobs(ordinals), strict=True):
                is_late = ordinal < end and place.level.state(ordinal).is_pending
                fields = {name: getattr(job, name) for name in JobView.__slots__}
                yield ListedJob(**fields, process=process.name, is_late=is_late)
