"""The page of boxes: reports, silent boxes and boxes without a report."""

from __future__ import annotations

import pytest

from synergy.names import process_memory
from synergy.runtime.process_memory import written
from tests.mx.pages_kit import get, of_all_kinds, seen


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


def test_a_silent_box_shows_its_last_report(world, client):
    report = [seen(world, "north", "Listener", "running")]
    world.store.boxes.report("north", report, world.clock.now())
    world.clock.advance(120)
    text = get(client, "/boxes").text
    assert "silent last seen 2 min ago" in text
    assert "running when last seen" in text


def test_a_box_that_never_reported_says_so(world, client):
    world.store.boxes.assign("south", ["Report"])
    text = get(client, "/boxes").text
    assert "south never reported" in text
    assert "Report on not started yet" in text
