"""Runs in the REST API: request and response, retry, replay and cancel."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from synergy.delivery.request import failed
from tests.mx.schedules_kit import API, HOOK, NIGHTLY, ScheduleHarness


@pytest.fixture
def harness(worlds) -> Iterator[ScheduleHarness]:
    made = ScheduleHarness()
    yield made
    made.close()


def a_failed_run(harness: ScheduleHarness, **fields: object) -> str:
    """The id of a run of `hook` that failed because its receiver refused the request."""
    harness.create({**HOOK, **fields})
    harness.answer = failed("it answers 400", status=400, body=b"<b>no</b>", may_retry=False)
    run = harness.act("hook/trigger")["touched"][0]["id"]
    harness.settle()
    assert harness.get(f"/runs/{run}")["state"] == "failed"
    return str(run)


def test_a_run_shows_request_and_response_without_secrets(harness):
    run = a_failed_run(
        harness, payload='{"a": 1}', headers={"X-Api-Key": "geheim123", "X-Plain": "seen"}
    )
    answer = harness.client.get(f"/api/v1/runs/{run}")
    assert "geheim123" not in answer.text
    seen = answer.json()
    assert seen["request"]["body"] == '{"a": 1}'
    assert seen["request"]["headers"] == {"X-Api-Key": "***", "X-Plain": "seen"}
    assert [(one["status"], one["body"]) for one in seen["answers"]] == [(400, "<b>no</b>")]
    assert seen["cause"] == {"remark": "by hand, local (mx)"}


def test_a_failed_run_is_dead_until_it_is_retried(harness):
    run = a_failed_run(harness)
    assert [one["id"] for one in harness.get("/runs/dead")["items"]] == [run]
    assert harness.act(f"hook/runs/{run}/retry")["touched"][0]["id"] == run
    assert harness.get("/runs/dead")["items"] == []
    assert harness.client.post(f"{API}/hook/runs/{run}/retry", json={}).status_code == 409


def test_a_dry_run_of_retry_and_replay_launches_nothing(harness):
    run = a_failed_run(harness)
    harness.act(f"hook/runs/{run}/retry", dry_run=True)
    tried = harness.client.post("/api/v1/runs/replay", json={"dry_run": True}).json()
    assert [one["id"] for one in tried["touched"]] == [run]
    assert harness.get(f"/runs/{run}")["state"] == "failed"


def test_replay_launches_the_failed_runs_of_one_schedule(harness):
    run = a_failed_run(harness)
    harness.create(NIGHTLY)
    other = harness.client.post("/api/v1/runs/replay", json={"schedule": "nightly"}).json()
    assert other["touched"] == []
    mine = harness.client.post("/api/v1/runs/replay", json={"schedule": "hook"}).json()
    assert [one["id"] for one in mine["touched"]] == [run]
    assert harness.get(f"/runs/{run}")["state"] == "launched"


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"schedule": "unknown"}, 404),
        ({"schedule": "a b"}, 422),
        ({"schedule": 5}, 422),
        ({"all": True}, 422),
    ],
)
def test_an_invalid_replay_is_refused(harness, body, status):
    assert harness.client.post("/api/v1/runs/replay", json=body).status_code == status


def test_a_run_is_not_found_under_another_schedule(harness):
    run = a_failed_run(harness)
    harness.create(NIGHTLY)
    for action in ("retry", "cancel"):
        answer = harness.client.post(f"{API}/nightly/runs/{run}/{action}", json={})
        assert answer.status_code == 404
    assert harness.get(f"/runs/{run}")["state"] == "failed"


def test_a_launched_run_that_has_not_started_is_canceled_once(harness):
    harness.create(NIGHTLY)
    run = harness.act("nightly/trigger")["touched"][0]["id"]
    (touched,) = harness.act(f"nightly/runs/{run}/cancel", reason="not now")["touched"]
    assert touched == {"id": run, "schedule": "nightly", "state": "canceled"}
    assert harness.get(f"/runs/{run}")["reason"] == "not now"
    assert harness.client.post(f"{API}/nightly/runs/{run}/cancel", json={}).status_code == 409


def test_a_run_can_be_canceled_without_naming_its_schedule(harness):
    harness.create(NIGHTLY)
    run = harness.act("nightly/trigger")["touched"][0]["id"]
    assert harness.client.post(f"/api/v1/runs/{run}/cancel", json={}).status_code == 200
    assert harness.get("/runs?state=canceled")["items"][0]["id"] == run


def test_each_trigger_makes_a_run_and_runs_are_listed_in_pages(harness):
    harness.create(NIGHTLY)
    made = {harness.act("nightly/trigger")["touched"][0]["id"] for _ in range(3)}
    assert len(made) == 3
    first = harness.get("/runs?schedule=nightly&limit=2")
    second = harness.get(f"/schedules/nightly/runs?limit=2&cursor={first['next']}")
    assert {one["id"] for one in [*first["items"], *second["items"]]} == made
    assert second["next"] is None
    assert harness.get("/runs?state=failed")["items"] == []


def test_a_pending_run_says_what_it_waits_for(harness):
    harness.create(
        {
            "name": "partly", "process": "Report", "enabled": True,
            "trigger": {"partition": {"dataset": "orders", "n": 3}},
        }
    )  # fmt: skip
    event = {"eventType": "PARTITION", "eventResourceId": "orders", "partitions": 2}
    dated = {**event, "eventTimestamp": "2015-05-20T12:00:00Z"}
    assert harness.client.post("/api/v1/events", json=dated).status_code == 202
    harness.settle()
    (job,) = harness.get("/schedules/partly/pending")["items"]
    assert (job["state"], job["id"]) == ("pending_trigger", "")
    assert job["waits"] == ["3 new partitions of orders (2 of 3)"]


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/runs/nothing", 404),
        ("/runs?schedule=unknown", 404),
        ("/runs?state=sleeping", 422),
        ("/runs?cursor=zz", 422),
        ("/schedules/unknown/runs", 404),
        ("/schedules/unknown/pending", 404),
    ],
)
def test_unknown_runs_and_invalid_filters_are_refused(harness, path, status):
    assert harness.client.get(f"/api/v1{path}").status_code == status
