"""The journal of a store, as tests read it."""

from __future__ import annotations

from synergy.storage.protocol import Store


def events(store: Store) -> list[str]:
    """The names of all events, in their order."""
    return [entry.event for entry in store.journal.since(0, 10_000)]
