"""Reads the calendar files that schedules name: dates, one a line, or iCalendar.

A schedule is stored with the dates, so a file is read where a schedule is declared or added: the
file's machine. Of iCalendar (RFC 5545) the days of events count, and their yearly repetitions;
what would need more of the standard is refused, because a wrong calendar is not noticed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path

from synergy.errors import InvalidValue
from synergy.schedule.format.literals import calendar_date, suggestion

LAST_YEAR = 2099  # yearly events without an end repeat up to this year

_DAY = timedelta(days=1)
_PROPERTY = re.compile(r"([A-Za-z-]+)((?:;[^:;=]+=(?:\"[^\"]*\"|[^\":;])*)*):(.*)", re.ASCII)
_STAMP = re.compile(r"(\d{4})(\d\d)(\d\d)(T(\d{6})Z?)?", re.ASCII)
_DURATION = re.compile(r"P(\d{1,4})([DW])", re.ASCII)
_REFUSED = ("RDATE", "RECURRENCE-ID", "EXRULE")
_SAME = {"BYMONTH": "month", "BYMONTHDAY": "day"}


def with_dates(definition: Mapping[str, object], folder: Path) -> Mapping[str, object]:
    """A definition in whose `exclude` the dates of calendar files take the place of their names.

    Names are relative to the folder. Raises InvalidValue for a file that cannot be read.
    """
    given = definition.get("exclude")
    items = [given] if isinstance(given, str) else given
    if not isinstance(items, Sequence) or not any(map(_is_name, items)):
        return definition
    dates: list[object] = []
    for item in items:
        dates += dates_of(folder / str(item)) if _is_name(item) else [item]
    return {**definition, "exclude": dates}


def _is_name(item: object) -> bool:
    """Whether an item of `exclude` names a file: anything that is not meant as a date."""
    return isinstance(item, str) and not re.fullmatch(r"[0-9\s/.-]*", item)


def dates_of(path: Path) -> list[date]:
    """The dates in a calendar file, sorted."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        near = suggestion(path.name, [one.name for one in path.parent.glob("*.*")])
        hint = f": {near}" if near.startswith("did you mean") else ""
        raise InvalidValue(f"exclude: there is no calendar file {path}{hint}") from None
    except OSError as error:
        raise InvalidValue(f"exclude: {path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise InvalidValue(f"exclude: {path} is not UTF-8: byte {error.start}") from None
    try:
        lines = list(enumerate(text.splitlines(), 1))
        is_calendar = text.lstrip().upper().startswith("BEGIN:VCALENDAR")
        found = set(_of_calendar(lines) if is_calendar else _of_lines(lines))
    except InvalidValue as error:
        raise InvalidValue(f"exclude: {path} {error}") from None
    if not found:
        raise InvalidValue(f"exclude: there is no date in {path}")
    return sorted(found)


def _of_lines(lines: Sequence[tuple[int, str]]) -> Iterator[date]:
    for number, line in lines:
        word = re.split(r"[\s,;]", line.strip(), maxsplit=1)[0]
        if word and not word.startswith("#"):
            try:
                yield calendar_date(word)
            except InvalidValue as error:
                raise InvalidValue(f"line {number}: {error}") from None


# iCalendar


@dataclass
class _Event:
    """The properties of one VEVENT, with their lines."""

    line: int
    values: dict[str, tuple[int, str]] = field(default_factory=dict)
    without: set[date] = field(default_factory=set)

    def days(self) -> Iterator[date]:
        if self.values.get("STATUS", (0, ""))[1].upper() == "CANCELLED":
            return
        for name in _REFUSED:
            if name in self.values:
                line = self.values[name][0]
                raise InvalidValue(f"line {line}: {name} is not supported: write its dates out")
        if "DTSTART" not in self.values:
            raise InvalidValue(f"line {self.line}: the event has no DTSTART")
        start = _day(*self.values["DTSTART"])
        for first in self._repeated(start):
            if first not in self.without:
                yield from (first + number * _DAY for number in range(self._length(start)))

    def _length(self, start: date) -> int:
        """The number of days, 1 if the event has no end; DTEND is not part of it."""
        if "DURATION" in self.values:
            line, text = self.values["DURATION"]
            found = _DURATION.fullmatch(text)
            if found is None:
                raise InvalidValue(f"line {line}: expected a duration of days or weeks, not {text}")
            return int(found[1]) * (7 if found[2] == "W" else 1)
        if "DTEND" not in self.values:
            return 1
        line, text = self.values["DTEND"]
        days = (_day(line, text) - start).days
        if days < 0:
            raise InvalidValue(f"line {line}: the event ends before it begins")
        has_time = "T" in text and not text.rstrip("Zz").endswith("T000000")
        return max(1, days + has_time)

    def _repeated(self, start: date) -> Iterator[date]:
        if "RRULE" not in self.values:
            yield start
            return
        line, text = self.values["RRULE"]
        rule = dict(part.split("=", 1) for part in text.upper().split(";") if "=" in part)
        step, count = (_number(line, rule, name) for name in ("INTERVAL", "COUNT"))
        until = _day(line, rule.pop("UNTIL")) if "UNTIL" in rule else date(LAST_YEAR, 12, 31)
        for name, part in _SAME.items():
            if rule.get(name) == str(getattr(start, part)):
                del rule[name]
        rule.pop("WKST", None)
        if rule.pop("FREQ", "") != "YEARLY" or rule:
            raise InvalidValue(f"line {line}: only plain yearly repetitions are read, not {text}")
        made = 0
        for year in range(start.year, LAST_YEAR + 1, step or 1):
            try:
                day = start.replace(year=year)
            except ValueError:  # 29 February
                continue
            if day > until or made == count:
                return
            made += 1
            yield day


def _of_calendar(lines: Sequence[tuple[int, str]]) -> Iterator[date]:
    event: _Event | None = None
    depth = 0  # of components within the event, such as alarms
    for number, line in _unfolded(lines):
        found = _PROPERTY.fullmatch(line)
        if found is None:
            raise InvalidValue(f"line {number}: expected NAME:VALUE, not {line[:60]!r}")
        name, value = found[1].upper(), found[3].strip()
        kind = value.upper()
        if event is None:
            event = _Event(number) if (name, kind) == ("BEGIN", "VEVENT") else None
        elif name in ("BEGIN", "END") and kind != "VEVENT":
            depth += 1 if name == "BEGIN" else -1
        elif (name, kind) == ("END", "VEVENT"):
            yield from event.days()
            event, depth = None, 0
        elif name == "EXDATE" and not depth:
            event.without |= {_day(number, one) for one in value.split(",")}
        elif not depth:
            event.values[name] = (number, value)
    if event is not None:
        raise InvalidValue(f"line {event.line}: the event has no END:VEVENT")


def _unfolded(lines: Sequence[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """The lines that are not blank; one that begins with a space continues the one before it."""
    held: tuple[int, str] | None = None
    for number, line in lines:
        if held is not None and line[:1] in (" ", "\t"):
            held = (held[0], held[1] + line[1:])
            continue
        if held is not None:
            yield held
        held = (number, line) if line.strip() else None
    if held is not None:
        yield held


def _day(line: int, text: str) -> date:
    """The date of a DATE or DATE-TIME, as it is written."""
    found = _STAMP.fullmatch(text.upper())
    try:
        if found is not None:
            return date(int(found[1]), int(found[2]), int(found[3]))
    except ValueError:
        pass
    raise InvalidValue(f"line {line}: expected a date such as 20261225, not {text[:60]!r}")


def _number(line: int, rule: dict[str, str], name: str) -> int | None:
    text = rule.pop(name, None)
    if text is None:
        return None
    if not text.isdecimal() or not 1 <= int(text) <= LAST_YEAR:
        raise InvalidValue(f"line {line}: {name} is {text[:20]!r}: expected a whole number from 1")
    return int(text)
