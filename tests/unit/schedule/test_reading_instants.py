"""Instants, durations and one-off jobs as people write them."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from time import tzset

import pytest

from synergy.errors import InvalidValue
from synergy.schedule.format import literals
from synergy.schedule.format.read import read
from synergy.schedule.format.write import write
from tests.unit.schedule.reading_kit import ANY, NOON, job

# One-off jobs


def test_a_one_off_job_without_a_name_gets_one_from_its_content() -> None:
    first = job()
    assert first.name.startswith("once-20261122T120000Z-")
    assert len(first.name) <= 100
    assert read(write(first), ANY) == first
    assert job().name == first.name
    others = {job(payload="y").name, job(external_id="2").name, job(target="https://a.b/d").name}
    assert len(others | {first.name}) == 4
    assert job(name="mine").name == "mine"


def test_every_trigger_with_one_instant_is_a_one_off_job() -> None:
    data = {"target": "https://a.b/c", "payload": "x", "trigger": {"once": "2026-11-22T12:00Z"}}
    assert read(data, ANY) == job()


# Instants and durations


@pytest.mark.parametrize(
    "written",
    [
        "2026-11-22T12:00:00Z",
        "2026-11-22T12:00:00",
        "2026-11-22 12:00:00",
        "2026-11-22 12:00",
        "2026-11-22t12:00:00.000z",
        "2026-11-22 12:00:00.000000000 Z",
        "2026-11-22T12:00:00,0",
        "2026-11-22T13:00:00+01:00",
        "2026-11-22T04:00-0800",
        " 2026-11-22T12:00:00Z ",
        NOON,
        NOON.replace(tzinfo=None),
        NOON.astimezone(timezone(timedelta(hours=-8))),
    ],
)
def test_instants_may_be_written_in_several_forms(written: object) -> None:
    found = literals.instant(written)
    assert found == NOON
    assert found.tzinfo is UTC


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (0, "0s"), (1, "1s"), (60, "1m"), (5400, "1h30m"), (86_400, "1d"), (90_061, "1d1h1m1s"),
        (7 * 86_400, "7d"), (0.5, "0.5s"), (3600.25, "1h0.25s"),
    ],
)  # fmt: skip
def test_durations_are_described_in_units(seconds: float, told: str) -> None:
    assert literals.readable_duration(timedelta(seconds=seconds)) == told


def test_an_instant_is_rounded_up_to_a_whole_second() -> None:
    assert literals.readable_earliest(NOON) == "2026-11-22T12:00:00Z"
    assert literals.readable_earliest(NOON.replace(microsecond=1)) == "2026-11-22T12:00:01Z"
    last = NOON.replace(second=59, microsecond=999_999)
    assert literals.readable_earliest(last) == "2026-11-22T12:01:00Z"


def test_an_instant_keeps_its_microseconds() -> None:
    found = literals.instant("2026-11-22T12:00:00.1234569Z")
    assert found == NOON.replace(microsecond=123456)
    assert literals.spelled_instant(found) == "2026-11-22T12:00:00.123456Z"


def test_instants_from_1970_to_2999_are_read() -> None:
    assert literals.instant("1970-01-01") == datetime(1970, 1, 1, tzinfo=UTC)
    assert literals.instant("2999-12-31T23:59:59Z").year == 2999


def test_instants_without_an_offset_are_utc_in_any_local_zone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    tzset()
    try:
        assert literals.instant(NOON.replace(tzinfo=None)) == NOON
        assert literals.instant("2026-11-22 12:00") == NOON
    finally:
        monkeypatch.undo()
        tzset()


def test_a_date_is_the_instant_of_its_midnight_in_utc() -> None:
    midnight = datetime(2026, 11, 22, tzinfo=UTC)
    assert literals.instant("2026-11-22") == literals.instant(date(2026, 11, 22)) == midnight


@pytest.mark.parametrize(
    "written",
    [
        "", "now", "2026-11-22T", "2026-11-22T12", "2026-11-22T24:00", "2026-02-29", "20261122",
        "2026-11-22T12:00.5Z", "2026-11-22T12:00:60Z", "2026-11-22T12:00:00+25:00", 1_763_812_800,
        "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "3000-01-01", None, True,
        "２０２６-11-22",
    ],
)  # fmt: skip
def test_invalid_instants_are_refused(written: object) -> None:
    with pytest.raises(InvalidValue):
        literals.instant(written)


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        (0, 0), (1.5, 1.5), ("90", 90), ("0.25", 0.25), ("60s", 60), ("5m", 300), ("48 h", 172_800),
        ("7d", 604_800), ("3660d", 316_224_000), (316_224_000, 316_224_000),
    ],
)  # fmt: skip
def test_durations_may_be_numbers_or_texts_with_a_unit(written: object, seconds: float) -> None:
    assert literals.duration(written) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "written",
    [
        "", "m", "-5m", "1.5h", "1h30m", "5 minutes", "5M", "٣s", True, None, [5], float("nan"),
        float("inf"), -1, 316_224_000.5, "3661d", 10**400, "1e3",
    ],
)  # fmt: skip
def test_invalid_durations_are_refused(written: object) -> None:
    with pytest.raises(InvalidValue):
        literals.duration(written)


@pytest.mark.parametrize(
    ("duration", "spelled"),
    [
        (timedelta(0), "0s"),
        (timedelta(seconds=90), "90s"),
        (timedelta(minutes=90), "90m"),
        (timedelta(hours=36), "36h"),
        (timedelta(days=2), "2d"),
        (timedelta(seconds=1, microseconds=500_000), 1.5),
    ],
)
def test_durations_are_written_in_the_largest_exact_unit(
    duration: timedelta, spelled: object
) -> None:
    assert literals.spelled_duration(duration) == spelled
