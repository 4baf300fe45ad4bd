"""Lists of units, runs, events and the journal can be limited to a range of time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode

import pytest

from synergy.mx.pages import journal as journal_page
from tests.contract.scheduled import a_run, an_event
from tests.factories import a_unit, an_entry
from tests.mx.timetable_kit import hours_days_and_client, started

NOW = datetime(2026, 10, 25, 20, 0, tzinfo=UTC)  # Berlin has left summer time this morning
MIDNIGHT, EVENING = NOW.replace(hour=0), NOW - timedelta(days=1)
LISTS = ["units", "runs", "events", "journal"]
TIMES = [MIDNIGHT - timedelta(hours=9), EVENING, MIDNIGHT + timedelta(hours=5), NOW]


@pytest.fixture
def world(worlds):
    """One row of each list at each of the times, and a few of the start before them."""
    world = started(worlds(hours_days_and_client(), now=NOW))
    store = world.store
    for number, at in enumerate(TIMES, 1):
        store.units.create([a_unit("Hour", created_at=at, end_id=number)], "")
        store.runs.create([a_run(f"{number}", created_at=at)], "")
        store.events.append([an_event(f"{number}", at=at)])
        store.journal.append([an_entry("gc.run", at=at)])
    world.clock.advance(60)
    return world


def found(client, name, **query):
    """The times of the rows that a list shows."""
    event = {"event": "gc"} if name == "journal" else {}
    answer = client.read(f"{name}?{urlencode({**query, **event})}")
    at = "at" if name in ("events", "journal") else "created_at"
    return [datetime.fromisoformat(one[at]) for one in answer["items"]], answer["next"]


@pytest.mark.parametrize("name", LISTS)
def test_a_list_is_limited_to_a_range_of_time(client, name):
    _, evening, morning, _ = TIMES
    night = {"from": "last night", "zone": "Europe/Berlin"}  # 16:00 to 05:00 UTC
    assert found(client, name, **night) == ([evening], None)
    assert found(client, name, **{"from": "last night"}) == ([morning, evening], None)
    one = {"from": "2026-10-25T05:00", "to": "2026-10-25T05:00:00.000001Z"}
    assert found(client, name, **one) == ([morning], None)
    assert found(client, name, to="2026-10-25T00:00+02:00") == ([evening, TIMES[0]], None)


@pytest.mark.parametrize("name", LISTS)
def test_the_pages_of_a_range_follow_one_another(client, name):
    query = {"from": "2026-10-24T16:00", "to": "2026-10-25T12:00"}
    first, cursor = found(client, name, limit=1, **query)
    second, end = found(client, name, limit=1, cursor=cursor, **query)
    assert (first + second, end) == ([TIMES[2], TIMES[1]], None)


@pytest.mark.parametrize("name", ["units", "runs", "runs?state=dead", "events", "journal"])
def test_pages_take_the_same_times(client, name):
    text = client.page(f"/{name}{'&' if '?' in name else '?'}from=last+night&zone=Europe/Berlin")
    assert 'value="last night"' in text
    assert 'value="Europe/Berlin"' in text
    if name in ("units", "events"):
        assert [f"{at:%Y-%m-%dT%H:%M:%S}" in text for at in TIMES] == [False, True, False, False]


def test_the_links_of_a_page_keep_the_times(client, monkeypatch):
    monkeypatch.setattr(journal_page, "PAGE", 1)
    text = client.page("/journal?event=gc&from=2026-10-24T15:00&to=2026-10-25T12:00&zone=UTC")
    assert "from=2026-10-24T15%3A00&amp;to=2026-10-25T12%3A00&amp;zone=UTC&amp;cursor=" in text


@pytest.mark.parametrize("name", [*LISTS, "runs/dead"])
@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("from=soon", "from: expected an instant"),
        ("to=soon", "last night"),
        ("from=2026-10-25&to=2026-10-24", "is empty"),
        ("zone=Europe/Berln", "did you mean Europe/Berlin?"),
        ("from=" + "x" * 65, ""),
    ],
)
def test_what_is_no_time_is_refused_with_what_is(client, name, query, reason):
    assert reason in client.get(f"/api/v1/{name}?{query}").json()["detail"]
    client.read(f"{name}?{query}", 422)
