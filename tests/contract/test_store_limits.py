"""A limit of 0 gives nothing and deletes nothing."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from synergy.storage.protocol import Store
from tests.contract.documents import put
from tests.contract.operated import an_answer
from tests.contract.scheduled import a_schedule, an_event
from tests.contract.schedules import create
from tests.factories import NOW, an_entry, some_units

LATER = NOW + timedelta(days=30)

READS: dict[str, Callable[[Store], object]] = {
    "messages": lambda store: store.messages.take("q", 0),
    "quarantine": lambda store: store.messages.buried(0),
    "journal, upwards": lambda store: store.journal.since(0, 0),
    "journal, downwards": lambda store: store.journal.find(limit=0),
    "units of a job": lambda store: store.units.newest("SiteHourly", UNIT.timeperiod, 0),
    "events": lambda store: store.events.since(0, 0),
    "changed sources": lambda store: store.documents.changed_since(0, 0),
    "due schedules": lambda store: store.schedules.due(LATER, 0),
}
PRUNES: dict[str, Callable[[Store], int]] = {
    "journal": lambda store: store.journal.prune(LATER, 0),
    "events": lambda store: store.events.prune(LATER, 0),
    "answers": lambda store: store.answers.prune(LATER, 0),
}
(UNIT,) = some_units(1)


@pytest.fixture
def filled(store: Store) -> Store:
    """A store with one of each, or two where the newest is never deleted."""
    store.messages.put("q", [b"1"])
    store.messages.bury("q", b"1", "malformed", NOW)
    store.journal.append([an_entry()])
    store.units.create([UNIT], "scheduler")
    store.events.append([an_event("a"), an_event("b")])
    put(store, ("2015051700", "key"))
    create(store, a_schedule(wake_at=NOW))
    store.answers.begin(an_answer())
    return store


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_nothing_is_read(filled: Store, read: Callable[[Store], object]) -> None:
    assert read(filled) == []


@pytest.mark.parametrize("prune", PRUNES.values(), ids=PRUNES)
def test_nothing_is_deleted(filled: Store, prune: Callable[[Store], int]) -> None:
    assert prune(filled) == 0
