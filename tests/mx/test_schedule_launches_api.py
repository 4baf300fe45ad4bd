"""Runs by hand by REST: with values of their own, and for due times of the past."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.mx.schedules_kit import API, HOOK, NIGHTLY, ScheduleHarness

RANGE = {"from": "2015-05-17", "to": "2015-05-20T12:00:00Z"}


@pytest.fixture
def harness(worlds) -> Iterator[ScheduleHarness]:
    made = ScheduleHarness()
    made.create(NIGHTLY, enabled=True)
    made.create(HOOK)
    yield made
    made.close()


def test_a_run_by_hand_may_have_values_of_its_own(harness):
    (run,) = harness.act("nightly/trigger", arguments={"n": 2}, reason="look")["touched"]
    shown = harness.get(f"/runs/{run['id']}")
    assert shown["request"] == {"process": "Report", "arguments": {"n": 2}}
    assert "with arguments of its own" in shown["cause"]["remark"]
    (run,) = harness.act("hook/trigger", payload={"day": "${todaysDate}"})["touched"]
    assert harness.get(f"/runs/{run['id']}")["request"]["body"] == '{"day": "2015-05-20"}'


def test_values_that_do_not_fit_the_program_are_refused(harness):
    for path, body in (("nightly", {"payload": "x"}), ("hook", {"arguments": {"a": 1}})):
        answer = harness.client.post(f"{API}/{path}/trigger", json=body)
        assert answer.status_code == 422
        assert {mistake["where"] for mistake in answer.json()["errors"]} == {
            f"body.{name}" for name in body
        }


def test_past_due_times_are_backfilled_once(harness):
    planned = harness.act("nightly/backfill", **RANGE, dry_run=True)
    assert [(one["run"], one["is_new"]) for one in planned["touched"]] == [(None, True)] * 4
    done = harness.act("nightly/backfill", **RANGE, reason="the disk was full")
    assert done["count"] == 4
    assert [one["due_at"] for one in done["touched"]] == [
        f"2015-05-{day}T00:00:00Z" for day in (17, 18, 19, 20)
    ]
    again = harness.act("nightly/backfill", **RANGE)
    assert [one["run"] for one in again["touched"]] == [one["run"] for one in done["touched"]]
    assert not any(one["is_new"] for one in again["touched"])
    assert len(harness.get("/schedules/nightly/runs")["items"]) == 4


def test_a_backfill_with_an_idempotency_key_is_answered_once(harness):
    headers = {"Idempotency-Key": "backfill-1"}
    answers = [
        harness.client.post(f"{API}/nightly/backfill", json=RANGE, headers=headers).json()
        for _ in range(2)
    ]
    assert answers[0] == answers[1]
    assert answers[0]["touched"][0]["is_new"]


@pytest.mark.parametrize(
    ("name", "body", "status"),
    [
        ("nightly", {"from": "2015-05-17"}, 422),
        ("nightly", {"from": "soon", "to": "2015-05-20"}, 422),
        ("nightly", {"from": "2015-05-20", "to": "2015-05-17"}, 422),
        ("nightly", {"from": "2015-05-20", "to": "2015-05-27"}, 422),
        ("hook", RANGE, 409),
        ("nobody", RANGE, 404),
    ],
)
def test_a_backfill_that_is_not_possible_is_refused(harness, name, body, status):
    answer = harness.client.post(f"{API}/{name}/backfill", json=body)
    assert answer.status_code == status, answer.text
    assert answer.json()["detail"]


def test_a_schedule_explains_itself(harness):
    why = harness.get("/schedules/hook/why")
    assert (why["is_enabled"], why["next_due"], why["events"]) == (False, None, [])
    disabled, no_agent = why["causes"]
    assert disabled["kind"] == "disabled"
    assert disabled["helps"][0]["path"] == "/api/v1/schedules/hook/enable"
    assert no_agent["kind"] == "no_agent"
    assert harness.client.get(f"{API}/nobody/why").status_code == 404


def test_schedules_are_listed_by_program(harness):
    for program, names in (("Report", ["nightly"]), ("https://receiver.example", ["hook"])):
        found = harness.client.get(API, params={"program": program}).json()
        assert [one["name"] for one in found["items"]] == names
