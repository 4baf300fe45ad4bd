"""Messages of the store-backed bus, and the quarantined messages of every bus."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import closing
from datetime import datetime

import apsw

from synergy.runtime.masking import mask
from synergy.storage.instants import micros
from synergy.storage.protocol import (
    QUARANTINE_LIMITS,
    DeadMessage,
    QuarantineContents,
    QuarantineLimits,
    StoredMessage,
)
from synergy.storage.quarantine_limits import surplus
from synergy.storage.sqlite.columns import array, fetch
from synergy.storage.sqlite.database import Database
from synergy.storage.sqlite.queries import queries
from synergy.storage.stored_fields import DEAD_MESSAGE

_SQL = queries("messages")

_dead_message = DEAD_MESSAGE.reads_row("seq queue body reason at")


class SqliteMessages:
    """See `synergy.storage.protocol.Messages`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, queue: str, bodies: Sequence[bytes]) -> None:
        with self._database.writing() as connection:
            _put(connection, queue, bodies)

    def take(self, queue: str, limit: int) -> list[StoredMessage]:
        with self._database.writing() as connection:
            rows = fetch(connection, _SQL["oldest"], (queue, limit))
            if rows:
                connection.execute(_SQL["take"], (queue, rows[-1][0]))
        return [StoredMessage(*row) for row in rows]

    def depths(self) -> dict[str, int]:
        return dict(self._database.fetch(_SQL["depths"]))

    def bury(
        self,
        queue: str,
        body: bytes,
        reason: str,
        now: datetime,
        limits: QuarantineLimits = QUARANTINE_LIMITS,
    ) -> int:
        with self._database.writing() as connection:
            connection.execute(_SQL["bury"], (queue, body, mask(reason), micros(now)))
            contents = QuarantineContents(*fetch(connection, _SQL["quarantine"])[0])
            with closing(connection.execute(_SQL["sizes"])) as sizes:
                dropped = surplus(contents, limits, sizes)
            if dropped:
                connection.execute(_SQL["purge_some"], (array(dropped),))
                connection.execute(_SQL["count_dropped"], (len(dropped),))
        return len(dropped)

    def quarantine(self) -> QuarantineContents:
        return QuarantineContents(*self._database.fetch(_SQL["quarantine"])[0])

    def buried(self, limit: int = 100, before: int | None = None) -> list[DeadMessage]:
        return _dead_message.each(
            self._database.fetch(_SQL["buried"], (before, limit)), self._database.malformed
        )

    def replay(self, seqs: Sequence[int] | None = None) -> dict[str, int]:
        with self._database.writing() as connection:
            if seqs is None:
                rows = fetch(connection, _SQL["quarantined"])
            else:
                rows = fetch(connection, _SQL["some_quarantined"], (array(seqs),))
            bodies: defaultdict[str, list[bytes]] = defaultdict(list)
            for _, queue, body in sorted(rows):
                bodies[queue].append(body)
            for queue, some in bodies.items():
                _put(connection, queue, some)
        return dict(Counter(queue for _, queue, _ in rows))

    def purge(self, queue: str) -> int:
        return self._database.execute(_SQL["purge"], (queue,))

    def purge_buried(self, seqs: Sequence[int] | None = None) -> int:
        if seqs is None:
            return self._database.execute(_SQL["purge_buried"])
        return self._database.execute(_SQL["purge_some"], (array(seqs),))


def _put(connection: apsw.Connection, queue: str, bodies: Sequence[bytes]) -> None:
    last = int(connection.execute(_SQL["last"], (queue,)).get)
    rows = [(queue, number, body) for number, body in enumerate(bodies, last + 1)]
    connection.executemany(_SQL["put"], rows)
