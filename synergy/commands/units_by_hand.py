"""Units of work that a person carries out, beside those that a scheduler requests."""

from __future__ import annotations

from datetime import datetime

from synergy.errors import InvalidValue
from synergy.model.process import ManagedProcess
from synergy.model.unit_of_work import UnitOfWork, unit_id
from synergy.timeperiod import checkpoint, covered


def unit_of_period(
    process: ManagedProcess,
    ordinal: int,
    now: datetime,
    generation: int = 1,
    ids: tuple[int, int] = (0, 0),
) -> UnitOfWork:
    """The unit of a period, as a scheduler would request it; it is not stored.

    `ids` are the bounds of the source. Raises InvalidValue for a period that has no unit, because
    a later one covers it.
    """
    name = process.qualifier.timeperiod
    span = covered(process.qualifier, ordinal, process.time_grouping)
    if span is None:
        later = name(checkpoint(process.qualifier, ordinal, process.time_grouping))
        raise InvalidValue(f"{name(ordinal)} has no work of its own: {later} covers it")
    key = (process.name, name(ordinal), generation, *ids)
    return UnitOfWork(unit_id(*key), *key[:3], name(span[0]), name(span[1]), *ids, now)
