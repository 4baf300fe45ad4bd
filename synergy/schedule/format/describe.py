"""Describes triggers in plain words, so that users can check a definition."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise, product
from zoneinfo import ZoneInfo

from synergy.schedule.cron.days import FromEnd, LastWeekday, NearestWorkday, NthWeekday, Special
from synergy.schedule.cron.field_parser import Field
from synergy.schedule.cron.line import Cron
from synergy.schedule.format.literals import readable_duration, spelled_instant
from synergy.schedule.interval import CalendarInterval, Interval, TimeTrigger
from synergy.schedule.trigger import At, Every

_WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_WEEK = (1, 2, 3, 4, 5, 6, 0)  # in the usual order of speech
_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July", "August"),
    *("September", "October", "November", "December"),
)
_NTH = ("", "first", "second", "third", "fourth", "fifth")
_YEARS = range(1970, 2100)
_UNITS = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))
_MOST_TIMES = 6  # times of day that are listed; more are described as a pattern


def describe(trigger: TimeTrigger, zone: ZoneInfo) -> str:
    """Words such as "at 02:30 on Monday to Friday, Europe/Berlin" or "every 5 minutes"."""
    match trigger:
        case Every():
            size, unit = next(pair for pair in _UNITS if trigger.seconds % pair[0] == 0)
            return _every(trigger.seconds // size, unit)
        case At():
            return f"{_at(trigger)}, {zone.key}"
        case Cron():
            return f"{_cron(trigger)}, {zone.key}"
        case Interval():
            start, end = (
                spelled_instant(trigger.start),
                trigger.end and spelled_instant(trigger.end),
            )
            return f"{_interval(trigger)}{_bounds(start, end)}{_jitter(trigger)}"
        case CalendarInterval():
            day = " on the last day" if trigger.is_last_day else ""
            words = f"at {trigger.at:%H:%M}{day} {_interval(trigger)}"
            return f"{words}{_bounds(trigger.start, trigger.end)}{_jitter(trigger)}, {zone.key}"


def _interval(trigger: Interval | CalendarInterval) -> str:
    count, unit = trigger.count_and_unit
    return _every(count, unit.removesuffix("s"))


def _bounds(start: object, end: object) -> str:
    return f" from {start} to {end}" if end else f" from {start}"


def _jitter(trigger: Interval | CalendarInterval) -> str:
    return f", up to {readable_duration(trigger.jitter)} later" if trigger.jitter else ""


def _at(trigger: At) -> str:
    """The times of day, grouped by their days."""
    weekdays: dict[str, set[int]] = {}
    for time in trigger.times:
        days = set(_WEEK) if time.weekday < 0 else {(time.weekday + 1) % 7}
        weekdays.setdefault(_clock(time.hour, time.minute), set()).update(days)
    clocks: dict[str, list[str]] = {}
    for clock, days in sorted(weekdays.items()):
        clocks.setdefault(_on_weekdays(days), []).append(clock)
    return _listed(f"at {_listed(times)} {days}" for days, times in clocks.items())


def _on_weekdays(days: set[int]) -> str:
    return "every day" if len(days) == 7 else f"on {_listed(_weekday_names(days))}"


def _cron(cron: Cron) -> str:
    times, days = _times(cron), _days(cron)
    if not days.startswith("on ") and times.startswith("at ") and ":" in times:
        days = f"every day {days}".rstrip()
    year = "" if cron.year is None else f"in {_listed(_spans(_numbers(cron.year), _YEARS, str))}"
    return " ".join(words for words in (times, days, year) if words)


def _times(cron: Cron) -> str:
    seconds, minutes, hours = map(_numbers, (cron.second, cron.minute, cron.hour))
    if len(seconds) * len(minutes) * len(hours) <= _MOST_TIMES:
        return f"at {_listed(_clock(*time) for time in product(hours, minutes, seconds))}"
    if seconds != [0]:
        return _by_second(seconds, minutes, hours)
    if minutes == [0]:
        return _on_the_hour(hours)
    words = _pattern(minutes, 60, "minute")
    if words.startswith("every"):
        return words + _from_hours(hours)
    return f"{words}{_from_hours(hours) or ' of every hour'}"


def _by_second(seconds: list[int], minutes: list[int], hours: list[int]) -> str:
    words = _pattern(seconds, 60, "second")
    if len(minutes) < 60:
        words += f" of {_at_numbers(minutes, 60, 'minute').removeprefix('at ')}"
    elif not words.startswith("every"):
        words += " of every minute"
    return words + _from_hours(hours)


def _on_the_hour(hours: list[int]) -> str:
    words = _pattern(hours, 24, "hour")
    if words.startswith("every"):
        return words
    spans = _spans(hours, range(24), _clock)
    return f"every hour from {_listed(spans)}" if len(spans) == 1 else f"at {_listed(spans)}"


def _from_hours(hours: list[int]) -> str:
    """The hours as spans of the clock; "" for all of them."""
    if len(hours) == 24:
        return ""
    spans: list[list[int]] = []
    for hour in hours:
        if spans and spans[-1][1] == hour - 1:
            spans[-1][1] = hour
        else:
            spans.append([hour, hour])
    return " from " + _listed(f"{low:02}:00 to {high:02}:59" for low, high in spans)


def _pattern(numbers: list[int], size: int, unit: str) -> str:
    """Words such as "every minute", "every 5 minutes", "at minute 7", "at minutes 7 and 20"."""
    step = size // len(numbers)
    if numbers == list(range(0, size, step)) and len(numbers) > 1:
        return _every(step, unit)
    return _at_numbers(numbers, size, unit)


def _at_numbers(numbers: list[int], size: int, unit: str) -> str:
    plural = "s" if len(numbers) > 1 else ""
    return f"at {unit}{plural} {_listed(_spans(numbers, range(size), str))}"


def _days(cron: Cron) -> str:
    numbers = _numbers(cron.month)
    names = _listed(_spans(numbers, range(1, 13), lambda month: _MONTHS[month - 1]))
    months = names if len(numbers) < 12 else ""
    # "the 1st of June", but "Monday in June": that says nothing about which Monday
    is_of = cron.weekday.numbers.bit_count() in (0, 7)
    of = f" of {months if months and is_of else 'the month'}"
    by_day, by_weekday = _by_day(cron.day, of), _by_weekday(cron.weekday, of)
    link = " or on " if cron.is_either else " if that is "
    words = link.join(words for words in (by_day, by_weekday) if words)
    in_months = f"in {months}" if months and not (words and is_of) else ""
    return " ".join(part for part in (f"on {words}" if words else "", in_months) if part)


def _by_day(field: Field, of: str) -> str:
    numbers = _numbers(field)
    if len(numbers) == 31:
        return ""
    steps = {later - number for number, later in pairwise(numbers)}
    if len(numbers) > 3 and len(steps) == 1 and steps != {1}:
        low, high = _ordinal(numbers[0]), _ordinal(numbers[-1])
        names = [f"every {_ordinal(steps.pop())} day from the {low} to the {high}"]
    else:
        names = _spans(numbers, range(1, 32), lambda day: f"the {_ordinal(day)}")
    return _listed([*names, *map(_special, field.specials)]) + of


def _by_weekday(field: Field, of: str) -> str:
    numbers = set(_numbers(field))
    if len(numbers) == 7:
        return ""
    return _listed([*_weekday_names(numbers), *(_special(each) + of for each in field.specials)])


def _weekday_names(days: set[int]) -> list[str]:
    return _spans([day for day in _WEEK if day in days], _WEEK, lambda day: _WEEKDAYS[day])


def _special(special: Special) -> str:
    match special:
        case FromEnd(0, is_workday):
            return "the last workday" if is_workday else "the last day"
        case FromEnd(back, is_workday):
            day = f"the {_ordinal(back)} day before the last"
            return f"the workday nearest {day}" if is_workday else day
        case NearestWorkday(target):
            return f"the workday nearest the {_ordinal(target)}"
        case LastWeekday(weekday):
            return f"the last {_WEEKDAYS[weekday]}"
        case NthWeekday(weekday, nth):
            return f"the {_NTH[nth]} {_WEEKDAYS[weekday]}"


def _numbers(field: Field) -> list[int]:
    return [number for number in range(field.numbers.bit_length()) if field.numbers >> number & 1]


def _spans(numbers: list[int], order: Sequence[int], name: Callable[[int], str]) -> list[str]:
    """Names of `numbers`, three or more in a row as "a to b"; both follow `order`."""
    places = [order.index(number) for number in numbers]
    rows: list[list[int]] = []
    for place in places:
        if rows and rows[-1][-1] == place - 1:
            rows[-1].append(place)
        else:
            rows.append([place])
    words: list[str] = []
    for row in rows:
        names = [name(order[place]) for place in row]
        words += [f"{names[0]} to {names[-1]}"] if len(names) > 2 else names
    return words


def _every(count: int, unit: str) -> str:
    return f"every {unit}" if count == 1 else f"every {count} {unit}s"


def _listed(words: Iterable[str]) -> str:
    *firsts, last = words
    return f"{', '.join(firsts)} and {last}" if firsts else last


def _ordinal(number: int) -> str:
    ends = {1: "st", 2: "nd", 3: "rd"}
    return f"{number}{'th' if number in (11, 12, 13) else ends.get(number % 10, 'th')}"


def _clock(hour: int, minute: int = 0, second: int = 0) -> str:
    return f"{hour:02}:{minute:02}" + (f":{second:02}" if second else "")
