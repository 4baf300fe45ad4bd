"""The setting `retention`."""

from __future__ import annotations

from datetime import timedelta

import pytest

from synergy.config.retention import retention
from synergy.errors import InvalidValue
from synergy.model.retention import DEFAULT, Retention, spelled

DAY, HOUR = timedelta(days=1), timedelta(hours=1)


@pytest.mark.parametrize("text", ["", " ", " , "])
def test_without_text_the_defaults_apply(text: str) -> None:
    assert retention(text) == DEFAULT


def test_the_retention_of_each_kind_is_set_separately() -> None:
    found = retention("journal=60d, units = 36h,answers=1h")
    assert found == Retention(journal=60 * DAY, units=36 * HOUR, answers=HOUR)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("jurnal=3d", "'jurnal': did you mean journal?"),
        ("sessions=3d", "expected one of answers, events"),
        ("journal", "'journal': expected days or hours"),
        ("journal=30", "for example journal=30d"),
        ("journal=0d", "expected days or hours, 1 to"),
        ("journal=-1d", "expected days or hours, 1 to"),
        ("journal=100000d", "expected days or hours, 1 to"),
        ("journal=1.5d", "expected days or hours, 1 to"),
        ("journal=١d", "expected days or hours, 1 to"),
        ("journal=3d, journal=4d", "journal is given twice"),
        ("journal=3d units=4d", "expected days or hours"),
    ],
)
def test_a_mistake_says_what_was_expected(text: str, reason: str) -> None:
    with pytest.raises(InvalidValue) as error:
        retention(text)
    assert reason in str(error.value)


@pytest.mark.parametrize(
    ("age", "words"),
    [(HOUR, "1 hour"), (24 * HOUR, "24 hours"), (36 * HOUR, "36 hours"), (2 * DAY, "2 days")],
)
def test_an_age_is_spelled_in_whole_days_or_hours(age: timedelta, words: str) -> None:
    assert spelled(age) == words
