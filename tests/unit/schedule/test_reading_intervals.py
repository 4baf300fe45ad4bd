"""`interval` and `calendar_interval`: their forms, and the mistakes that are reported."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, time, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synergy.schedule.check_context import InvalidDefinition, Known
from synergy.schedule.definition import AllOf, AnyOf, Definition, Times, WorkerProgram
from synergy.schedule.format.read import read, warnings
from synergy.schedule.format.summary import summarize
from synergy.schedule.format.write import write
from synergy.schedule.interval import CalendarInterval, Interval

DAY = timedelta(days=1)
NAMES = st.sampled_from(["nightly", "s"])
DATES = st.dates(date(1970, 1, 1), date(2999, 12, 31))
INSTANTS = st.builds(
    lambda day, seconds: datetime.combine(day, time(), UTC) + timedelta(seconds=seconds),
    DATES,
    st.integers(0, 86_399),
)


def read_back(trigger: object, name: str = "s") -> Definition:
    return read({"name": name, "process": "W", "trigger": trigger}, Known())


def only(definition: Definition) -> object:
    assert isinstance(definition.trigger, Times)
    return definition.trigger.trigger


@st.composite
def triggers(draw: st.DrawFn, seed: str) -> Times:
    if draw(st.booleans()):
        start = draw(INSTANTS)
        end = draw(st.none() | INSTANTS.filter(lambda end: end >= start))
        length = timedelta(seconds=draw(st.integers(1, 3660 * 86_400)))
        jitter = timedelta(seconds=draw(st.integers(0, int(length.total_seconds() // 2))))
        return Times(Interval(length=length, start=start, end=end, jitter=jitter, seed=seed))
    first = draw(DATES)
    months = draw(st.integers(0, 120))
    days = 0 if months else draw(st.integers(1, 3660))
    most = months * 14 * DAY + days * DAY / 2
    trigger = CalendarInterval(
        months=months,
        days=days,
        at=time(draw(st.integers(0, 23)), draw(st.integers(0, 59))),
        start=first,
        end=draw(st.none() | DATES.filter(lambda end: end >= first)),
        is_last_day=bool(months) and draw(st.booleans()),
        jitter=timedelta(seconds=draw(st.integers(0, int(most.total_seconds())))),
        seed=seed,
    )
    return Times(trigger)


@given(st.data(), NAMES)
def test_a_written_definition_is_read_back_equal(data: st.DataObject, name: str) -> None:
    legs = tuple(data.draw(st.lists(triggers(name), min_size=1, max_size=3)))
    trigger = legs[0] if len(legs) == 1 else AllOf((AnyOf(legs), legs[0]))
    definition = Definition(name=name, program=WorkerProgram("W"), trigger=trigger)
    stored = json.loads(json.dumps(write(definition)))
    assert stored == write(definition)
    assert read(stored, Known()) == definition
    assert summarize(definition)


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ({"interval": {"days": 14, "start": "2026-01-05 08:00"}},
         {"interval": {"weeks": 2, "start": "2026-01-05T08:00:00Z"}}),
        ({"interval": {"hours": 1, "minutes": 30, "start": date(2026, 1, 5), "jitter": 60}},
         {"interval": {"minutes": 90, "start": "2026-01-05T00:00:00Z", "jitter": "1m"}}),
        ({"calendar_interval": {"years": 1, "months": 6, "start": date(2026, 1, 5)}},
         {"calendar_interval": {"months": 18, "start": "2026-01-05", "time": "00:00"}}),
        ({"calendar_interval": {"months": 3, "day": "last", "time": "6:00",
                                "start": "2026-01-31", "end": "2027-01-31", "jitter": "0s"}},
         {"calendar_interval": {"months": 3, "day": "last", "time": "06:00",
                                "start": "2026-01-31", "end": "2027-01-31"}}),
    ],
)  # fmt: skip
def test_intervals_have_a_canonical_form(written: object, canonical: object) -> None:
    assert write(read_back(written))["trigger"] == canonical


def test_jitter_is_derived_from_the_name_of_the_schedule() -> None:
    written = {"interval": {"hours": 1, "start": "2026-01-01", "jitter": "5m"}}
    mine, theirs = only(read_back(written, "mine")), only(read_back(written, "theirs"))
    assert isinstance(mine, Interval)
    assert mine.seed == "mine"
    assert mine != theirs
    called = {"schedule_name": "mine", "process": "W", "trigger": written}
    assert only(read(called, Known())) == mine


START = {"start": "2026-01-31"}


@pytest.mark.parametrize(
    ("kind", "fields", "mistake"),
    [
        ("interval", {"weeks": 2}, "start is missing"),
        ("interval", START, "the length is missing: expected weeks, days, hours, minutes or"),
        ("interval", {"hours": 87_841, **START}, "hours: expected a whole number, 1 to 87,840"),
        ("interval", {"days": 3660, "hours": 1, **START}, "the interval is more than ten years"),
        ("interval", {"weeks": 0, **START}, "weeks: expected a whole number, 1 to 522"),
        ("interval", {"months": 1, "weeks": 1, **START}, "unknown field months"),
        ("interval", {"weeks": 1, "start": "2026-01-31T00:00:00.5Z"},
         "start: expected whole seconds, not '2026-01-31T00:00:00.5Z'"),
        ("interval", {"weeks": 1, "end": "2026-01-30", **START}, "end: it is before the start"),
        ("interval", {"hours": 1, "jitter": 1801, **START},
         "jitter: expected at most half of the interval, 30m"),
        ("interval", {"hours": 1, "jitter": 0.5, **START},
         "jitter: expected whole seconds, not the number 0.5"),
        ("interval", "2w", "expected a mapping such as {weeks: 2, start: 2026-01-05T08:00:00Z}"),
        ("calendar_interval", {"months": 3}, "start is missing"),
        ("calendar_interval", START,
         "the interval is missing: expected years, months, weeks or days"),
        ("calendar_interval", {"months": 1, "days": 1, **START},
         "expected years and months, or weeks and days, not both"),
        ("calendar_interval", {"years": 10, "months": 1, **START},
         "the interval is more than ten years"),
        ("calendar_interval", {"days": 1, "hours": 1, **START}, "unknown field hours"),
        ("calendar_interval", {"months": 1, "start": "2026-01-31T06:00"},
         "start: expected a date such as '2026-11-22', not '2026-01-31T06:00'"),
        ("calendar_interval", {"months": 1, "start": "2026-02-30"},
         "start: there is no such date as '2026-02-30'"),
        ("calendar_interval", {"months": 1, "start": "3026-02-01"},
         "start: expected a year from 1970 to 2999, not 3026"),
        ("calendar_interval", {"months": 1, "time": 360, **START},
         "time: expected a time such as '22:00' in quotes, not the number 360, as which"),
        ("calendar_interval", {"months": 1, "day": 31, **START},
         "day: expected last, not the number 31: any other day is that of the start"),
        ("calendar_interval", {"weeks": 1, "day": "last", **START},
         "day: the last day is one of a month: expected years or months"),
        ("calendar_interval", {"days": 1, "jitter": "13h", **START},
         "jitter: expected at most half of the interval, 12h"),
    ],
)  # fmt: skip
def test_a_mistake_names_its_place(kind: str, fields: object, mistake: str) -> None:
    with pytest.raises(InvalidDefinition) as error:
        read_back({kind: fields})
    (found,) = error.value.mistakes
    assert found.startswith(f"trigger: {kind}: {mistake}")


@pytest.mark.parametrize(
    ("fields", "is_warned"),
    [
        ({"months": 1, "start": "2026-01-31"}, True),
        ({"years": 1, "start": "2024-02-29"}, True),
        ({"months": 1, "start": "2026-01-31", "day": "last"}, False),
        ({"months": 1, "start": "2026-01-28"}, False),
        ({"months": 12, "start": "2026-01-31"}, False),
        ({"months": 6, "start": "2026-01-31"}, False),
        ({"days": 1, "start": "2026-01-31"}, False),
    ],
)
def test_months_without_the_day_cause_a_warning(fields: object, is_warned: bool) -> None:
    found = warnings(read_back({"calendar_interval": fields}))
    assert [text.startswith("trigger: months without a day") for text in found] == [
        True
    ] * is_warned
