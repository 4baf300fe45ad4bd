"""The pages of processes: the list, and one process with its actions."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from synergy.model.actor import Actor
from tests.mx.conftest import client_of
from tests.mx.pages_kit import FREE, HOSTILE, get, of_all_kinds, seen


@pytest.fixture
def world(worlds):
    return worlds(of_all_kinds())


def test_processes_are_grouped_by_tree_and_kind(client):
    text = get(client, "/processes?part=1").text
    order = ["site", "Siteyearly", "Sitehourly", "client", "Clientdaily", "By schedule", "Report",
             "Always running", "Listener"]  # fmt: skip
    places = [text.index(f" {word} ") for word in order]
    assert places == sorted(places)


def test_a_process_that_is_off_can_be_switched_on(world, client):
    world.process_commands.switch("Sitedaily", False, Actor("me", "moving"), world.clock.now())
    page = get(client, "/processes")
    [button] = page.all("button", data_api="/api/v1/processes/Sitedaily")
    assert (button["aria-checked"], button["data-method"]) == ("false", "PATCH")
    assert json.loads(button["data-body"]) == {"is_on": True}


def test_a_process_shows_its_jobs_units_and_journal(world, client):
    world.schedule()
    world.process_commands.trigger("Sitedaily", Actor("otto", f"see {HOSTILE}"), world.clock.now())
    page = get(client, "/processes/Sitedaily")
    # Four days have begun; a unit is requested for each of the three that are over.
    assert "2015051700 to 2015052000" in page.text
    assert "first that is not finished: 2015051700" in page.text
    assert "0 units in progress 3 units requested 0 units invalid" in page.text
    assert f"see {HOSTILE}" in page.text


def test_the_form_of_the_trigger_previews_the_change(client):
    page = get(client, "/processes/Sitedaily")
    [form] = page.all("form", data_api="/api/v1/processes/Sitedaily")
    assert (form["data-method"], "data-preview" in form) == ("PATCH", True)
    [field] = page.all("input", name="trigger_frequency")
    assert field["value"] == "every 600"
    assert page.all("button", data_api="/api/v1/processes/Sitedaily/trigger")


def test_a_viewer_has_no_form_of_the_trigger(secured):
    page = get(secured.logged_in("vera"), "/processes/Sitedaily")
    assert "every 600" in page.text  # when it looks next
    assert "When it runs" not in page.text
    assert not page.all("input", name="trigger_frequency")


def test_a_command_is_quoted_for_a_shell(worlds):
    command = ("sh", "-c", "echo $0; exit 3", "${timeperiod}")
    free = replace(FREE, classname=None, command=command)
    world = worlds(replace(of_all_kinds(), processes={free.name: free}, trees={}))
    with client_of(world) as client:
        text = get(client, "/processes/Report").text
    assert "Command sh -c 'echo $0; exit 3' '${timeperiod}'" in text


def test_a_daemon_is_not_triggered(client):
    page = get(client, "/processes/Listener")
    assert not page.all("form", data_api="/api/v1/processes/Listener")
    assert "units" not in page.text


def test_a_process_has_a_switch_for_each_box(world, client):
    boxes, now = world.store.boxes, world.clock.now()
    boxes.assign("north", ["Listener"])
    boxes.assign("south", ["Listener"])
    boxes.report("north", [seen(world, "north", "Listener", "running")], now)
    page = get(client, "/processes/Listener")
    switches = page.all("button", role="switch")
    assert [button["data-api"] for button in switches] == [
        "/api/v1/processes/Listener",
        "/api/v1/boxes/north/processes/Listener",
        "/api/v1/boxes/south/processes/Listener",
    ]


def test_the_page_of_an_unknown_process_names_the_known_ones(client):
    answer = client.get("/processes/Nobody", headers={"Accept": "text/html"})
    assert answer.status_code == 404
    assert "Nobody" in answer.text
    assert "Siteyearly" in answer.text  # there are these
