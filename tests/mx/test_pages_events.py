"""The page of events: the runs that each caused, filters, and the form."""

from __future__ import annotations

import re

import pytest

from synergy.mx.pages import events as events_page
from synergy.queries import page as queries_page
from tests.mx.pages_kit import pager, rows
from tests.mx.schedules_kit import ScheduleHarness

FILES = {"type": "FILE", "resourceId": "/data/a", "lifeDuration": 3600}


@pytest.fixture
def harness():
    made = ScheduleHarness()
    yield made
    made.close()


def publish(harness, *events):
    """Publishes events given as (type, resource)."""
    for type_, resource in events:
        body = {"eventType": type_, "eventTimestamp": "2015-05-20T11:00:00Z"}
        harness.client.act("events", {**body, "eventResourceId": resource}, 202)


def test_events_name_the_runs_they_caused(harness):
    harness.create({"name": "files", "process": "Report", "dependencies": [FILES]}, enabled=True)
    harness.settle()
    publish(harness, ("FILE", "/data/a"), ("FILE", "/data/b"))
    assert "No agent has processed" in harness.client.page("/events")
    harness.settle()
    text = harness.client.page("/events")
    second, first = rows(text)
    assert first[1:4] == ["FILE", "/data/a", "2015-05-20 11:00:00"]
    assert first[4].startswith("files ")
    assert re.search(r'href="/runs/[0-9a-f]+">files<', text)
    assert (second[2], second[4]) == ("/data/b", "no run")
    assert "No agent has processed" not in text


def test_the_pages_of_a_filtered_list_keep_the_filter(harness, monkeypatch):
    monkeypatch.setattr(events_page, "PAGE", 2)
    for n in range(5):
        publish(harness, ("FILE", f"/data/A{n}"), ("FILE", "/other"), ("TABLE", f"data/a{n}"))
    first = harness.client.page("/events?type=FILE&q=data/a")
    second = harness.client.page(pager(first)["Older"])
    third = harness.client.page(pager(second)["Older"])
    resources = [[row[2] for row in rows(text)] for text in (first, second, third)]
    assert resources == [["/data/A4", "/data/A3"], ["/data/A2", "/data/A1"], ["/data/A0"]]
    assert pager(third) == {"Newest": "/events?type=FILE&q=data%2Fa"}


def test_a_search_that_stops_early_leads_on(harness, monkeypatch):
    monkeypatch.setattr(queries_page, "SEARCHED", 2)
    monkeypatch.setattr(queries_page, "STEP", 1)
    publish(harness, ("TABLE", "t"), *[("FILE", "/f")] * 3)
    text = harness.client.page("/events?type=TABLE")
    assert "Older events may match" in text
    assert [row[2] for row in rows(harness.client.page(pager(text)["Older"]))] == ["t"]


def test_only_operators_have_the_form(secured):
    form = 'data-api="/api/v1/events"'
    assert form in secured.logged_in("otto").page("/events")
    assert form not in secured.logged_in("vera").page("/events")


def test_an_empty_list_says_how_to_publish_an_event(client):
    assert "POST /api/v1/events" in client.page("/events")
    assert "No events" in client.page("/events?q=x")
