"""The cause of a job's state by REST, and its remedies."""

from __future__ import annotations

import pytest

from synergy.model.job import JobState
from tests.mx.timetable_kit import NOON, START, hours_days_and_client, move, started
from tests.service.scheduler_harness import OPERATOR

HOUR = START
WHY = f"jobs/Hour/{HOUR}/why"


@pytest.fixture
def world(worlds):
    return started(worlds(hours_days_and_client(), now=NOON))


def leaf_of(cause):
    while cause["causes"]:
        cause = cause["causes"][0]
    return cause


def helps(cause):
    return [
        (each["command"], each["method"], each["path"], each["body"]) for each in cause["helps"]
    ]


def test_why_leads_to_the_cause_and_offers_remedies(world, client):
    world.process_commands.switch("Hour", False, OPERATOR, world.clock.now())
    world.schedule()
    cause = client.read(f"jobs/Client/{START}/why")
    assert (cause["kind"], cause["process"], cause["state"]) == ("blocked", "Client", "embryo")
    assert cause["helps"] == []
    assert cause["causes"][0]["process"] == "Day"
    leaf = leaf_of(cause)
    assert (leaf["kind"], leaf["process"]) == ("switched_off", "Hour")
    command, path = "launch.py process on Hour", "/api/v1/processes/Hour"
    assert helps(leaf) == [(command, "PATCH", path, {"is_on": True})]
    assert leaf["helps"][0]["label"] == "Switch the process on"


def test_without_a_scheduler_all_remedies_are_commands(client):
    leaf = leaf_of(client.read(WHY))
    assert leaf["kind"] == "no_scheduler"
    assert helps(leaf) == [
        (f"launch.py supervisor {verb}", None, None, None) for verb in ("status", "start")
    ]


def test_a_failed_unit_offers_its_log_a_retry_and_a_skip(world, client):
    world.write("raw", HOUR, 1)
    world.schedule()
    world.work("Hour", work=lambda _task: 1 / 0)
    world.schedule()
    (unit,) = world.units("Hour", HOUR)
    cause, path = client.read(WHY), f"/api/v1/units/{unit.id}"
    assert cause["kind"] == "retrying"
    skip = {"process": "Hour", "from": HOUR}
    assert helps(cause) == [
        (f"launch.py unit log {unit.id}", "GET", f"{path}/log", None),
        (f"launch.py unit retry {unit.id}", "POST", f"{path}/retry", {}),
        (f"launch.py timetable skip Hour {HOUR}", "POST", "/api/v1/jobs/skip", skip),
    ]


def test_a_worker_is_started_on_a_box_where_it_is_switched_off(world, client):
    now, command = world.clock.now(), "launch.py process start Hour"
    world.write("raw", HOUR, 1)
    world.schedule()
    assert helps(client.read(WHY)) == [(command, None, None, None)]  # no box has it
    world.store.boxes.assign("box a", ["Hour", "Day"])
    world.store.boxes.switch("box a", "Hour", False, "t", now)
    world.store.boxes.report("box a", [], now)
    path = "/api/v1/boxes/box%20a/processes/Hour"
    assert helps(client.read(WHY)) == [(command, "PUT", path, {"is_on": True})]


def test_the_remedy_of_a_skipped_job_reprocesses_it(world, client):
    move(world, 0, 0, JobState.SKIPPED)
    ((_, method, path, body),) = helps(client.read(WHY))
    assert (method, path) == ("POST", "/api/v1/jobs/reprocess")
    assert client.request(method, path, json=body).status_code == 200
    assert world.state("Hour", HOUR) is JobState.EMBRYO
