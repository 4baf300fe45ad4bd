"""Creates the units that a batch of decisions requests; `apply` publishes their messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from synergy.lifecycle.decision import Request
from synergy.model.unit_of_work import UnitOfWork, UnitState, unit_id
from synergy.scheduler.job_decision import JobDecision
from synergy.storage.protocol import Units


def create_units(
    units: Units, requests: Sequence[tuple[JobDecision, Request]], author: str, now: datetime
) -> list[UnitOfWork]:
    """The units of the requests, as stored; if a key is taken, the unit that serves the request."""
    new = [_unit(decided, request, now) for decided, request in requests]
    stored = units.create(new, author) if new else []
    for at, (unit, (decided, _)) in enumerate(zip(new, requests, strict=True)):
        if stored[at].state.is_finished:
            has_source = decided.state.process.stored_source is not None
            stored[at] = _replacement(units, unit, stored[at], author, has_source=has_source)
    return stored


def _replacement(
    units: Units, wanted: UnitOfWork, found: UnitOfWork, author: str, *, has_source: bool
) -> UnitOfWork:
    """The unit that serves a request whose key belongs to a finished unit.

    Finished units stay finished. If the job's newest unit was given up, the job is retried and
    needs a unit under a new key, even if an older one was processed.
    """
    newest = units.newest(wanted.process, wanted.timeperiod, 1)[0]
    if newest.state is not UnitState.CANCELED:
        return newest if found.state is UnitState.CANCELED else found
    again = _successor(units, wanted, has_source=has_source)
    (stored,) = units.create([again], author)
    if not stored.state.is_finished:
        return stored
    return _replacement(units, again, stored, author, has_source=has_source)


def _successor(units: Units, unit: UnitOfWork, *, has_source: bool) -> UnitOfWork:
    """The same unit under the next free key.

    Without a stored source the upper bound rises by 1. With one, the lower bound falls by 1: it may
    lie below the lowest write number.
    """
    known = [
        one
        for one in units.of_jobs(unit.process, unit.timeperiod, unit.timeperiod)
        if one.generation == unit.generation
    ]
    start_id, end_id = unit.start_id, unit.end_id
    if has_source:
        start_id = min(one.start_id for one in known if one.end_id == end_id) - 1
    else:
        end_id = max(one.end_id for one in known) + 1
    key = (unit.process, unit.timeperiod, unit.generation, start_id, end_id)
    return replace(unit, id=unit_id(*key), start_id=start_id, end_id=end_id)


def _unit(decided: JobDecision, request: Request, now: datetime) -> UnitOfWork:
    level, ordinal = decided.state.level, decided.ordinal
    process, timeperiod = decided.state.process.name, level.timeperiod(ordinal)
    generation = level.generation(ordinal)
    first, end = level.covered(ordinal) or (ordinal, ordinal + 1)
    return UnitOfWork(
        unit_id(process, timeperiod, generation, request.start_id, request.end_id),
        process,
        timeperiod,
        generation,
        level.timeperiod(first),
        level.timeperiod(end),
        request.start_id,
        request.end_id,
        now,
    )
