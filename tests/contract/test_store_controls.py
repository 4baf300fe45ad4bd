"""Settings of a process that operators change at run time."""

from __future__ import annotations

from synergy.model.process_control import ProcessControl
from synergy.storage.protocol import Store
from tests.factories import NOW


def test_nothing_is_set_at_first(store: Store) -> None:
    assert store.controls.all() == {}


def test_switch_and_trigger_are_independent(store: Store) -> None:
    store.controls.set_on("A", is_on=False, who="op", why="tired", now=NOW)
    store.controls.set_trigger("A", "every 60", "op", "faster", NOW)
    store.controls.set_trigger("B", "every 5", "op", "", NOW)
    assert store.controls.all() == {
        "A": ProcessControl("A", is_on=False, trigger_frequency="every 60"),
        "B": ProcessControl("B", is_on=None, trigger_frequency="every 5"),
    }
    store.controls.set_on("A", is_on=True, who="op", why="", now=NOW)
    assert store.controls.all()["A"] == ProcessControl("A", True, "every 60")


def test_the_journal_records_the_value_before_and_after(store: Store) -> None:
    store.controls.set_on("A", is_on=False, who="op", why="tired", now=NOW)
    store.controls.set_on("A", is_on=True, who="op", why="fresh", now=NOW)
    store.controls.set_trigger("A", "every 60", "op", "faster", NOW)
    store.controls.set_trigger("A", "every 5", "op", "faster", NOW)
    changes = [(e.event, e.before, e.after, e.why) for e in store.journal.since(0, 10)]
    assert changes == [
        ("process.off", "", "off", "tired"),
        ("process.on", "off", "on", "fresh"),
        ("process.trigger_frequency", "", "every 60", "faster"),
        ("process.trigger_frequency", "every 60", "every 5", "faster"),
    ]
    assert {(e.process, e.who, e.at) for e in store.journal.since(0, 10)} == {("A", "op", NOW)}
