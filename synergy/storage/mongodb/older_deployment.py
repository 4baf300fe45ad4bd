"""Reads collections of a database of Synergy 1 or 2."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime

from bson import ObjectId
from pymongo import ASCENDING

from synergy.storage.mongodb.database import Database, Doc

PAGE = 1_000  # documents that are read at a time


def older_documents(url: str, collections: Sequence[str]) -> Iterator[tuple[str, str, Doc]]:
    """Collection, place and content of each document, in the order of their ids.

    Object ids are texts in it, and dates know their zone.
    """
    with closing(Database.connect(url)) as database:
        for name in collections:
            for found in _documents(database, name):
                document = {key: _plain(value) for key, value in found.items()}
                yield name, f"{name} _id {document['_id']}", document


def _documents(database: Database, name: str) -> Iterator[Doc]:
    """All documents of a collection, page by page: a cursor would exceed the driver's deadline."""
    after: Doc = {}
    while True:
        with database.calling():
            page = list(database[name].find(after).sort("_id", ASCENDING).limit(PAGE))
        yield from page
        if len(page) < PAGE:
            return
        after = {"_id": {"$gt": page[-1]["_id"]}}


def _plain(value: object) -> object:
    match value:
        case ObjectId():
            return str(value)
        case datetime():
            return value if value.tzinfo else value.replace(tzinfo=UTC)
        case _:
            return value
