"""The ages at which the store deletes its rows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """The age at which rows of each kind are deleted; `scheduler.retention` deletes them.

    The age counts for journal entries and events from when they are stored, for units, runs and
    operations from their end, for answers to idempotency keys from the request. Units are deleted
    with their logs, and those of jobs only if the job has a newer one.
    """

    journal: timedelta = timedelta(days=30)
    units: timedelta = timedelta(days=7)
    runs: timedelta = timedelta(days=30)
    events: timedelta = timedelta(days=7)
    operations: timedelta = timedelta(days=30)
    answers: timedelta = timedelta(hours=24)


DEFAULT = Retention()


def spelled(age: timedelta) -> str:
    """An age in words, in whole hours: `30 days`, or `36 hours` if it is not whole days."""
    hours = age // timedelta(hours=1)
    days, rest = divmod(hours, 24)
    number, unit = (hours, "hour") if rest or days < 2 else (days, "day")
    return f"{number} {unit}{'' if number == 1 else 's'}"
