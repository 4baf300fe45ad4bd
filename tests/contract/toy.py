"""mongomock as an engine: MongoDB's query language in the memory of this process.

It checks quickly that what the engine asks for is understood as it is meant. It says nothing of
many at once: between finding a document and changing it, it lets other threads in.
"""

from __future__ import annotations

from typing import Any

import mongomock
from mongomock.collection import BulkOperationBuilder

from synergy.storage.mongodb import MongoStore
from synergy.storage.mongodb.database import Database


class _Bulk(BulkOperationBuilder):  # type: ignore[misc]
    """Takes the `sort` that pymongo gives with every operation, and that is never set."""

    def add_update(self, *arguments: Any, sort: None = None, **options: Any) -> None:
        assert sort is None
        super().add_update(*arguments, **options)

    def add_replace(self, *arguments: Any, sort: None = None, **options: Any) -> None:
        assert sort is None
        super().add_replace(*arguments, **options)


mongomock.collection.BulkOperationBuilder = _Bulk


def toy_store(client: mongomock.MongoClient | None = None) -> MongoStore:
    """A new store that ends with this object; or the one in a client, opened once more."""
    return MongoStore.over(Database(client or mongomock.MongoClient(), "synergy", "mongomock"))
