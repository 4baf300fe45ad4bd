"""Boxes: the processes assigned to them, and the processes observed there."""

from __future__ import annotations

from dataclasses import replace

from synergy.model.box import Assignment, Box, ObservedProcess
from synergy.storage.protocol import Store
from tests.factories import NOW

SEEN = ObservedProcess(
    "dev-1", "SiteHourly", 0, "running", "marker", 4711, 123456, "boot", NOW, restarts=2
)


def test_assigning_adds_missing_processes_switched_on(store: Store) -> None:
    assert store.boxes.assign("dev-1", ["A", "B"]) == ["A", "B"]
    assert store.boxes.assign("dev-1", ["B", "C"]) == ["C"]
    assert store.boxes.assignments("dev-1") == [Assignment("dev-1", name) for name in "ABC"]


def test_assigning_again_switches_nothing_back_on(store: Store) -> None:
    store.boxes.assign("dev-1", ["A"])
    assert store.boxes.switch("dev-1", "A", is_on=False, who="op", now=NOW)
    assert store.boxes.assign("dev-1", ["A"]) == []
    assert store.boxes.assignments() == [Assignment("dev-1", "A", is_on=False)]


def test_boxes_are_kept_apart(store: Store) -> None:
    store.boxes.assign("dev-1", ["A"])
    store.boxes.assign("dev-2", ["A", "B"])
    store.boxes.switch("dev-2", "A", is_on=False, who="op", now=NOW)
    assert store.boxes.assignments("dev-1") == [Assignment("dev-1", "A")]
    assert len(store.boxes.assignments()) == 3
    assert store.boxes.assignments("nowhere") == []


def test_switching_is_journaled_and_refused_for_unassigned_processes(store: Store) -> None:
    store.boxes.assign("dev-1", ["A"])
    assert not store.boxes.switch("dev-1", "B", is_on=True, who="op", now=NOW)
    store.boxes.switch("dev-1", "A", is_on=False, who="op", now=NOW)
    store.boxes.switch("dev-1", "A", is_on=True, who="op", now=NOW, why="it is mended")
    off, on = store.journal.since(0, 10)
    assert (off.event, off.before, off.after) == ("box.process_off", "on", "off")
    assert (on.event, on.before, on.after) == ("box.process_on", "off", "on")
    assert (on.process, on.who, on.at) == ("A", "op", NOW)
    assert (off.why, on.why) == ("on box dev-1", "on box dev-1; it is mended")


def test_a_report_replaces_what_was_observed_on_its_box_only(store: Store) -> None:
    other = replace(SEEN, box="dev-2")
    store.boxes.report("dev-1", [SEEN, replace(SEEN, instance=1)], NOW)
    store.boxes.report("dev-2", [other], NOW)
    stopped = replace(SEEN, state="stopped", pid=None, since=None)
    store.boxes.report("dev-1", [stopped], NOW)
    assert store.boxes.observed("dev-1") == [stopped]
    assert store.boxes.observed() == [stopped, other]


def test_a_box_is_known_once_assigned_and_seen_once_it_reports(store: Store) -> None:
    assert store.boxes.all() == []
    store.boxes.assign("dev-1", ["A"])
    assert store.boxes.all() == [Box("dev-1", None)]
    store.boxes.report("dev-1", [], NOW)
    store.boxes.report("dev-2", [], NOW)
    store.boxes.assign("dev-1", ["B"])
    assert store.boxes.all() == [Box("dev-1", NOW), Box("dev-2", NOW)]


def test_a_box_that_never_reported_is_listed_with_nothing_observed(store: Store) -> None:
    store.boxes.assign("dev-1", ["A"])
    assert store.boxes.all() == [Box("dev-1", None)]
    assert store.boxes.observed() == []
