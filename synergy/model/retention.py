"""The ages at which the store deletes its rows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """The age at which rows of each kind are deleted; `scheduler.retention` deletes them.

    The age of journal entries and events begins when they are stored, of units, runs and
    operations when they end, of answers to idempotency keys with the request. Units are deleted
    with their logs, and only if a newer one of their job superseded them.
    """

    journal: timedelta = timedelta(days=30)
    units: timedelta = timedelta(days=7)
    runs: timedelta = timedelta(days=30)
    events: timedelta = timedelta(days=7)
    operations: timedelta = timedelta(days=30)
    answers: timedelta = timedelta(hours=24)


DEFAULT = Retention()


def spelled(age: timedelta) -> str:
    """A duration in words: `30 days`, or `36 hours` where it is no whole number of days."""
    hours = age // timedelta(hours=1)
    days, rest = divmod(hours, 24)
    number, unit = (hours, "hour") if rest or days < 2 else (days, "day")
    return f"{number} {unit}{'' if number == 1 else 's'}"
