"""Instants as every engine stores them: microseconds since 1970."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def micros(instant: datetime) -> int:
    """The stored form of an instant."""
    return (instant - _EPOCH) // _MICROSECOND


def micros_or_none(instant: datetime | None) -> int | None:
    """The stored form of an instant that may be missing."""
    return None if instant is None else (instant - _EPOCH) // _MICROSECOND


def instant(stored: int) -> datetime:
    """The instant that `micros` stored."""
    return _EPOCH + timedelta(microseconds=stored)
