"""The audit: whether every closed period of every process is accounted for.

A period is accounted for if its job is finished and consistent, or has a known cause for being
unfinished. Unexplained are: an unfinished job that nothing holds back, a finished parent of an
unfinished child, a finished job whose source has rows that its result does not cover.

Failed periods, and given-up ones that were not acknowledged, have a cause, but are listed, and an
audit with any of them is not clean.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice

from synergy.model.job import ACKNOWLEDGED_FLAG, STALE_FLAG, JobState
from synergy.model.journal_event import Noun
from synergy.queries.timetable.causes import Kind
from synergy.queries.timetable.coverage import uncovered
from synergy.queries.timetable.job_list import JobList
from synergy.queries.timetable.reasons import UNREADABLE
from synergy.queries.timetable.why import Why
from synergy.storage.protocol import StoreView
from synergy.timetable.level import Level, byte_class, flagged
from synergy.timetable.readiness import blockers
from synergy.timetable.timetable import Place, Timetable

JUST_CLOSED = timedelta(minutes=1)  # a scheduler needs a moment to see that a period closed
AT_WORK = timedelta(seconds=10)  # how long after a move the scheduler may be working on others
RECENT = 20  # entries of a process that are searched for that move
LATE = "its source holds more than its result was made from"
SHOWN = 1000  # periods of each kind that are listed

_FAILURES = re.compile(byte_class(JobState.FAILED, JobState.GIVEN_UP))
_ACKNOWLEDGED = re.compile(flagged(JobState.SKIPPED, ACKNOWLEDGED_FLAG))


@dataclass(frozen=True, slots=True)
class Unexplained:
    """A period that is not accounted for, and what is wrong with it."""

    process: str
    timeperiod: str
    state: str
    text: str


@dataclass(frozen=True, slots=True)
class Audit:
    """The result of an audit; `accounted` are the expected periods without the unexplained ones.

    `late` counts unexplained periods that are finished, but whose source was written to since.
    `failures` lists the failed and given-up ones of all begun periods, which `failed` and
    `given_up` count. `acknowledgements` lists those given up and acknowledged, which `acknowledged`
    counts. `unseen` counts skipped periods whose source changed since. Lists have at most `SHOWN`.
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
    """Audits every process of the timetable, from its first to its last closed period.

    `progress` is called with the number of processes done, and of all.
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
            wrong += _held_by_nothing(store, why, place, open_jobs, now)
        wrong += [*_unreadable(level, closed), *_broken_parents(place, closed)]
        wrong += [
            Unexplained(late.process, late.timeperiod, late.state.word, LATE)
            for late in uncovered(store, place, level.start, closed)
        ]
    found = Audit(
        expected=expected,
        accounted=expected - _periods(wrong),
        unfinished=unfinished,
        unexplained=tuple(wrong[:SHOWN]),
        late=_periods(one for one in wrong if one.text == LATE),
    )
    return _with_failures(found, store, timetable, now)


def _periods(found: Iterable[Unexplained]) -> int:
    return len({(one.process, one.timeperiod) for one in found})


def _with_failures(found: Audit, store: StoreView, timetable: Timetable, now: datetime) -> Audit:
    jobs = JobList(store, timetable, now)
    levels = [place.level for place in timetable.places.values()]

    def listed(pattern: re.Pattern[bytes]) -> tuple[Unexplained, ...]:
        return tuple(
            Unexplained(job.process, job.timeperiod, job.cause or job.state, job.reason)
            for job in jobs.read(list(islice(_places(timetable, pattern), SHOWN)))
        )

    return replace(
        found,
        failed=sum(level.counts[JobState.FAILED] for level in levels),
        given_up=sum(level.counts[JobState.GIVEN_UP] for level in levels),
        acknowledged=sum(level.skipped_with(ACKNOWLEDGED_FLAG) for level in levels),
        unseen=sum(level.skipped_with(STALE_FLAG) for level in levels),
        failures=listed(_FAILURES),
        acknowledgements=listed(_ACKNOWLEDGED),
    )


def _places(timetable: Timetable, pattern: re.Pattern[bytes]) -> Iterator[tuple[Place, int]]:
    for place in timetable.places.values():
        for found in pattern.finditer(place.level.states):
            yield place, place.level.start + found.start()


def _considered(store: StoreView, place: Place, now: datetime) -> int:
    """The period after the last one that a scheduler moved a moment ago; else the level's end.

    A scheduler that is catching up goes from the oldest period on, so it has still to consider the
    later ones.
    """
    for entry in store.journal.find(place.process.name, RECENT):
        if entry.at < now - AT_WORK:
            break
        ordinal = place.level.find(entry.last)
        is_move = entry.noun == Noun.JOB and entry.who.startswith("scheduler")
        if is_move and ordinal is not None:
            return ordinal + 1
    return place.level.end


def _held_by_nothing(
    store: StoreView, why: Why, place: Place, open_jobs: Iterable[int], now: datetime
) -> list[Unexplained]:
    """The open jobs that nothing holds back, of a process that has nothing in flight."""
    considered = min(place.process.closed_before(now - JUST_CLOSED), _considered(store, place, now))
    found = []
    for ordinal in open_jobs:
        is_pending = ordinal < considered and place.level.state(ordinal).is_pending
        if not is_pending or blockers(place, ordinal, limit=1):
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
    return _still_open(store, place, found)


def _still_open(store: StoreView, place: Place, found: list[Unexplained]) -> list[Unexplained]:
    """Those of the jobs that were not moved since the audit began."""
    if not found:
        return []
    now = Level(place.process, place.level.start, place.level.end)
    for span in store.jobs.load([place.process.name]):
        now.load(span)
    return [one for one in found if now.state(now.ordinal(one.timeperiod)).is_active]


def _unreadable(level: Level, closed: int) -> Iterator[Unexplained]:
    for at in level.unreadable():
        if at < closed:
            state = level.state(at).word
            yield Unexplained(level.process.name, level.timeperiod(at), state, UNREADABLE)


def _broken_parents(place: Place, closed: int) -> list[Unexplained]:
    if place.child is None:
        return []
    level, found = place.level, []
    for ordinal in range(level.start, min(closed, level.end)):
        if level.covered(ordinal) is None:
            continue  # its children belong to its checkpoint
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
