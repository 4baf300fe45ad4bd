"""Readiness: whether a job may run, whether it may finish, and what it waits for.

The three blocking types, each in one sentence:

- *normal*: a job may run at any time; only finishing waits.
- *dependencies*: it runs only when every counterpart is processed or noop; because of a skipped
  counterpart (or one that was given up), the job is skipped at once.
- *children*: it runs only when it could also finish.

A job may finish (is *finalisable*) when every counterpart in the trees depended on is
finished and every child is finished.

A period that begins under a parent that an operator skipped is skipped as well, with any blocking
type. Whether a period is closed is decided by its process (`ManagedProcess.closes_at`).
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from synergy.model.job import JobState
from synergy.model.process import Blocking
from synergy.model.value import value
from synergy.timetable.timetable import Place

_SKIPPED = (JobState.SKIPPED, JobState.GIVEN_UP)


class Relation(Enum):
    """The relation of another job to the one that waits for it."""

    CHILD = "child"
    PARENT = "parent"
    COUNTERPART = "counterpart"


@value
class Blocker:
    """A job that another job waits for; `state` is None if it lies before the timetable's start."""

    relation: Relation
    process: str
    ordinal: int
    timeperiod: str
    state: JobState | None


@value
class Readiness:
    """What a job may do; `skipped_by` is the skipped counterpart or parent that it is skipped with.

    The job is finalisable if `may_finish`.
    """

    may_run: bool
    may_finish: bool
    all_children_skipped: bool
    skipped_by: Blocker | None


def readiness(place: Place, ordinal: int) -> Readiness:
    """The readiness of a job, from the states of its children and counterparts alone."""
    finishable = _children_finished(place, ordinal) and _counterparts_finished(place, ordinal)
    blocking = place.process.blocking
    may_run = blocking is Blocking.NORMAL or finishable
    skipped_by = _skipped_parent(place, ordinal)
    if blocking is Blocking.DEPENDENCIES:
        skipped_by = next(skipped_counterparts(place, ordinal), skipped_by)
        may_run = skipped_by is None and _counterparts_finished(place, ordinal)
    all_skipped = place.child is not None and place.child.level.all_skipped(
        *place.children(ordinal)
    )
    return Readiness(may_run, finishable, all_skipped, skipped_by)


def blockers(place: Place, ordinal: int, limit: int = 10) -> list[Blocker]:
    """The unfinished children and counterparts that the job waits for, at most `limit` of each."""
    found: list[Blocker] = []
    if place.child is not None:
        first, end = place.children(ordinal)
        child = place.child
        for number, blocking in enumerate(child.level.unfinished(first, min(end, child.level.end))):
            if number == limit:
                break
            found.append(_blocker(Relation.CHILD, child, blocking))
        if end > child.level.end and len(found) < limit:
            found.append(_blocker(Relation.CHILD, child, child.level.end))
    others = (
        _blocker(Relation.COUNTERPART, other, at)
        for other, at in counterparts(place, ordinal)
        if not other.level.holds(at) or other.level.state(at).is_active
    )
    return found + [blocker for blocker, _ in zip(others, range(limit), strict=False)]


def _blocker(relation: Relation, place: Place, ordinal: int) -> Blocker:
    level = place.level
    if level.holds(ordinal):
        state: JobState | None = level.state(ordinal)
    else:
        state = None if ordinal < level.start else JobState.EMBRYO
    return Blocker(relation, place.process.name, ordinal, level.timeperiod(ordinal), state)


def _children_finished(place: Place, ordinal: int) -> bool:
    return place.child is None or place.child.level.all_finished(*place.children(ordinal))


def _counterparts_finished(place: Place, ordinal: int) -> bool:
    if not place.counterparts:
        return True
    return all(
        other.level.holds(at) and other.level.state(at).is_finished
        for other, at in counterparts(place, ordinal)
    )


def skipped_counterparts(place: Place, ordinal: int) -> Iterator[Blocker]:
    """The counterparts that are skipped, or were given up."""
    first, end = place.level.covered(ordinal) or (ordinal, ordinal + 1)
    for other in place.counterparts:
        for at in dict.fromkeys(map(other.level.checkpoint, range(first, end))):
            if other.level.holds(at) and other.level.state(at) in _SKIPPED:
                yield _blocker(Relation.COUNTERPART, other, at)


def _skipped_parent(place: Place, ordinal: int) -> Blocker | None:
    """The parent of a period that was never begun, if an operator skipped that parent."""
    if place.parent is None:
        return None
    own, parent = place.level, place.parent
    if own.state(ordinal) is not JobState.EMBRYO or own.generation(ordinal) != 1:
        return None
    at = place.parent_ordinal(ordinal)
    if not parent.level.holds(at) or not parent.level.is_held(at):
        return None
    return _blocker(Relation.PARENT, parent, at)


def counterparts(place: Place, ordinal: int) -> Iterator[tuple[Place, int]]:
    """The counterparts of the periods that the job covers, each at the checkpoint that covers it.

    The other periods of a grouped counterpart are noop long before its checkpoint has run, so only
    the state of the checkpoint shows whether their data is complete. Earlier periods that the job
    also reads (`also_reads`) are left out before the other tree's start: they hold nothing.
    """
    own, *earlier = place.level.reads(ordinal)
    for other in place.counterparts:
        for at in dict.fromkeys(map(other.level.checkpoint, range(*own))):
            yield other, at
        for span in earlier:
            for at in dict.fromkeys(map(other.level.checkpoint, range(*span))):
                if other.level.holds(at):
                    yield other, at
