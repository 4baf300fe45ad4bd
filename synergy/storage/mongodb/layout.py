"""The indexes of all collections; the unique ones guarantee consistency.

They are created when a database is first used, and checked at every later start. The first start of
a newer version creates its new indexes and upgrades the stored data (see `upgrade`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pymongo
from pymongo import ASCENDING, DESCENDING
from pymongo.errors import DuplicateKeyError

from synergy.errors import ConfigurationError, StorageUnavailable
from synergy.program import PROGRAM
from synergy.storage.mongodb.counters import upsert, value
from synergy.storage.mongodb.database import Database
from synergy.storage.mongodb.upgrade import upgrade

VERSION = 6
TIMEOUT_SECONDS = 600  # for the creation of all indexes, and for an upgrade

_VERSION = "layout"

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
    """An index over fields, descending for those that begin with `-`."""
    keys = tuple(
        (field.removeprefix("-"), DESCENDING if field.startswith("-") else ASCENDING)
        for field in fields
    )
    return Index(name, keys, unique)


INDEXES: Mapping[str, Sequence[Index]] = {
    "units": [
        index("key", "key", unique=True),
        index("slot", "slot", unique=True),
        index("job", "job"),
        index("timeperiod", "process", "timeperiod"),
        index("number", "number"),
        index("created", "created_at"),
        index("process", "process", "number"),
        index("state", "state", "number"),
        index("prunable", "is_superseded", "finished_at"),
        index("told", "is_told"),
    ],
    "journal": [
        index("origin", "origin", unique=True),
        index("process", "process", "_id"),
        index("at", "at"),
        index("job", "process", "last"),
    ],
    "schedules": [
        index("wake", "wake_at"),
        index("keys", "keys"),
        index("removed", "is_removed"),
        index("told", "is_told"),
    ],
    "schedule_versions": [index("version", "birth", "-version")],
    "runs": [
        index("key", "schedule", "key", unique=True),
        index("number", "number"),
        index("created", "created_at"),
        index("schedule", "schedule", "number"),
        index("state", "state", "number"),
        index("schedule_state", "schedule", "state", "number"),
        index("launched", "schedule", "state", "-launched_at", "-number"),
        index("finished", "finished_at"),
        index("told", "is_told"),
    ],
    "events": [index("id", "id", unique=True), index("at", "at")],
    "operations": [
        index("number", "number"),
        index("state", "state", "number"),
        index("finished", "finished_at"),
        index("told", "is_told"),
    ],
    "answers": [index("place", "person", "key"), index("at", "at")],
    "job_blocks": [index("process", "process", "number")],
    "pages": [index("place", "collection", "timeperiod")],
    "changes": [
        index("place", "collection", "is_newest", "timeperiod"),
        index("high", "is_newest", "high"),
    ],
    "assignments": [index("box", "box", "process")],
    "unit_logs": [index("unit", "unit", "attempt")],
    "dead_messages": [index("size", "size")],
}


def version_of(database: Database) -> int:
    """The version of the layout of the database; 0 if it was never used."""
    return value(database, _VERSION)


def prepare(database: Database, *, create: bool) -> None:
    """Checks a database that holds a store; creates or upgrades what is new or older.

    Raises StorageUnavailable for a new database without `create`.
    """
    version = version_of(database)
    if version >= VERSION:
        check(database)
    elif version or create:
        make(database)
    else:
        raise StorageUnavailable(
            f"there is no store in {database.place}: `{PROGRAM} store init` makes one"
        )


def make(database: Database) -> None:
    """Creates missing indexes, upgrades the data, and stores the layout's version."""
    check_version(database)
    version = version_of(database)
    with database.calling(), pymongo.timeout(TIMEOUT_SECONDS):
        for collection, indexes in INDEXES.items():
            found = _found(database, collection)
            present = {one.name for one in found}
            for one in (one for one in indexes if one not in found):
                if one.name in present:
                    database[collection].drop_index(one.name)
                _make(database, collection, one)
    if version:
        with pymongo.timeout(TIMEOUT_SECONDS):
            upgrade(database, version)
    _note(database)


def _note(database: Database) -> None:
    with database.calling():
        upsert(database["counters"], _VERSION, {"$max": {"n": VERSION}})


def _make(database: Database, collection: str, index: Index) -> None:
    try:
        with database.calling():
            database[collection].create_index(
                list(index.keys), name=index.name, unique=index.unique
            )
    except DuplicateKeyError as error:
        raise ConfigurationError(
            [f"{database.place}: the index {collection}.{index} cannot be made: {error}"]
        ) from error


def check(database: Database) -> None:
    """Raises ConfigurationError if an index is missing, which ends the start."""
    check_version(database)
    if lacking := missing(database):
        raise ConfigurationError(
            [
                f"{database.place} has no index {one}: `{PROGRAM} store init` makes it"
                for one in lacking
            ]
        )


def check_version(database: Database) -> None:
    """Raises StorageUnavailable if the database is newer than this program."""
    version = version_of(database)
    if version > VERSION:
        raise StorageUnavailable(
            f"{database.place} was written by a newer Synergy (layout {version}, this one knows "
            f"{VERSION}): update this installation, or use another store"
        )


def missing(database: Database) -> list[str]:
    """The indexes that are missing or different, as texts."""
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
