"""The facts of the timetable that the verdict needs: failed, late and waiting periods.

Counts are kept by the levels, or are counts of bytes; single states are read only for the oldest
periods of a process that is behind. The cost depends on the number of processes, not on the length
of the history.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from synergy.model.job import ACKNOWLEDGED_FLAG, STALE_FLAG, JobState, bytes_of
from synergy.model.journal import job_event
from synergy.model.journal_event import JournalEvent
from synergy.queries.health.situation import Held, Periods, ProcessPeriods
from synergy.queries.timetable import remedies
from synergy.queries.timetable.reasons import UNREADABLE
from synergy.queries.timetable.remedies import Remedy
from synergy.queries.timetable.why import Why
from synergy.storage.protocol import StoreView
from synergy.timetable.level import Level
from synergy.timetable.readiness import Blocker, blockers
from synergy.timetable.timetable import Place, Timetable

LOOKED_AT = 32  # the oldest periods of a process that is behind
DETAILED = 10  # conditions of processes that are looked up: since when, and why
RECENT = 50  # entries of a process that are searched for its last finished jobs
CATCHING_UP = timedelta(minutes=10)  # a process that finished a late period in it catches up

_PENDING = [state for state in JobState if state.is_pending]
_PENDING_BYTES = bytes_of(*_PENDING)
_DONE = (JournalEvent.JOB_PROCESSED, JournalEvent.JOB_NOOP)


class PeriodFacts:
    """The facts of one look at a timetable."""

    def __init__(self, store: StoreView, timetable: Timetable, now: datetime) -> None:
        self._store = store
        self._timetable = timetable
        self._now = now
        self._why = Why(store, timetable, now)
        self._left = DETAILED

    def all(self) -> Iterator[ProcessPeriods]:
        """The facts of each process, in the order of the timetable."""
        return map(self._of, self._timetable.places.values())

    def _of(self, place: Place) -> ProcessPeriods:
        level = place.level
        closed = _pending(level, min(place.process.closed_before(self._now), level.end))
        late, held = self._behind(place, closed) if closed else (None, None)
        return ProcessPeriods(
            process=place.process.name,
            tree=place.tree,
            closed=closed,
            late=late,
            held=held,
            failed=self._in_state(place, JobState.FAILED),
            given_up=self._in_state(place, JobState.GIVEN_UP),
            acknowledged=level.skipped_with(ACKNOWLEDGED_FLAG),
            unseen=level.skipped_with(STALE_FLAG),
            catches_up=late is not None and self._catches_up(place),
        )

    # Periods that are behind

    def _behind(self, place: Place, closed: int) -> tuple[Periods | None, Held | None]:
        """The closed periods that are late on their own, and those that wait for other jobs."""
        level, process = place.level, place.process
        end = min(process.closed_before(self._now), level.end)
        late_end = min(process.late_before(self._now), level.end)
        late = _pending(level, late_end)
        own, waiting, waiting_late = 0, [], 0
        for ordinal in self._oldest(level, end):
            behind = blockers(place, ordinal, limit=1)
            if behind:
                waiting.append((ordinal, behind[0]))
                waiting_late += ordinal < late_end
            elif ordinal < late_end:
                own = own or ordinal + 1  # the first one, plus 1
        is_rest_held = not own and len(waiting) == LOOKED_AT
        held_late = late if is_rest_held else waiting_late
        held = self._held(level, closed if is_rest_held else len(waiting), held_late, waiting)
        if not own:
            return None, held
        return self._late(place, own - 1, late - held_late), held

    def _oldest(self, level: Level, end: int) -> Iterator[int]:
        ordinal = level.first_pending(level.frontier, end)
        for _ in range(LOOKED_AT):
            if ordinal >= end:
                return
            yield ordinal
            ordinal = level.first_pending(ordinal + 1, end)

    def _late(self, place: Place, first: int, count: int) -> Periods:
        process = place.process
        since = process.closes_at(first) + timedelta(seconds=process.resubmit_after)
        name = place.level.timeperiod(first)
        if not self._may_ask():
            return Periods(count, name, name, since, "", (remedies.why(process.name, name),))
        cause = self._why.ask(process.name, name)
        leaf = next(cause.leaves())
        return Periods(count, name, name, since, leaf.text, leaf.helps)

    def _held(
        self, level: Level, count: int, late: int, waiting: list[tuple[int, Blocker]]
    ) -> Held | None:
        if not waiting:
            return None
        first, behind = waiting[0]
        root = self._root(behind)
        name = level.timeperiod(first)
        return Held(count, late, name, root.process, root.timeperiod, root.state)

    def _root(self, behind: Blocker) -> Blocker:
        """The blocker at the end of the chain: it waits for no other job."""
        for _ in self._timetable.places:
            place = self._timetable.place(behind.process)
            is_there = behind.state is not None and place.level.holds(behind.ordinal)
            is_waiting = is_there and behind.state is not JobState.FAILED
            next_one = blockers(place, behind.ordinal, limit=1) if is_waiting else []
            if not next_one:
                break
            behind = next_one[0]
        return behind

    def _catches_up(self, place: Place) -> bool:
        """Whether late periods of a process were finished recently."""
        end = place.process.late_before(self._now)
        for entry in self._store.journal.find(place.process.name, RECENT):
            if entry.at < self._now - CATCHING_UP:
                return False
            ordinal = place.level.find(entry.last) if entry.event in _DONE else None
            if ordinal is not None and ordinal < end:
                return True
        return False

    # Periods that failed

    def _in_state(self, place: Place, state: JobState) -> Periods | None:
        level, name = place.level, place.process.name
        count = level.counts[state]
        if not count:
            return None
        first, last = _ends(level, state)
        begin, end = level.timeperiod(first), level.timeperiod(last)
        if level.is_unreadable(first):
            return Periods(count, begin, end, None, UNREADABLE, (remedies.CHECK_STORE,))
        help_ = _decide(name, state, begin, level.timeperiod(last + 1) if last > first else None)
        if not self._may_ask():
            return Periods(count, begin, end, None, "", help_)
        entries = self._store.journal.of_job(name, begin, limit=20)
        entry = next((one for one in entries if one.event == job_event(state)), None)
        if entry is None:
            return Periods(count, begin, end, None, "", help_)
        return Periods(count, begin, end, entry.at, entry.why, help_)

    def _may_ask(self) -> bool:
        self._left -= 1
        return self._left >= 0


def _decide(process: str, state: JobState, first: str, end: str | None) -> tuple[Remedy, ...]:
    look = remedies.why(process, first)
    if state is JobState.FAILED:
        return (remedies.retry_jobs(process, first, end), remedies.skip(process, first), look)
    return (
        remedies.acknowledge_jobs(process, first, end),
        remedies.reprocess(process, first),
        look,
    )


def _ends(level: Level, state: JobState) -> tuple[int, int]:
    """The first and the last ordinal in a state; there must be one."""
    wanted = [bytes((byte,)) for byte in bytes_of(state)]
    firsts = [at for byte in wanted if (at := level.states.find(byte)) >= 0]
    lasts = [level.states.rfind(byte) for byte in wanted]
    return level.start + min(firsts), level.start + max(lasts)


def _pending(level: Level, end: int) -> int:
    """The number of periods before `end` that are neither finished nor failed.

    The level counts all of them; the few from `end` on are subtracted.
    """
    after = max(end - level.start, 0)
    rest = sum(level.states.count(byte, after) for byte in _PENDING_BYTES)
    return sum(level.counts[state] for state in _PENDING) - rest
