"""Leases: each step is one compare-and-set statement."""

from __future__ import annotations

from synergy.model.lease import Lease
from synergy.storage.sqlite.database import Database
from synergy.storage.sqlite.queries import queries
from synergy.storage.sqlite.rows import Row, fetch_one

_SQL = queries("leases")


class SqliteLeases:
    """See `synergy.storage.protocol.Leases`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def read(self, name: str) -> Lease | None:
        with self._database.reading() as connection:
            return _lease(fetch_one(connection, _SQL["read"], (name,)))

    def take(self, seen: Lease | None, name: str, holder: str) -> Lease | None:
        if seen is None:
            return self._swap("take_first", (name, holder))
        return self._swap(
            "take_over", (holder, name, seen.holder, seen.epoch, seen.seq, seen.released)
        )

    def renew(self, lease: Lease) -> Lease | None:
        return self._swap("renew", (lease.name, lease.holder, lease.epoch, lease.seq))

    def release(self, lease: Lease) -> bool:
        with self._database.writing() as connection:
            held = (lease.name, lease.holder, lease.epoch)
            return fetch_one(connection, _SQL["release"], held) is not None

    def _swap(self, query: str, bindings: Row) -> Lease | None:
        with self._database.writing() as connection:
            return _lease(fetch_one(connection, _SQL[query], bindings))


def _lease(row: Row | None) -> Lease | None:
    if row is None:
        return None
    name, holder, epoch, seq, released = row
    return Lease(name, holder, epoch, seq, bool(released))
