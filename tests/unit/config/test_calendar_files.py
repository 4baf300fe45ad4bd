"""Calendar files of `exclude`: dates one a line, and iCalendar."""

from __future__ import annotations

from datetime import date

import pytest

from synergy.config.calendar_files import dates_of, with_dates
from synergy.errors import InvalidValue

CHRISTMAS, NEXT_DAY = date(2026, 12, 25), date(2026, 12, 26)


@pytest.fixture
def file(tmp_path):
    return tmp_path / "holidays.ics"


def event(*lines: str) -> str:
    return "\r\n".join(
        [
            "BEGIN:VCALENDAR",
            "VERSION:2.0",
            "BEGIN:VEVENT",
            *lines,
            "END:VEVENT",
            "END:VCALENDAR",
            "",
        ]
    )


def test_one_date_a_line(file):
    file.write_text("\ufeff# ours\n\n2026-12-26\n2026-12-25 Christmas\n 2026-12-25; again\n")
    assert dates_of(file) == [CHRISTMAS, NEXT_DAY]


@pytest.mark.parametrize(
    ("lines", "days"),
    [
        (["DTSTART;VALUE=DATE:20261225", "DTEND;VALUE=DATE:20261226"], [CHRISTMAS]),
        (["DTSTART;VALUE=DATE:20261225"], [CHRISTMAS]),
        (["DTSTART;VALUE=DATE:20261225", "DTEND;VALUE=DATE:20261227"], [CHRISTMAS, NEXT_DAY]),
        (["DTSTART;VALUE=DATE:20261225", "DURATION:P2D"], [CHRISTMAS, NEXT_DAY]),
        (["DTSTART;VALUE=DATE:20261225", "STATUS:CONFIRMED"], [CHRISTMAS]),
        (
            ['DTSTART;TZID="Europe/Berlin":20261225T220000', "DTEND:20261226T010000"],
            [CHRISTMAS, NEXT_DAY],
        ),
        (["DTSTART:20261225T000000Z", "DTEND:20261226T000000Z"], [CHRISTMAS]),
        (["DTSTART;VALUE=DA", " TE:20261225", "SUMMARY:Christmas: a", "\tday"], [CHRISTMAS]),
        (["DTSTART:20261225", "BEGIN:VALARM", "DTSTART:20270101", "END:VALARM"], [CHRISTMAS]),
        (["DTSTART:20251225", "RRULE:FREQ=YEARLY;COUNT=2"], [date(2025, 12, 25), CHRISTMAS]),
        (
            ["DTSTART:20241225", "RRULE:FREQ=YEARLY;INTERVAL=2;COUNT=2;BYMONTH=12;BYMONTHDAY=25"],
            [date(2024, 12, 25), CHRISTMAS],
        ),
        (
            ["DTSTART:20251225", "RRULE:FREQ=YEARLY;UNTIL=20261225T000000Z", "EXDATE:20251225"],
            [CHRISTMAS],
        ),
        (["DTSTART:20240229", "RRULE:FREQ=YEARLY;COUNT=2"], [date(2024, 2, 29), date(2028, 2, 29)]),
    ],
)
def test_the_days_of_an_event(file, lines, days):
    file.write_text(event(*lines))
    assert dates_of(file) == days


def test_yearly_events_without_an_end_and_canceled_ones(file):
    cancelled = event("DTSTART:20200101", "STATUS:CANCELLED")
    file.write_text(event("DTSTART:20261225", "RRULE:FREQ=YEARLY") + cancelled)
    found = dates_of(file)
    assert (found[0], found[-1], len(found)) == (CHRISTMAS, date(2099, 12, 25), 74)


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        (
            "2026-12-25\n25.12.2026\n",
            "line 2: expected a date such as '2026-11-22', not '25.12.2026'",
        ),
        ("2026-02-30\n", "line 1: there is no such date as '2026-02-30'"),
        (
            event("DTSTART:20261225", "RRULE:FREQ=WEEKLY"),
            "line 5: only plain yearly repetitions are read, not FREQ=WEEKLY",
        ),
        (
            event("DTSTART:20261225", "RRULE:FREQ=YEARLY;BYDAY=4TH"),
            "line 5: only plain yearly repetitions are read, not FREQ=YEARLY;BYDAY=4TH",
        ),
        (
            event("DTSTART:20261225", "RDATE:20261226"),
            "line 5: RDATE is not supported: write its dates out",
        ),
        (event("DTSTART:20261325"), "line 4: expected a date such as 20261225, not '20261325'"),
        (event("SUMMARY:x"), "line 3: the event has no DTSTART"),
        (event("DTSTART:20261225", "DTEND:20261224"), "line 5: the event ends before it begins"),
        (
            event("DTSTART:20261225", "DURATION:PT1H"),
            "line 5: expected a duration of days or weeks, not PT1H",
        ),
        (event("DTSTART 20261225"), "line 4: expected NAME:VALUE, not 'DTSTART 20261225'"),
        (
            "BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART:20261225\n",
            "line 2: the event has no END:VEVENT",
        ),
    ],
)
def test_what_is_not_understood_is_refused_with_its_line(file, text, mistake):
    file.write_text(text)
    with pytest.raises(InvalidValue) as found:
        dates_of(file)
    assert str(found.value) == f"exclude: {file} {mistake}"


def test_a_file_without_dates_and_a_missing_file_are_mistakes(file):
    file.write_text("# none\n")
    with pytest.raises(InvalidValue, match="there is no date in "):
        dates_of(file)
    with pytest.raises(
        InvalidValue, match=r"no calendar file .*holiday.ics: did you mean holidays.ics\?"
    ):
        dates_of(file.with_name("holiday.ics"))
    file.write_bytes(b"2026-12-25 \xff")
    with pytest.raises(InvalidValue, match="is not UTF-8: byte 11"):
        dates_of(file)


def test_names_are_replaced_by_dates_and_dates_are_kept(file):
    file.write_text("2026-12-25\n")
    for given in (file.name, [file.name]):
        assert with_dates({"exclude": given}, file.parent) == {"exclude": [CHRISTMAS]}
    mixed = with_dates({"exclude": ["2027-01-01", file.name], "name": "s"}, file.parent)
    assert mixed == {"exclude": ["2027-01-01", CHRISTMAS], "name": "s"}
    for kept in ({}, {"exclude": "2027-01-01"}, {"exclude": ["2027-01-01"]}, {"exclude": 5}):
        assert with_dates(kept, file.parent) is kept
