"""The page of boxes: what was seen of each, also of what is not as it should be."""

from __future__ import annotations

import pytest

from synergy.names import process_memory
from synergy.runtime.process_memory import written
from tests.mx.pages_kit import HOSTILE, get, of_all_kinds, seen


@pytest.fixture
def world(worlds):
    return worlds(of_all_kinds())


def test_without_boxes_the_page_says_how_one_appears(client):
    text = get(client, "/boxes").text
    assert "No box has reported yet" in text
    assert "launch.py supervisor start" in text


def test_each_instance_has_a_row(world, client):
    boxes, now = world.store.boxes, world.clock.now()
    boxes.assign("north", ["Listener"])
    first = seen(world, "north", "Listener", "running", pid=12)
    second = seen(world, "north", "Listener", "starting", pid=13, instance=2, restarts=4)
    boxes.report("north", [first, second], now)
    world.store.facts.set(process_memory("north"), written({("Listener", 1): 31_400_000}))
    text = get(client, "/boxes").text
    assert "north reports seen now" in text
    assert "Listener on running 1 12 now 0 31 MB starting 2 13 now 4 –" in text


def test_of_a_silent_box_is_told_what_was_seen_last(world, client):
    report = [seen(world, "north", "Listener", "running")]
    world.store.boxes.report("north", report, world.clock.now())
    world.clock.advance(120)
    text = get(client, "/boxes").text
    assert "silent last seen 2 min ago" in text
    assert "running when last seen" in text


def test_a_box_that_never_reported_is_said_to_be_unknown(world, client):
    world.store.boxes.assign("south", ["Report"])
    text = get(client, "/boxes").text
    assert "south never reported" in text
    assert "Report on not started yet" in text


def test_names_are_text_whatever_is_in_them(world, client):
    boxes = world.store.boxes
    boxes.assign(HOSTILE, ["Listener", HOSTILE])
    boxes.report(HOSTILE, [seen(world, HOSTILE, HOSTILE, "running")], world.clock.now())
    page = get(client, "/boxes?part=1")
    assert page.text.startswith(HOSTILE)
    assert not page.all("script")
    quoted = "%3Cscript%3Ealert%281%29%3C%2Fscript%3E"
    assert page.all("button", data_api=f"/api/v1/boxes/{quoted}/processes/Listener")


def test_every_link_answers(world, client):
    world.schedule()
    world.store.boxes.assign("north", ["Listener", "Report", "Sitedaily"])
    one = seen(world, "north", "Sitedaily", "running", restarts=1)
    world.store.boxes.report("north", [one], world.clock.now())
    links = get(client, "/boxes").links
    assert "/processes/Sitedaily" in links
    assert {link: client.get(link).status_code for link in links} == dict.fromkeys(links, 200)
