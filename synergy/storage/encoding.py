"""How values lie in every engine: instants as microseconds, what has no fixed shape as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import orjson

from synergy.errors import InvalidValue

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def micros(instant: datetime) -> int:
    """An instant as it is stored."""
    return (instant - _EPOCH) // _MICROSECOND


def micros_or_none(instant: datetime | None) -> int | None:
    """The same for one that may be missing."""
    return None if instant is None else micros(instant)


def instant(stored: int) -> datetime:
    """The instant that `micros` stored."""
    return _EPOCH + timedelta(microseconds=stored)


def instant_or_none(stored: int | None) -> datetime | None:
    """The same for one that may be missing."""
    return None if stored is None else instant(stored)


def json(value: Mapping[str, object], what: str) -> bytes:
    """A part of a row as it is stored; raises InvalidValue for what JSON cannot hold."""
    try:
        return orjson.dumps(value)
    except TypeError as error:
        raise InvalidValue(f"{what} cannot be stored: {error}") from error
