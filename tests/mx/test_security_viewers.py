"""Viewers see where requests go, and neither what is sent nor how a receiver is reached."""

from __future__ import annotations

import re

import pytest

from synergy.delivery.request import UNREACHED, SendOutcome, failed
from synergy.mx.access import Role
from tests.mx.schedules_kit import ScheduleHarness
from tests.mx.secured_mx import SecuredMx
from tests.mx.test_security_routes import routes

HIDDEN = ("canary-path", "canary-query", "canary-header", "canary-payload", "canary-answer")
HOOK = {
    "name": "hook",
    "target": "https://receiver.example:8443/canary-path?q=canary-query",
    "headers": {"X-Plain": "canary-header"},
    "payload": "canary-payload ${canary-payload}",
    "signing_secret": "canary-secret",
    "trigger": "cron 0 2 * * *",
}
LONG = {**HOOK, "name": "long", "payload": "canary-payload " * 10_000}
ERRORS = [
    failed("refused by 10.0.0.7", SendOutcome.FAILED),
    failed("silent for 3 s", SendOutcome.TIMEOUT),
    failed("10.0.0.7 is private", SendOutcome.BLOCKED, may_retry=False),
]


@pytest.fixture
def harness(worlds):
    made = ScheduleHarness()
    yield made
    made.close()


def ran(harness, definition, answer):
    """The id of a run that got this answer and has ended."""
    harness.create(definition)
    harness.answer = answer
    run = harness.act(f"{definition['name']}/trigger")["touched"][0]["id"]
    harness.settle()
    return run


def everything(app, client, run, schedule):
    """The texts of all addresses that are read, by address."""
    names = {"id": run, "name": schedule}
    found = {path for method, path, _ in routes(app) if method == "GET" and "stream" not in path}
    places = [
        re.sub(r"\{(\w+)[^}]*\}", lambda name: names.get(name[1], "x"), path) for path in found
    ]
    return {place: client.get(place).text for place in places}


def test_viewers_see_no_part_of_a_request_that_may_be_secret(harness, tmp_path):
    runs = [
        ran(harness, HOOK, failed("it answers 400", status=400, body=b"canary-answer")),
        ran(harness, LONG, failed("it answers 400", status=400, body=b"canary-answer")),
    ]
    mx = SecuredMx(harness.world, tmp_path)
    viewer, operator = mx.bearer("vera", Role.VIEWER), mx.bearer("otto", Role.OPERATOR)
    for run, schedule in zip(runs, ("hook", "long"), strict=True):
        seen = everything(mx.app, viewer, run, schedule)
        assert "canary-secret" not in str(seen)
        assert {name: path for path, text in seen.items() for name in HIDDEN if name in text} == {}
        for path in (f"/api/v1/runs/{run}", f"/api/v1/schedules/{schedule}"):
            assert "https://receiver.example:8443/***" in seen[path]
        assert "it answers 400" in seen[f"/runs/{run}"]
    full = everything(mx.app, operator, runs[0], "hook")
    for name in HIDDEN:
        assert name in full[f"/api/v1/runs/{runs[0]}"]
        assert name in full[f"/runs/{runs[0]}"]
    for name in HIDDEN[:-1]:
        assert name in full["/api/v1/schedules/hook"]
        assert name in full["/schedules/hook"]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: str(error.outcome))
def test_viewers_do_not_learn_why_a_receiver_is_not_reached(harness, tmp_path, error):
    run = ran(harness, {**HOOK, "budget": 1}, error)
    for _ in range(3):
        harness.world.clock.advance(3)
        harness.settle()
    mx = SecuredMx(harness.world, tmp_path)
    viewer, operator = mx.bearer("vera", Role.VIEWER), mx.bearer("otto", Role.OPERATOR)
    seen = everything(mx.app, viewer, run, "hook")
    assert [path for path, text in seen.items() if error.error in text or "10.0.0.7" in text] == []
    assert not re.search("timeout<|blocked<|webhook_networks", seen[f"/runs/{run}"])
    shown = viewer.get(f"/api/v1/runs/{run}").json()
    assert shown["state"] == "failed"
    assert shown["reason"] == UNREACHED
    answers = {(one["outcome"], one["error"], one["seconds"]) for one in shown["answers"]}
    assert answers == {("failed", UNREACHED, None)}
    [*_, last] = operator.get(f"/api/v1/runs/{run}").json()["answers"]
    assert (last["outcome"], last["error"]) == (str(error.outcome), error.error)
