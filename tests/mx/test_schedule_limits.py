"""End, number, dates and overlap of schedules by REST, and on their page."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.mx.schedules_kit import API, NIGHTLY, ScheduleHarness

LIMITS = {
    "end": "2015-06-30T00:00:00Z",
    "max_runs": 3,
    "jitter": "5m",
    "exclude": ["2015-05-25"],
    "overlap": "skip",
    "pause_after_failures": 2,
}
WORDS = (
    "at 02:00 every day, Europe/Berlin, up to 5m later, except on 2015-05-25, until "
    "2015-06-30T00:00:00Z, at most 3 runs, skipped during a run, disabled after 2 failures in a "
    "row: runs Report"
)


@pytest.fixture
def harness(worlds) -> Iterator[ScheduleHarness]:
    made = ScheduleHarness()
    yield made
    made.close()


def test_limits_are_stored_replaced_and_shown(harness):
    harness.create({**NIGHTLY, **LIMITS})
    seen = harness.get("/schedules/nightly")
    assert {name: seen["definition"][name] for name in LIMITS} == LIMITS
    assert seen["words"] == WORDS
    assert "at most 3 runs, skipped during a run" in harness.client.get("/schedules/nightly").text
    answer = harness.client.put(f"{API}/nightly", json={**NIGHTLY, "overlap": "allow"})
    assert answer.status_code == 200
    assert harness.get("/schedules/nightly")["definition"]["overlap"] == "allow"


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("overlap", "foo", "expected one of allow"),
        ("max_runs", 0, "expected a whole number, 1 to 1,000,000"),
        ("end", "2015-05-01T00:00:00Z", "is past"),
        ("exclude", "holidays.ics", "a calendar file is read by"),
        ("jitter", "13h", "expected at most half of the time between two runs, 12h"),
        ("pause_after_failures", "3", "expected a whole number"),
        ("coalesce", 1, "expected true or false"),
    ],
)
def test_each_mistake_is_named(harness, field, value, words):
    answer = harness.client.post(API, json={**NIGHTLY, field: value})
    assert answer.status_code == 422
    (mistake,) = answer.json()["errors"]
    assert mistake["where"].startswith(f"body.{field}")
    assert words in mistake["detail"]
    assert harness.get("/schedules")["items"] == []
