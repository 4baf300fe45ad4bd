"""Leases. Each step is one compare-and-set statement."""

from __future__ import annotations

from collections.abc import Sequence

from synergy.model.lease import Lease
from synergy.storage.sqlite.columns import Row, fetch_each
from synergy.storage.sqlite.database import Database
from synergy.storage.sqlite.queries import queries
from synergy.storage.stored_fields import LEASE

_SQL = queries("leases")

_lease = LEASE.reads_row("name holder epoch seq released")


class SqliteLeases:
    """See `synergy.storage.protocol.Leases`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def read(self, name: str) -> Lease | None:
        found = self._database.fetch(_SQL["read"], (name,))
        return next(iter(_lease.each(found, self._database.malformed)), None)

    def all(self, family: str) -> list[Lease]:
        return _lease.each(self._database.fetch(_SQL["all"], (family,)), self._database.malformed)

    def take(self, seen: Lease | None, name: str, holder: str) -> Lease | None:
        if seen is None:
            return self._swap("take_first", (name, holder))
        return self._swap(
            "take_over", (holder, name, seen.holder, seen.epoch, seen.seq, seen.released)
        )

    def renew(self, lease: Lease) -> Lease | None:
        return next(iter(self.renew_all([lease])), None)

    def renew_all(self, leases: Sequence[Lease]) -> list[Lease]:
        held = [(lease.name, lease.holder, lease.epoch, lease.seq) for lease in leases]
        with self._database.writing() as connection:
            return _lease.each(
                fetch_each(connection, _SQL["renew"], held), self._database.malformed
            )

    def release(self, lease: Lease) -> bool:
        held = (lease.name, lease.holder, lease.epoch)
        return self._database.execute_one(_SQL["release"], held) is not None

    def _swap(self, query: str, bindings: Row) -> Lease | None:
        return _lease_or_none(self._database.execute_one(_SQL[query], bindings))


def _lease_or_none(row: Row | None) -> Lease | None:
    return None if row is None else _lease(row)
