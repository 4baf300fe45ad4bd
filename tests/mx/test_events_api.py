"""Events by REST: accepted and refused events, and their effects."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from synergy.names import DECIDED_EVENT
from tests.mx.schedules_kit import ScheduleHarness

EVENTS = "/api/v1/events"
GOOD = {"eventType": "FILE", "eventTimestamp": "2015-05-20T11:59:00Z", "eventResourceId": "/d/x"}


@pytest.fixture
def harness(worlds) -> Iterator[ScheduleHarness]:
    made = ScheduleHarness()
    yield made
    made.close()


def test_an_accepted_event_is_listed(harness):
    answer = harness.client.post(EVENTS, json={**GOOD, "id": "load-1"})
    assert answer.status_code == 202
    told = answer.json()
    assert (told["is_new"], told["schedules"], told["touched"]) == (True, [], [])
    (event,) = harness.get("/events")["items"]
    assert event == told["event"]
    assert (event["id"], event["type"], event["resource"]) == ("load-1", "FILE", "/d/x")
    assert event["timestamp"] == "2015-05-20T11:59:00Z"
    assert event["who"] == "local (mx)"


def test_an_event_with_a_known_id_is_ignored(harness):
    harness.client.post(EVENTS, json={**GOOD, "id": "load-1"})
    again = harness.client.post(EVENTS, json={**GOOD, "id": "load-1", "eventResourceId": "/other"})
    assert again.status_code == 202
    assert again.json()["is_new"] is False
    assert [event["resource"] for event in harness.get("/events")["items"]] == ["/d/x"]


def test_a_dry_run_stores_no_event(harness):
    answer = harness.client.post(EVENTS, json={**GOOD, "dry_run": True})
    assert (answer.status_code, answer.json()["dry_run"]) == (202, True)
    assert harness.get("/events")["items"] == []


def test_an_event_names_its_schedules_and_runs(harness):
    harness.create(
        {
            "name": "after", "process": "Report", "enabled": True,
            "trigger": {"event": {"type": "FILE", "resource": "/d", "life": "1h"}},
        }
    )  # fmt: skip
    harness.world.store.facts.set(DECIDED_EVENT, "1")  # as if an agent had processed the event
    first = harness.client.post(EVENTS, json={**GOOD, "id": "load-1"}).json()
    assert (first["schedules"], first["touched"]) == (["after"], [])
    harness.world.store.facts.set(DECIDED_EVENT, "0")
    harness.settle()
    again = harness.client.post(EVENTS, json={**GOOD, "id": "load-1"}).json()
    assert [(run["schedule"], run["state"]) for run in again["touched"]] == [("after", "launched")]


def without(field: str) -> dict[str, object]:
    return {name: value for name, value in GOOD.items() if name != field}


WRONG = [
    (without("eventType"), "eventType"),
    (without("eventTimestamp"), "eventTimestamp"),
    (without("eventResourceId"), "eventResourceId"),
    ({**GOOD, "eventType": "FOLDER"}, "eventType"),
    ({**GOOD, "eventType": None}, "eventType"),
    ({**GOOD, "eventTimestamp": 1432123140}, "eventTimestamp"),
    ({**GOOD, "eventTimestamp": "2015-05-20"}, "eventTimestamp"),
    ({**GOOD, "eventTimestamp": "2015-02-30T00:00:00Z"}, "eventTimestamp"),
    ({**GOOD, "eventTimestamp": "2015-05-20T23:59:00Z"}, "eventTimestamp"),  # ahead of the clock
    ({**GOOD, "eventResourceId": ""}, "eventResourceId"),
    ({**GOOD, "eventResourceId": "a\nb"}, "eventResourceId"),
    ({**GOOD, "eventResourceId": "x" * 2049}, "eventResourceId"),
    ({**GOOD, "partitions": 0}, "partitions"),
    ({**GOOD, "partitions": True}, "partitions"),
    ({**GOOD, "id": 5}, "id"),
    ({**GOOD, "eventBody": {}}, "eventBody"),
]


@pytest.mark.parametrize(("body", "field"), WRONG)
def test_a_missing_or_malformed_field_is_named(harness, body, field):
    answer = harness.client.post(EVENTS, json=body)
    assert answer.status_code == 422
    assert {mistake["where"] for mistake in answer.json()["errors"]} == {f"body.{field}"}
    assert harness.get("/events")["items"] == []
