"""The pages of schedules and runs; stored text is never markup."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from html import unescape

import pytest

from synergy.delivery.request import failed
from synergy.model.schedule import ScheduleChange
from tests.mx.schedules_kit import HOOK, NIGHTLY, ScheduleHarness

EVIL = "<script>alert(1)</script>"
EVIL_QUOTES = "\"'><img src=x onerror=alert(1)>"


@pytest.fixture
def harness(worlds) -> Iterator[ScheduleHarness]:
    made = ScheduleHarness()
    yield made
    made.close()


def page(harness: ScheduleHarness, path: str) -> str:
    answer = harness.client.get(path)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/html")
    return answer.text


def test_an_empty_list_says_how_to_add_a_schedule(harness):
    assert "launch.py schedule add FILE" in page(harness, "/schedules")
    assert 'href="/schedules/new"' in page(harness, "/schedules")


def test_due_times_are_shown_in_utc_and_in_the_zone(harness):
    harness.create(NIGHTLY, enabled=True)
    text = page(harness, "/schedules")
    assert "at 02:00 every day, Europe/Berlin: runs Report" in text
    assert "2015-05-21 00:00:00" in text
    assert "Thu 2015-05-21 02:00 +0200" in text


def test_a_schedule_shows_what_the_newest_events_did(harness):
    leg = {"event": {"type": "FILE", "resource": "/in", "life": "1h"}}
    harness.create({"name": "files", "process": "Report", "trigger": leg}, enabled=True)
    assert "What the newest events did" not in page(harness, "/schedules/files")
    event = {"eventType": "FILE", "eventTimestamp": "2015-05-20T12:00:08Z"}
    for resource in ("/in/a", f"/out/{EVIL}"):
        sent = {**event, "eventResourceId": resource}
        assert harness.client.post("/api/v1/events", json=sent).status_code == 202
    harness.settle()
    text = page(harness, "/schedules/files")
    assert "counts in run" in text
    assert f"no leg waits for FILE /out/{EVIL}" in unescape(text)
    assert EVIL not in text


def test_failing_schedules_come_first(harness):
    harness.create({**NIGHTLY, "name": "aaa"})
    harness.create(HOOK)
    harness.answer = failed("no", status=400, may_retry=False)
    harness.act("hook/trigger")
    harness.settle()
    text = page(harness, "/schedules")
    assert text.index(">hook<") < text.index(">aaa<")
    alone = page(harness, "/schedules?show=failing")
    assert ">hook<" in alone
    assert ">aaa<" not in alone


def test_the_filters_are_in_the_address(harness):
    harness.create(NIGHTLY)
    harness.create(HOOK, enabled=True)
    text = page(harness, "/schedules?q=ni&show=disabled")
    assert ">nightly<" in text
    assert ">hook<" not in text
    assert 'value="ni"' in text
    assert "No schedule matches" in page(harness, "/schedules?q=x")


def test_the_next_page_keeps_the_filters(harness):
    for number in range(51):
        harness.create({**NIGHTLY, "name": f"n{number:02}"})
    text = unescape(page(harness, "/schedules?q=n&show=disabled"))
    assert 'href="/schedules?q=n&show=disabled&cursor=n49"' in text
    assert ">n50<" in page(harness, "/schedules?q=n&show=disabled&cursor=n49")


def test_a_schedule_shows_met_and_unmet_conditions(harness):
    harness.create(
        {
            "name": "both", "process": "Report", "enabled": True,
            "trigger": {"all_of": [{"partition": {"dataset": "a", "n": 1}},
                                   {"partition": {"dataset": "b", "n": 2}}]},
        }
    )  # fmt: skip
    event = {
        "eventType": "PARTITION", "eventResourceId": "a",
        "eventTimestamp": "2015-05-20T12:00:00Z",
    }  # fmt: skip
    harness.client.post("/api/v1/events", json=event)
    harness.settle()
    text = page(harness, "/schedules/both")
    assert text.count("state-met") == 1
    assert text.count("state-unmet") == 1
    assert "2 new partitions of b (0 of 2)" in text


def test_a_schedule_called_new_has_a_page_beside_the_form(harness):
    harness.create({**NIGHTLY, "name": "new"})
    assert 'href="/schedules/~new"' in page(harness, "/schedules")
    assert "<h1>new</h1>" in page(harness, "/schedules/~new")
    assert "<h1>New schedule</h1>" in page(harness, "/schedules/new")
    assert "<h1>Edit new</h1>" in page(harness, "/schedules/~new/edit")


def test_stored_markup_of_schedules_is_shown_as_text(harness):
    harness.create(
        {
            **HOOK, "payload": EVIL, "external_id": EVIL_QUOTES, "headers": {"X-A": EVIL_QUOTES},
            "properties": {EVIL: EVIL_QUOTES}, "group": EVIL,
        }
    )  # fmt: skip
    harness.create(
        {
            "name": "files", "process": "Report", "enabled": True, "arguments": {EVIL: EVIL_QUOTES},
            "trigger": {"all_of": [
                {"event": {"type": "FILE", "resource": f"/{EVIL}", "life": "1h"}},
                {"event": {"type": "TABLE", "resource": EVIL_QUOTES, "life": 0}},
            ]},
        }
    )  # fmt: skip
    harness.client.post("/api/v1/schedules/files/disable", json={"reason": EVIL})
    harness.answer = failed(EVIL, status=400, body=EVIL_QUOTES.encode(), may_retry=False)
    run = harness.act("hook/trigger", reason=EVIL)["touched"][0]["id"]
    harness.settle()
    for path in (
        "/schedules", "/schedules/hook", "/schedules/files", "/schedules/hook/edit",
        "/schedules/files/edit", "/runs", "/runs?state=dead", f"/runs/{run}",
    ):  # fmt: skip
        text = page(harness, path)
        assert "<script>alert" not in text, path
        assert "<img src=x" not in text, path
    assert EVIL in unescape(page(harness, f"/runs/{run}"))


def test_a_run_shows_request_and_responses_without_secrets(harness):
    harness.create({**HOOK, "payload": "hello", "headers": {"Authorization": "Bearer geheim123"}})
    harness.answer = failed("it answers 400", status=400, body=b"no thanks", may_retry=False)
    run = harness.act("hook/trigger")["touched"][0]["id"]
    harness.settle()
    text = page(harness, f"/runs/{run}")
    for words in ("it answers 400", "no thanks", "hello", "Authorization: ***", "Retry"):
        assert words in text
    assert "geheim123" not in text + page(harness, "/schedules/hook") + page(
        harness, "/schedules/hook/edit"
    )
    assert "Launch all again" in page(harness, "/runs?state=dead")
    assert "Launch all again" in page(harness, "/runs?state=dead&schedule=hook")
    assert "No dead runs" in page(harness, "/runs?state=dead&schedule=another")


def test_unknown_runs_and_schedules_are_not_found(harness):
    assert "No runs" in page(harness, "/runs?schedule=nobody")
    assert harness.client.get("/runs?state=sleeping").status_code == 422
    assert harness.client.get("/runs/nothing").status_code == 404
    assert harness.client.get("/schedules/nobody").status_code == 404


def test_the_form_holds_the_definition_as_data(harness):
    harness.create({**NIGHTLY, "properties": {"a": EVIL_QUOTES}})
    text = page(harness, "/schedules/nightly/edit")
    held = text.partition('data-definition="')[2].partition('"')[0]
    assert json.loads(unescape(held)) == {
        "name": "nightly", "process": "Report", "trigger": "cron 0 2 * * *",
        "zone": "Europe/Berlin", "properties": {"a": EVIL_QUOTES},
    }  # fmt: skip


def test_a_schedule_that_is_no_longer_valid_has_a_page(harness):
    harness.create(NIGHTLY, enabled=True)
    (stored,) = harness.world.store.schedules.get(["nightly"])
    broken = replace(stored, definition={"name": "nightly", "process": "Report"}, version=2)
    assert not harness.world.store.schedules.change([ScheduleChange(broken)])
    assert "cannot be read" in page(harness, "/schedules/nightly")
    assert "cannot be read" in page(harness, "/schedules")
