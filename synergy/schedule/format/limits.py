"""Reads what limits the runs of a schedule beside its trigger, such as its end and its jitter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta

from synergy.errors import InvalidValue
from synergy.program import PROGRAM
from synergy.schedule.definition import AllOf, AnyOf, Elapsed, Overlap, Times, Trigger, leaves
from synergy.schedule.due import shortest_spacing
from synergy.schedule.format import literals
from synergy.schedule.format.field_reader import NO_TIME, FieldReader
from synergy.schedule.format.literals import shown
from synergy.schedule.interval import Jitter, own_jitter

MOST_RUNS = 1_000_000
MOST_FAILURES = 100
MOST_DATES = 2_000

_NO_DATES = "expected a trigger with cron, every, at, interval or calendar_interval"
_NO_SPACING = f"{_NO_DATES}, or elapsed"


def read_end(fields: FieldReader, start: datetime | None) -> datetime | None:
    """The last instant at which the schedule may be due."""
    end = fields.literal("end", literals.instant)
    if end is not None and start is not None and end < start:
        fields.mistake("end", f"{shown(fields.get('end'))} is before from")
    return end


def read_most(fields: FieldReader, name: str, most: int) -> int | None:
    """A number from 1 to `most`; None if it is missing."""
    return fields.integer(name, 0, 1, most) or None


def read_overlap(fields: FieldReader) -> Overlap | None:
    """What becomes of a run during a run; None if the definition does not say."""
    return fields.choice("overlap", Overlap.ALLOW) if fields.has("overlap") else None


def read_exclude(fields: FieldReader, trigger: Trigger | None) -> tuple[date, ...]:
    """The dates on which due times are skipped, sorted."""
    value = fields.get("exclude")
    if value is None:
        return ()
    if isinstance(value, str | date):
        value = [value]
    location = fields.location.at("exclude")
    if not isinstance(value, Sequence):
        location.mistake(f"expected a list of dates, not {shown(value)}")
        return ()
    if len(value) > MOST_DATES:
        location.mistake(f"{len(value):,} dates: the most is {MOST_DATES:,}")
        return ()
    if trigger is not None and not _times_of(trigger):
        location.mistake(_NO_DATES)
    dates = set()
    for number, item in enumerate(value, 1):
        try:
            dates.add(literals.calendar_date(item))
        except InvalidValue as error:
            location.item(number).mistake(_with_hint(str(error), item))
    return tuple(sorted(dates))


def _with_hint(mistake: str, item: object) -> str:
    is_file = isinstance(item, str) and item.lower().endswith((".ics", ".txt"))
    where = f"; a calendar file is read by `{PROGRAM} schedule add` and context.py only"
    return mistake + where * is_file


def read_jitter(fields: FieldReader, trigger: Trigger | None) -> timedelta:
    """The jitter: at most half of the time between two due times, so that they keep their order."""
    jitter = fields.duration("jitter", NO_TIME, least=NO_TIME)
    if not jitter or trigger is None:
        return jitter
    times = [leaf.trigger for leaf in _times_of(trigger)]
    spacings = [leaf.duration for _, leaf in leaves(trigger) if isinstance(leaf, Elapsed)]
    has_none = not times and not spacings
    spacings += [found for one in times if (found := shortest_spacing(one)) is not None]
    half = min(spacings, default=2 * jitter) / 2
    if has_none:
        fields.mistake("jitter", _NO_SPACING)
    elif jitter.microseconds:
        fields.mistake("jitter", f"expected whole seconds, not {shown(fields.get('jitter'))}")
    elif any(own_jitter(one) for one in times):
        fields.mistake("jitter", "the interval has a jitter of its own: expected one of them")
    elif jitter > half:
        most = literals.readable_duration(half)
        fields.mistake("jitter", f"expected at most half of the time between two runs, {most}")
    return jitter


def delayed(trigger: Trigger, jitter: Jitter) -> Trigger:
    """The trigger, with its due times delayed."""
    if isinstance(trigger, AllOf | AnyOf):
        return replace(trigger, legs=tuple(delayed(leg, jitter) for leg in trigger.legs))
    return Times(trigger.trigger, jitter) if isinstance(trigger, Times) else trigger


def _times_of(trigger: Trigger) -> list[Times]:
    return [leaf for _, leaf in leaves(trigger) if isinstance(leaf, Times)]
