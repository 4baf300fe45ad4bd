"""What the tests of documents in a store share."""

from __future__ import annotations

from typing import Any

from synergy.model.unit_of_work import UnitOfWork
from synergy.storage.protocol import Store
from tests.factories import NOW, a_conclusion, a_hint, a_sink_write, a_unit

SESSIONS = "single_session"


def put(store: Store, *places: tuple[str, str], **body: Any) -> int:
    """Writes documents (key, timeperiod) with this body."""
    return store.documents.update(SESSIONS, places, lambda key, _: {"key": key, **body})


def replace_hour(store: Store, end_id: int, *rows: tuple[str, dict[str, Any]]) -> None:
    """Replaces the rows of an hour by these, through the conclusion of a unit."""
    unit: UnitOfWork = a_unit(end_id=end_id)
    store.units.create([unit], "scheduler")
    store.units.claim([a_hint(unit)], "worker", NOW)
    write = a_sink_write(*rows, collection=SESSIONS)
    assert store.units.conclude([a_conclusion(unit, "worker", writes=(write,))], NOW) == []
