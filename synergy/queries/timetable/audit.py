"""Proof that nothing is missing: every closed period of every process, accounted for.

A period is accounted for when its job is finished, soundly, or is not and there is a cause.
Unexplained is: an unfinished job that nothing holds back, a finished parent of an unfinished
child, a finished job whose source holds more than its result was made from.

Periods that failed, and those that were given up and not acknowledged, have a cause, and are bad
news all the same: they are listed, and an audit with any of them is not clean.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import TypedDict

from synergy.model.job import ACKNOWLEDGED_FLAG, STALE_FLAG, JobState
from synergy.model.journal_event import Noun
from synergy.queries.timetable.causes import Kind
from synergy.queries.timetable.coverage import uncovered
from synergy.queries.timetable.job_list import JobList
from synergy.queries.timetable.why import Why
from synergy.storage.protocol import StoreView
from synergy.timetable.level import Level, byte_class, flagged
from synergy.timetable.readiness import blockers
from synergy.timetable.timetable import Place, Timetable

JUST_CLOSED = timedelta(minutes=1)  # a scheduler needs a moment to see that a period closed
AT_WORK = timedelta(seconds=10)  # a scheduler that moved a job since then is at work on more
RECENT = 20  # entries of a process among which that move is looked for
LATE = "its source holds more than its result was made from"
SHOWN = 1000  # how many periods of each kind are listed

_FAILURES = re.compile(byte_class(JobState.FAILED, JobState.GIVEN_UP))
_ACKNOWLEDGED = re.compile(flagged(JobState.SKIPPED, ACKNOWLEDGED_FLAG))
_UNSEEN = re.compile(flagged(JobState.SKIPPED, STALE_FLAG))


@dataclass(frozen=True, slots=True)
class Unexplained:
    """A period that is not accounted for, and what is wrong with it."""

    process: str
    timeperiod: str
    state: str
    text: str


@dataclass(frozen=True, slots=True)
class Audit:
    """`accounted` are the expected periods without the unexplained ones.

    `late` of these are finished, and their source was written to since. `failures` lists, of all
    periods that have begun, those that are failed or given up; `failed` and `given_up` count them,
    `acknowledged` the periods that were given up and acknowledged, which `acknowledgements` lists,
    and `unseen` the skipped periods whose source changed since. At most `SHOWN` are listed of each.
    """

    expected: int
    accounted: int
    unfinished: int
    unexplained: tuple[Unexplained, ...]
    failed: int = 0
    given_up: int = 0
    acknowledged: int = 0
    unseen: int = 0
    late: int = 0
    failures: tuple[Unexplained, ...] = ()
    acknowledgements: tuple[Unexplained, ...] = ()

    @property
    def is_clean(self) -> bool:
        """Whether nothing is unexplained, failed, or given up and not acknowledged."""
        return not (self.unexplained or self.failed or self.given_up)


def audit(
    store: StoreView,
    timetable: Timetable,
    now: datetime,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Audit:
    """Looks at every process that is declared, from its first to its last closed period.

    `progress` is told how many processes are done, of how many.
    """
    expected = unfinished = 0
    wrong: list[Unexplained] = []
    why = Why(store, timetable, now)
    in_flight = {unit.process for unit in store.units.unfinished()}
    for done, place in enumerate(timetable.places.values()):
        progress(done, len(timetable.places))
        level, process = place.level, place.process
        closed = max(level.start, min(process.closed_before(now), level.end))
        expected += closed - level.start
        open_jobs = list(level.unfinished(level.start, closed))
        unfinished += len(open_jobs)
        if process.name not in in_flight and not why.waits_for_trigger(process):
            seen = min(process.closed_before(now - JUST_CLOSED), _reached(store, place, now))
            pending = [at for at in open_jobs if at < seen and level.state(at).is_pending]
            found = _unexplained(why, place, pending)
            wrong += _still_open(store, place, found)
        wrong += _broken_parents(place, closed)
        wrong += [
            Unexplained(
                late.process,
                late.timeperiod,
                late.state.word,
                LATE,
            )
            for late in uncovered(store, place, level.start, closed)
        ]
    periods = {(one.process, one.timeperiod) for one in wrong}
    return Audit(
        expected, expected - len(periods), unfinished, tuple(wrong[:SHOWN]),
        late=len({(one.process, one.timeperiod) for one in wrong if one.text == LATE}),
        **_failures(store, timetable, now),
    )  # fmt: skip


class _Failures(TypedDict):
    """What `Audit` says of failures."""

    failed: int
    given_up: int
    acknowledged: int
    unseen: int
    failures: tuple[Unexplained, ...]
    acknowledgements: tuple[Unexplained, ...]


def _failures(store: StoreView, timetable: Timetable, now: datetime) -> _Failures:
    jobs = JobList(store, timetable, now)

    def listed(pattern: re.Pattern[bytes]) -> tuple[Unexplained, ...]:
        return tuple(
            Unexplained(job.process, job.timeperiod, job.cause or job.state, job.reason)
            for job in jobs.read(list(islice(_places(timetable, pattern), SHOWN)))
        )

    return _Failures(
        failed=sum(place.level.counts[JobState.FAILED] for place in timetable.places.values()),
        given_up=sum(place.level.counts[JobState.GIVEN_UP] for place in timetable.places.values()),
        acknowledged=_number(timetable, _ACKNOWLEDGED),
        unseen=_number(timetable, _UNSEEN),
        failures=listed(_FAILURES),
        acknowledgements=listed(_ACKNOWLEDGED),
    )


def _places(timetable: Timetable, pattern: re.Pattern[bytes]) -> Iterator[tuple[Place, int]]:
    for place in timetable.places.values():
        for found in pattern.finditer(place.level.states):
            yield place, place.level.start + found.start()


def _number(timetable: Timetable, pattern: re.Pattern[bytes]) -> int:
    return sum(1 for _ in _places(timetable, pattern))


def _reached(store: StoreView, place: Place, now: datetime) -> int:
    """How far a scheduler that is catching up has come; the level's end if none is.

    It goes from the oldest period on, so what lies ahead of it is still to be looked at.
    """
    for entry in store.journal.find(place.process.name, RECENT):
        if entry.at < now - AT_WORK:
            break
        ordinal = place.level.find(entry.last)
        is_move = entry.noun == Noun.JOB and entry.who.startswith("scheduler")
        if is_move and ordinal is not None:
            return ordinal + 1
    return place.level.end


def _unexplained(why: Why, place: Place, ordinals: list[int]) -> list[Unexplained]:
    """Unfinished jobs that nothing holds back, of a process that has nothing in flight."""
    found = []
    for ordinal in ordinals:
        if blockers(place, ordinal, limit=1):
            continue
        cause = why.ask(place.process.name, place.level.timeperiod(ordinal))
        if cause.kind is Kind.READY:
            found.append(
                Unexplained(
                    cause.process,
                    cause.timeperiod,
                    place.level.state(ordinal).word,
                    "nothing holds it back, and nothing was requested",
                )
            )
    return found


def _still_open(store: StoreView, place: Place, found: list[Unexplained]) -> list[Unexplained]:
    """Those that were not moved while we looked at others."""
    if not found:
        return []
    now = Level(place.process, place.level.start, place.level.end)
    for run in store.jobs.load([place.process.name]):
        now.load(run)
    return [one for one in found if now.state(now.ordinal(one.timeperiod)).is_active]


def _broken_parents(place: Place, closed: int) -> list[Unexplained]:
    if place.child is None:
        return []
    level, found = place.level, []
    for ordinal in range(level.start, min(closed, level.end)):
        if level.covered(ordinal) is None:
            continue  # it is its checkpoint that is made from its children
        has_result = level.state(ordinal) in (JobState.PROCESSED, JobState.NOOP)
        if has_result and not place.child.level.all_finished(*place.children(ordinal)):
            found.append(
                Unexplained(
                    place.process.name,
                    level.timeperiod(ordinal),
                    level.state(ordinal).word,
                    "finished, but not all its children are",
                )
            )
    return found
