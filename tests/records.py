"""All records of a store, for comparison with those of another."""

from __future__ import annotations

from synergy.storage.copy_records import KINDS, beginning
from synergy.storage.protocol import Record, Store

COPY = "store.copy"  # the fact that only a copy has


def everything(store: Store) -> dict[str, list[Record]]:
    """All records by kind."""
    return {kind: all_of(store, kind) for kind in KINDS}


def all_of(store: Store, kind: str) -> list[Record]:
    """The records of a kind, without the fact that marks a copy."""
    found = store.transfer.read(kind, beginning(kind))
    return [one for one in found if (kind, one.get("name")) != ("facts", COPY)]
