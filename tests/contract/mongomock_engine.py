"""mongomock as an engine: MongoDB's query language in the memory of this process.

It quickly checks that the queries of the engine do what they are meant to do. It proves nothing
about concurrency: other threads may run between finding a document and changing it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

import mongomock
from mongomock.collection import BulkOperationBuilder, Cursor
from mongomock.filtering import filter_applies

from synergy.storage.mongodb import MongoStore
from synergy.storage.mongodb.database import Database


class _Bulk(BulkOperationBuilder):  # type: ignore[misc]
    """Accepts the argument `sort`, which pymongo passes with every operation and never sets."""

    def add_update(self, *arguments: Any, sort: None = None, **options: Any) -> None:
        assert sort is None
        super().add_update(*arguments, **options)

    def add_replace(self, *arguments: Any, sort: None = None, **options: Any) -> None:
        assert sort is None
        super().add_replace(*arguments, **options)


class _Cursor(Cursor):  # type: ignore[misc]
    """Copies no more documents than are asked for."""

    def _compute_results(self, with_limit_and_skip: bool = False) -> list[Any]:
        if not with_limit_and_skip or self._limit is None:
            found: list[Any] = super()._compute_results(with_limit_and_skip)
            return found
        if self._results is None or self._factory_last_generated_results != self._factory:
            self._factory_last_generated_results = self._factory
            self._results = list(islice(self._factory(), self._skip, self._skip + abs(self._limit)))
        return self._results


def _iter_documents(self: Any, wanted: Mapping[str, Any]) -> Iterator[Any]:
    """Returns the documents that match a filter; its `_id` narrows them before it is applied."""
    if self._store.is_empty:
        filter_applies(wanted, {})  # raises if the filter is malformed
    return (found for found in _at_most(self._store, wanted) if filter_applies(wanted, found))


def _at_most(store: Any, wanted: Mapping[str, Any]) -> list[Any]:
    match wanted.get("_id"):
        case str(key):
            return [store[key]] if key in store else []
        case {"$gt": int(least)}:
            return [one for one in store.documents if one["_id"] > least]
    return list(store.documents)


mongomock.collection.BulkOperationBuilder = _Bulk
mongomock.collection.Cursor = _Cursor
mongomock.Collection._iter_documents = _iter_documents  # type: ignore[attr-defined]


def mongomock_store(client: mongomock.MongoClient | None = None) -> MongoStore:
    """Opens a new store that ends with this object, or the one in `client` again."""
    return MongoStore.over(Database(client or mongomock.MongoClient(), "synergy", "mongomock"))
