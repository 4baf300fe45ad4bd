"""All that is in a store, to be compared with what is in another."""

from __future__ import annotations

from synergy.storage.protocol import Record, Store
from synergy.storage.records import KINDS, beginning, key_of

COPY = "store.copy"  # the fact that only a copy has


def everything(store: Store, limit: int = 1_000) -> dict[str, list[Record]]:
    """All records by kind, read in portions."""
    return {kind: all_of(store, kind, limit) for kind in KINDS}


def all_of(store: Store, kind: str, limit: int = 1_000) -> list[Record]:
    """The records of a kind, but what a copy says of itself."""
    found: list[Record] = []
    after = beginning(kind)
    while portion := store.transfer.read(kind, after, limit):
        assert len(portion) <= limit
        found += portion
        after = key_of(kind, portion[-1])
    return [one for one in found if (kind, one.get("name")) != ("facts", COPY)]
