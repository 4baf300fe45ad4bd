"""Damages single rows of a store, behind its back, and repairs them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random
from typing import Any

import apsw

from synergy.names import ROW_CHECK  # is written by the check itself
from synergy.storage.mongodb import MongoStore
from synergy.storage.protocol import Store
from synergy.storage.sqlite import SqliteStore

CUT = b'{"a": [1, '  # JSON that was cut off
_UNCHECKED = {"unit": ("superseded",), "unit_log": ("unit",)}  # fields that no value is made of
_JSON = {"counts", "generations", "progress", "keys", "definition", "request", "detail", "headers"}
_OWN = (  # fields of documents that only the engine uses, and can do without
    *("_id", "mark", "taker", "origin", "size", "ending", "is_newest", "is_told"),
    *("key", "slot", "job", "version", "seen_at"),
)
Repair = Callable[[], object]


@contextmanager
def spoiled(store: Store, random: Random, kind: str = "") -> Iterator[str]:
    """A store with one malformed row, of a kind (table or collection) if one is given.

    Yields what was done.
    """
    if isinstance(store, SqliteStore):
        text, repair = _in_sqlite(store, random, kind)
    else:
        assert isinstance(store, MongoStore)
        text, repair = _in_mongodb(store, random, kind)
    try:
        yield text
    finally:
        repair()


def loosened(store: SqliteStore) -> apsw.Connection:
    """A connection to tables that accept values of any type."""
    with store._database.reading() as connection:
        connection.pragma("writable_schema", True)
        for text, bare in ((" NOT NULL", ""), ("STRICT, WITHOUT", "WITHOUT"), (") STRICT", ")")):
            change = "UPDATE sqlite_schema SET sql = replace(sql, ?, ?) WHERE type = 'table'"
            connection.execute(change, (text, bare))
        connection.execute("PRAGMA writable_schema = RESET")
    return connection


def _in_sqlite(store: SqliteStore, random: Random, kind: str) -> tuple[str, Repair]:
    connection = loosened(store)
    query = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    tables = [kind] if kind else [name for (name,) in connection.execute(query)]
    tables = [table for table in tables if table not in ("quarantine", "listening")]
    random.shuffle(tables)
    table = next(one for one in tables if _count(connection, one))
    columns = list(connection.execute(f"PRAGMA table_info({table})"))
    keys = [column[1] for column in columns if column[5]]
    key = keys if len(keys) > 1 or _is_without_rowid(connection, table) else ["rowid"]
    free = [c for c in columns if not c[5] and c[1] not in _UNCHECKED.get(table, ())]
    _, name, type_, *_ = random.choice(free)
    offset = random.randrange(_count(connection, table))
    listed = ", ".join(key)
    query = f'SELECT {listed}, "{name}" FROM {table} ORDER BY 1 LIMIT 1 OFFSET {offset}'
    *place, before = connection.execute(query).fetchone()
    value = random.choice(_values(name, type_))
    where = " AND ".join(f"{one} IS ?" for one in key)
    change = f'UPDATE {table} SET "{name}" = ? WHERE {where}'
    connection.execute(change, (value, *place))
    text = f"{table} {place}: {name} = {value!r}"
    repair = f'{change} AND "{name}" IS ?'  # a running system may have written it meanwhile
    return text, lambda: connection.execute(repair, (before, *place, value))


def _values(name: str, type_: str) -> list[Any]:
    if name in _JSON:
        return [CUT, b"7", 12]
    return (
        [b"\xff\x00", "nonsense"]
        if type_ == "INTEGER"
        else [b"\xff\x00"] * (type_ == "TEXT") or [12]
    )


def _count(connection: apsw.Connection, table: str) -> int:
    own = f" WHERE name < '{ROW_CHECK}'" if table == "fact" else ""
    return int(connection.execute(f"SELECT count(*) FROM {table}{own}").get)


def _is_without_rowid(connection: apsw.Connection, table: str) -> bool:
    query = "SELECT sql FROM sqlite_schema WHERE name = ?"
    return "WITHOUT ROWID" in str(connection.execute(query, (table,)).get)


def _in_mongodb(store: MongoStore, random: Random, kind: str) -> tuple[str, Repair]:
    database = store._database
    names = [kind] if kind else sorted(database.collections(""))
    random.shuffle(names)
    name = next(one for one in names if database[one].count_documents({}))
    collection = database[name]
    document = random.choice([one for one in collection.find() if one["_id"] != ROW_CHECK])
    field = random.choice([field for field in document if field not in _OWN])
    value: Any = CUT.decode() if field in _JSON and isinstance(document[field], str) else {"odd": 1}
    place = {"_id": document["_id"]}
    collection.update_one(place, {"$set": {field: value}})
    repair = {"$set": {field: document[field]}}
    return f"{name} {document['_id']}: {field} = {value!r}", lambda: collection.update_one(
        place, repair
    )


def spoil(store: Store, kind: str, field: str) -> None:
    """Gives a field of the first row of a kind, which `copy_records.KINDS` names, a wrong type."""
    if isinstance(store, SqliteStore):
        connection = loosened(store)
        table = {"boxes": "box", "journal": "journal"}.get(kind, kind.removesuffix("s"))
        first = f"SELECT rowid FROM {table} ORDER BY rowid LIMIT 1"
        where = "1" if _is_without_rowid(connection, table) else f"rowid = ({first})"
        connection.execute(f"UPDATE {table} SET {field} = x'ff00' WHERE {where}")
        return
    assert isinstance(store, MongoStore)
    collection = store._database[kind]
    first = collection.find().sort("_id", 1).limit(1)[0]
    collection.update_one({"_id": first["_id"]}, {"$set": {field: {"odd": 1}}})
