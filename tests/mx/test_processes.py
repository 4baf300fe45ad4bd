"""Processes by REST: state, switches and triggers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from synergy.model.process import DaemonProcess
from tests.deployments import site_and_client
from tests.service.free_runs import a_free_process

AT = "/api/v1/processes"


@pytest.fixture
def world(worlds):
    """A deployment with managed, free-run and daemon processes."""
    deployment = site_and_client()
    more = {
        "Report": a_free_process(trigger_frequency="every 3600"),
        "Ear": DaemonProcess(name="Ear", classname="x", token="ear", present_on_boxes=(".*",)),
    }
    return worlds(replace(deployment, processes={**deployment.processes, **more}))


def shown(client, name):
    return client.get(f"{AT}/{name}").json()


def events(world):
    return [
        (entry.event, entry.process, entry.why, entry.who) for entry in world.store.journal.find()
    ]


def test_all_declared_processes_are_listed_in_their_order(client):
    page = client.get(AT).json()
    assert page["next"] is None
    assert [one["name"] for one in page["items"]][-2:] == ["Report", "Ear"]
    assert {one["kind"] for one in page["items"]} == {"managed", "freerun", "daemon"}


def test_a_process_is_shown_and_an_unknown_one_is_not_found(client):
    hourly = shown(client, "Sitehourly")
    assert (hourly["qualifier"], hourly["tree"], hourly["trigger"]) == (
        "hourly", "site", "every 600",
    )  # fmt: skip
    answer = client.get(f"{AT}/Sitehourli")
    assert answer.status_code == 404
    assert "Sitehourly" in answer.json()["detail"]


@pytest.mark.parametrize("name", ["Sitehourly", "Report", "Ear"])
def test_a_process_of_any_kind_is_switched_off_with_the_reason(world, client, name):
    answer = client.patch(f"{AT}/{name}", json={"is_on": False, "reason": "it is being moved"})
    assert answer.status_code == 200
    assert answer.json()["touched"] == [
        {"process": name, "what": "is_on", "before": True, "after": False, "remark": ""}
    ]
    assert shown(client, name)["is_on"] is False
    assert events(world)[0] == ("process.off", name, "it is being moved", "local (mx)")


def test_a_dry_run_names_the_changes_and_makes_none(world, client):
    body = {"is_on": False, "trigger_frequency": "every 60", "dry_run": True}
    answer = client.patch(f"{AT}/Sitehourly", json=body).json()
    assert (answer["dry_run"], answer["count"]) == (True, 2)
    assert {(one["what"], one["after"]) for one in answer["touched"]} == {
        ("is_on", False),
        ("trigger_frequency", "every 60"),
    }
    assert shown(client, "Sitehourly")["is_on"] is True
    assert events(world) == []


def test_no_change_touches_nothing(world, client):
    body = {"is_on": True, "trigger_frequency": "every 600"}
    assert client.patch(f"{AT}/Sitehourly", json=body).json()["touched"] == []
    assert events(world) == []


def test_the_trigger_of_a_managed_process_is_changed(client):
    body = {"trigger_frequency": "every 60"}
    (touched,) = client.patch(f"{AT}/Sitehourly", json=body).json()["touched"]
    assert (touched["before"], touched["after"]) == ("every 600", "every 60")
    assert shown(client, "Sitehourly")["trigger"] == "every 60"


def test_a_free_run_process_without_schedule_gets_one(world, client):
    body = {"trigger_frequency": "every 60"}
    (touched,) = client.patch(f"{AT}/Report", json=body).json()["touched"]
    assert (touched["before"], touched["after"]) == ("every 3600", "every 60")
    (schedule,) = world.store.schedules.get(["Report"])
    assert schedule.definition["trigger"] == "every 60"


@pytest.mark.parametrize(
    ("name", "body", "status"),
    [
        ("Sitehourly", {}, 422),
        ("Sitehourly", {"is_on": "no"}, 422),
        ("Sitehourly", {"is_off": True}, 422),
        ("Sitehourly", {"trigger_frequency": "now and then"}, 422),
        ("Ear", {"trigger_frequency": "every 60"}, 404),
        ("Nobody", {"is_on": True}, 404),
    ],
)
def test_an_invalid_change_is_refused(client, name, body, status):
    assert client.patch(f"{AT}/{name}", json=body).status_code == status


def test_an_invalid_field_prevents_the_other_changes(client):
    body = {"is_on": False, "trigger_frequency": "now and then"}
    assert client.patch(f"{AT}/Sitehourly", json=body).status_code == 422
    assert shown(client, "Sitehourly")["is_on"] is True


def test_a_trigger_without_a_scheduler_says_so(world, client):
    (touched,) = client.post(f"{AT}/Sitehourly/trigger", json={}).json()["touched"]
    assert touched["run"] is None
    assert "no scheduler leads the tree of Sitehourly" in touched["remark"]
    assert events(world)[0][:2] == ("process.triggered", "Sitehourly")
    world.schedule()
    (touched,) = client.post(f"{AT}/Sitehourly/trigger", json={}).json()["touched"]
    assert touched["remark"] == ""


def test_a_triggered_free_run_process_runs_at_once(world, client):
    (would,) = client.post(f"{AT}/Report/trigger", json={"dry_run": True}).json()["touched"]
    assert would["run"] is None
    assert world.store.units.unfinished() == []
    (touched,) = client.post(f"{AT}/Report/trigger", json={}).json()["touched"]
    (unit,) = world.store.units.unfinished()
    assert touched["run"] == unit.id


def test_a_free_run_process_that_is_off_does_not_run(client):
    client.patch(f"{AT}/Report", json={"is_on": False})
    answer = client.post(f"{AT}/Report/trigger", json={})
    assert answer.status_code == 409
    assert "switched off" in answer.json()["detail"]
