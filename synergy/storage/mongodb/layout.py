"""The indexes of every collection, as data: all safety rests on the unique ones.

They are made when a database is first used, and looked for at every later start.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pymongo
from pymongo import ASCENDING, DESCENDING, IndexModel

from synergy.storage.mongodb.database import Database

VERSION = 1
PATIENCE = 600  # seconds for the making of one collection's indexes

Keys = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Index:
    """An index of a collection, by name."""

    name: str
    keys: Keys
    unique: bool = False

    def __str__(self) -> str:
        fields = ", ".join(f"{field} {'up' if order > 0 else 'down'}" for field, order in self.keys)
        return f"{self.name} ({fields}{'; unique' if self.unique else ''})"


def index(name: str, *fields: str, unique: bool = False) -> Index:
    """An index over fields; one that begins with `-` is descending."""
    keys = tuple(
        (field.removeprefix("-"), DESCENDING if field.startswith("-") else ASCENDING)
        for field in fields
    )
    return Index(name, keys, unique)


INDEXES: Mapping[str, Sequence[Index]] = {
    "assignments": [index("place", "box", "process", unique=True)],
    "observed": [index("place", "box", "process", "instance", unique=True)],
    "messages": [index("line", "queue", "seq", unique=True)],
    "unit_logs": [index("line", "unit", "seq", unique=True)],
}


def create(database: Database) -> None:
    """Makes the indexes that are not there."""
    with database.calling(), pymongo.timeout(PATIENCE):
        for collection, indexes in INDEXES.items():
            database[collection].create_indexes(
                [IndexModel(list(one.keys), name=one.name, unique=one.unique) for one in indexes]
            )


def missing(database: Database) -> list[str]:
    """The indexes that are not there as they should be, in words."""
    lacking = []
    for collection, indexes in INDEXES.items():
        found = _found(database, collection)
        lacking += [f"{collection}.{one}" for one in indexes if one not in found]
    return lacking


def _found(database: Database, collection: str) -> set[Index]:
    with database.calling():
        present = database[collection].index_information()
    return {
        Index(
            name,
            tuple((field, int(order)) for field, order in facts["key"]),
            bool(facts.get("unique")),
        )
        for name, facts in present.items()
    }
