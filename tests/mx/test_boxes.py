"""Boxes by REST: processes and their switches."""

from __future__ import annotations

import pytest

from synergy.model.box import SILENT_AFTER, ObservedProcess
from synergy.names import process_memory
from synergy.runtime.process_memory import written

AT = "/api/v1/boxes"
PLACE = f"{AT}/box-1/processes/Sitehourly"


@pytest.fixture
def world(world):
    """A box with two assigned processes, of which one runs."""
    world.store.boxes.assign("box-1", ["Sitehourly", "Sitedaily"])
    now = world.clock.now()
    seen = ObservedProcess("box-1", "Sitehourly", 1, "running", pid=7, since=now, restarts=2)
    world.store.boxes.report("box-1", [seen], now)
    world.store.facts.set(process_memory("box-1"), written({("Sitehourly", 1): 4096}))
    return world


def test_a_box_shows_its_processes_memory_and_silence(world, client):
    world.clock.advance(3)
    (box,) = client.get(AT).json()["items"]
    assert (box["id"], box["age"], box["is_silent"]) == ("box-1", 3.0, False)
    daily, hourly = box["processes"]
    assert (daily["process"], daily["is_on"], daily["instances"]) == ("Sitedaily", True, [])
    (instance,) = hourly["instances"]
    assert instance == {
        "instance": 1,
        "state": "running",
        "pid": 7,
        "since": "2015-05-20T12:00:00Z",
        "restarts": 2,
        "memory": 4096,
    }
    world.clock.advance(SILENT_AFTER.total_seconds())
    assert client.read("boxes")["items"][0]["is_silent"]


def test_a_process_is_switched_off_on_a_box_with_the_acting_person(world, client):
    answer = client.put(PLACE, json={"is_on": False, "reason": "memory"})
    assert answer.status_code == 200
    assert answer.json()["touched"] == [{"box": "box-1", "process": "Sitehourly", "is_on": False}]
    assert client.get(PLACE).json()["is_on"] is False
    entry = world.store.journal.find(limit=1)[0]
    assert (entry.event, entry.process, entry.who) == (
        "box.process_off", "Sitehourly", "local (mx)",
    )  # fmt: skip
    assert entry.why == "on box box-1; memory"


def test_a_dry_run_or_no_change_touches_nothing(world, client):
    dry = client.put(PLACE, json={"is_on": False, "dry_run": True}).json()
    assert (dry["dry_run"], dry["count"]) == (True, 1)
    assert client.put(PLACE, json={"is_on": True}).json()["touched"] == []
    assert client.get(PLACE).json()["is_on"] is True
    assert world.store.journal.find() == []


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        (f"{AT}/box-9/processes/Sitehourly", {"is_on": True}, 404),
        (f"{AT}/box-1/processes/Nobody", {"is_on": True}, 404),
        (f"{AT}/box-1/processes/Siteyearly", {"is_on": True}, 404),
        (PLACE, {}, 422),
        (PLACE, {"is_on": 1}, 422),
    ],
)
def test_unknown_or_invalid_switches_are_refused(client, path, body, status):
    assert client.put(path, json=body).status_code == status
    assert client.get(path).status_code == (200 if status == 422 else status)
