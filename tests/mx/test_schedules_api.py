"""Schedules by REST: changes, errors with their fields, hidden secrets and previews."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from synergy.model.schedule import ScheduleChange
from tests.mx.schedules_kit import API, HOOK, NIGHTLY, ScheduleHarness


@pytest.fixture
def harness(worlds) -> Iterator[ScheduleHarness]:
    made = ScheduleHarness()
    yield made
    made.close()


def names(harness: ScheduleHarness, query: str = "") -> list[str]:
    return [one["name"] for one in harness.get(f"/schedules{query}")["items"]]


def fields(answer) -> set[str]:
    """The fields that an error names."""
    assert answer.status_code == 422, answer.text
    return {mistake["where"] for mistake in answer.json()["errors"]}


# Creating


def test_a_created_schedule_is_disabled_and_described(harness):
    answer = harness.client.post(API, json={**NIGHTLY, "reason": "because"})
    assert answer.status_code == 201
    assert answer.headers["location"] == "/api/v1/schedules/nightly"
    assert answer.json()["touched"] == [
        {"name": "nightly", "version": 1, "is_enabled": False, "next_due": None, "warnings": []}
    ]
    seen = harness.get("/schedules/nightly")
    assert seen["words"] == "at 02:00 every day, Europe/Berlin: runs Report"
    assert seen["definition"] == {
        "name": "nightly", "process": "Report", "trigger": "cron 0 2 * * *",
        "zone": "Europe/Berlin",
    }  # fmt: skip
    assert [version["who"] for version in seen["versions"]] == ["local (mx)"]


def test_an_enabled_schedule_has_a_due_time(harness):
    # 2015-05-20 12:00:07 UTC is 14:00:07 in Berlin; 02:00 there is midnight UTC in summer
    (touched,) = harness.create(NIGHTLY, enabled=True)["touched"]
    assert (touched["is_enabled"], touched["next_due"]) == (True, "2015-05-21T00:00:00Z")


def test_a_dry_run_stores_nothing(harness):
    answer = harness.client.post(API, json={**NIGHTLY, "dry_run": True})
    assert answer.status_code == 200
    assert "location" not in answer.headers
    assert answer.json()["dry_run"] is True
    assert names(harness) == []


def test_a_name_that_is_taken_is_refused(harness):
    harness.create(NIGHTLY)
    answer = harness.client.post(API, json={**NIGHTLY, "cron": "0 3 * * *"})
    assert answer.status_code == 409
    assert harness.get("/schedules/nightly")["definition"]["trigger"] == "cron 0 2 * * *"


def test_a_one_off_job_without_a_name_is_made_once(harness):
    job = {"process": "Report", "when": "2015-05-21T08:00:00Z"}
    first = harness.client.post(API, json=job)
    again = harness.client.post(API, json=job)
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.headers["location"] == again.headers["location"]
    assert len(names(harness)) == 1


WRONG = [
    ({**NIGHTLY, "name": "a b"}, {"body.name"}),
    ({**NIGHTLY, "name": 5}, {"body.name"}),
    ({**NIGHTLY, "name": "x" * 101}, {"body.name"}),
    ({**NIGHTLY, "name": "<script>"}, {"body.name"}),
    ({**NIGHTLY, "cron": 5}, {"body.cron"}),
    ({**NIGHTLY, "cron": "0 2 * *"}, {"body.cron"}),
    ({**NIGHTLY, "zone": "Berlin/Europe"}, {"body.zone"}),
    ({**NIGHTLY, "process": "Reports"}, {"body.process"}),
    ({**NIGHTLY, "process": "Site"}, {"body.process"}),
    ({**NIGHTLY, "constraints": {"concurrency": 1}}, {"body.constraints"}),
    ({**NIGHTLY, "constraints": [{"concurrency": 0}]}, {"body.constraints"}),
    ({**NIGHTLY, "priority": "high"}, {"body.priority"}),
    ({**NIGHTLY, "timeout": True}, {"body.timeout"}),
    ({**NIGHTLY, "enabled": "yes"}, {"body.enabled"}),
    ({**NIGHTLY, "dry_run": "yes"}, {"body.dry_run"}),
    ({**NIGHTLY, "reason": "x" * 1001}, {"body.reason"}),
    ({"name": "n", "process": "Report"}, {"body.trigger"}),
    ({"process": "Report", "cron": "0 2 * * *"}, {"body.name"}),
    ({**NIGHTLY, "zone": 1, "priority": 1.5}, {"body.zone", "body.priority"}),
    ({**HOOK, "target": "ftp://example.com"}, {"body.target"}),
    ({**HOOK, "headers": {"X": "a\nInjected: b"}}, {"body.headers"}),
    ({**HOOK, "headers": {"Authorization": "***"}}, {"body.headers"}),
    ({**HOOK, "payload": {"stored": "nothing"}}, {"body.payload"}),
    ({**HOOK, "external_id": "x" * 257}, {"body.external_id"}),
]


@pytest.mark.parametrize(("body", "wrong"), WRONG)
def test_an_invalid_field_is_named_and_nothing_is_stored(harness, body, wrong):
    assert fields(harness.client.post(API, json=body)) == wrong
    assert names(harness) == []


def test_an_unknown_field_is_refused_with_a_suggestion(harness):
    answer = harness.client.post(API, json={**NIGHTLY, "zonee": "UTC"})
    assert answer.status_code == 422
    assert "unknown field zonee: did you mean zone?" in answer.json()["detail"]


def test_a_payload_that_is_too_long_is_refused_and_not_stored(harness):
    body = {**HOOK, "payload": "x" * 16_777_216}
    answer = harness.client.post(API, json=body)
    assert answer.status_code in (413, 422)
    assert names(harness) == []


def test_the_longest_payload_is_accepted(harness):
    harness.create({**HOOK, "payload": "x" * 16_777_215})
    assert names(harness) == ["hook"]


PRIVATE = [
    "http://127.0.0.1/x", "http://10.1.2.3/x", "http://169.254.169.254/latest/meta-data",
    "http://[::1]/x", "http://[::ffff:127.0.0.1]/x", "http://192.168.0.1:8080/",
]  # fmt: skip


@pytest.mark.parametrize("target", PRIVATE)
def test_a_private_target_is_refused(harness, target):
    answer = harness.client.post(API, json={**HOOK, "target": target})
    assert fields(answer) == {"body.target"}
    assert "webhook_networks" in answer.json()["detail"]
    assert names(harness) == []


# Reading


@pytest.mark.parametrize("name", ["a", "Z.9_x-", "new", "preview", "dead", "x" * 100, "index.html"])
def test_any_valid_name_has_an_address(harness, name):
    answer = harness.client.post(API, json={**NIGHTLY, "name": name})
    assert harness.client.get(answer.headers["location"]).json()["name"] == name
    assert harness.get(f"/schedules/{name}/runs") == {"items": [], "next": None}
    assert len(harness.get(f"/schedules/{name}/preview")["dues"]) == 10
    assert harness.client.delete(f"{API}/{name}").status_code == 200
    assert names(harness) == []


@pytest.mark.parametrize("name", ["-a", ".hidden", "a%20b", "a%00b", "%3Cb%3E", "x" * 101])
def test_an_invalid_name_is_refused(harness, name):
    assert harness.client.get(f"{API}/{name}").status_code == 422


def test_an_unknown_name_is_not_found_with_a_suggestion(harness):
    harness.create(NIGHTLY)
    answer = harness.client.get(f"{API}/nightli")
    assert answer.status_code == 404
    assert "did you mean nightly?" in answer.json()["detail"]


def test_schedules_are_found_by_the_beginning_of_their_names(harness):
    for name in ("alpha", "beta", "betamax", "bet", "gamma"):
        harness.create({**NIGHTLY, "name": name})
    assert names(harness, "?q=bet") == ["bet", "beta", "betamax"]
    assert names(harness, "?q=beta") == ["beta", "betamax"]
    assert names(harness, "?q=z") == []


def test_pages_of_a_filtered_list_follow_on_one_another(harness):
    for number in range(6):
        harness.create({**NIGHTLY, "name": f"n{number}"}, enabled=number % 2 == 0)
    harness.create({**NIGHTLY, "name": "zulu"}, enabled=True)
    first = harness.get("/schedules?q=n&enabled=true&limit=2")
    assert [one["name"] for one in first["items"]] == ["n0", "n2"]
    second = harness.get(f"/schedules?q=n&enabled=true&limit=2&cursor={first['next']}")
    assert [one["name"] for one in second["items"]] == ["n4"]
    assert second["next"] is None
    assert names(harness, "?enabled=false") == ["n1", "n3", "n5"]


@pytest.mark.parametrize("query", ["enabled=maybe"])
def test_an_invalid_filter_of_schedules_is_refused(harness, query):
    assert harness.client.get(f"{API}?{query}").status_code == 422


def test_secrets_are_not_shown_and_stay_when_they_come_back(harness):
    target = "https://receiver.example/hook?token=geheim123"
    harness.create({**HOOK, "target": target, "headers": {"Authorization": "Bearer geheim123"}})
    answer = harness.client.get(f"{API}/hook")
    assert "geheim123" not in answer.text
    definition = answer.json()["definition"]
    changed = harness.client.put(f"{API}/hook", json={**definition, "priority": 3})
    assert changed.json()["touched"][0]["version"] == 2
    stored = harness.world.store.schedules.get(["hook"])[0].definition
    assert stored["target"] == target
    assert stored["headers"] == {"Authorization": "Bearer geheim123"}


# Changing


def test_a_schedule_is_not_renamed(harness):
    harness.create(NIGHTLY)
    answer = harness.client.put(f"{API}/nightly", json={**NIGHTLY, "name": "daily"})
    assert fields(answer) == {"body.name"}


def test_enabling_and_disabling(harness):
    harness.create(NIGHTLY)
    assert harness.act("nightly/enable")["touched"][0]["is_enabled"] is True
    assert harness.client.post(f"{API}/nightly/enable", json={}).status_code == 409
    harness.act("nightly/disable", reason="a rest")
    assert harness.client.post(f"{API}/nightly/disable", json={}).status_code == 409
    seen = harness.get("/schedules/nightly")
    assert (seen["is_enabled"], seen["reason"]) == (False, "a rest")


@pytest.mark.parametrize("action", ["enable", "trigger"])
def test_a_dry_run_of_an_action_changes_nothing(harness, action):
    harness.create(NIGHTLY)
    assert harness.act(f"nightly/{action}", dry_run=True)["dry_run"] is True
    seen = harness.get("/schedules/nightly")
    assert (seen["is_enabled"], seen["runs"]) == (False, [])


def test_a_schedule_is_removed_after_a_dry_run(harness):
    harness.create(NIGHTLY)
    tried = harness.client.delete(f"{API}/nightly?dry_run=true&reason=gone")
    assert [one["name"] for one in tried.json()["touched"]] == ["nightly"]
    assert names(harness) == ["nightly"]
    harness.client.delete(f"{API}/nightly?reason=gone")
    assert names(harness) == []
    assert harness.client.delete(f"{API}/nightly").status_code == 404


def test_an_unreadable_schedule_can_be_disabled_and_removed(harness):
    harness.create(NIGHTLY, enabled=True)
    (stored,) = harness.world.store.schedules.get(["nightly"])
    broken = replace(stored, definition={"name": "nightly", "process": "Report"}, version=2)
    assert not harness.world.store.schedules.change([ScheduleChange(broken)])
    (disabled,) = harness.act("nightly/disable")["touched"]
    assert (disabled["is_enabled"], disabled["next_due"]) == (False, None)
    assert any("trigger" in warning for warning in disabled["warnings"])
    assert harness.client.delete(f"{API}/nightly").status_code == 200
    assert names(harness) == []


def test_a_one_off_job_is_canceled(harness):
    harness.create({"name": "job", "process": "Report", "when": "2015-05-21T08:00:00Z"})
    (touched,) = harness.act("job/cancel")["touched"]
    assert touched["state"] == "canceled"
    assert harness.get("/schedules/job")["is_enabled"] is False


# Previews


def test_a_preview_remarks_on_an_hour_that_does_not_exist(harness):
    answer = harness.client.post(f"{API}/preview?from=2026-03-28&limit=3", json=NIGHTLY)
    dues = answer.json()["dues"]
    assert [due["at"] for due in dues] == [
        "2026-03-28T01:00:00Z", "2026-03-29T01:00:00Z", "2026-03-30T00:00:00Z",
    ]  # fmt: skip
    assert [bool(due["remark"]) for due in dues] == [False, True, False]
    assert names(harness) == []


@pytest.mark.parametrize("query", ["from=now", "to=2026-13-01", "from=2026-02-01&to=2026-01-01"])
def test_a_preview_of_an_invalid_range_is_refused(harness, query):
    harness.create(NIGHTLY)
    assert harness.client.get(f"{API}/nightly/preview?{query}").status_code == 422


def test_a_preview_of_an_invalid_definition_names_the_field(harness):
    wrong = {**NIGHTLY, "cron": "0 99 * * *"}
    assert fields(harness.client.post(f"{API}/preview", json=wrong)) == {"body.cron"}


def test_an_edit_to_a_private_target_is_refused(harness):
    harness.create(HOOK)
    answer = harness.client.put(f"{API}/hook", json={**HOOK, "target": PRIVATE[0]})
    assert fields(answer) == {"body.target"}
    assert harness.get("/schedules/hook")["definition"]["target"] == HOOK["target"]


def test_impossible_changes_are_refused(harness):
    assert harness.client.put(f"{API}/nightly", json=NIGHTLY).status_code == 404
    harness.create(NIGHTLY)
    harness.client.act("schedules/nightly/cancel", {}, 409)  # it is no one-off job
    same = harness.client.put(f"{API}/nightly", json=NIGHTLY).json()["touched"]
    assert same[0]["version"] == 1


def test_a_preview_ends_with_its_range(harness):
    harness.create(NIGHTLY)
    seen = harness.get("/schedules/nightly/preview?from=2026-06-01&to=2026-06-02T00:00:00Z")
    dues = [due["at"] for due in seen["dues"]]
    assert dues == ["2026-06-01T00:00:00Z", "2026-06-02T00:00:00Z"]
    assert seen["more"] is False
