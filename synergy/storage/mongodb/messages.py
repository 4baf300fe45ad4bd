"""Messages at rest, for the bus that lives in the store.

A message is away once it is taken: what its taker does not finish, the collector says again.
So it is when a taker ends with some of its messages taken and not yet worked on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime

from synergy.storage.encoding import instant, micros
from synergy.storage.mongodb import numbers
from synergy.storage.mongodb.database import Database, Doc
from synergy.storage.protocol import DeadMessage, StoredMessage


class MongoMessages:
    """See `synergy.storage.protocol.Messages`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._messages = database["messages"]
        self._dead = database["dead_messages"]

    def put(self, queue: str, bodies: Sequence[bytes]) -> None:
        if not bodies:
            return
        with self._database.calling():
            first = numbers.take(self._database, f"queue {queue}", len(bodies))
            self._messages.insert_many(
                [
                    {"queue": queue, "seq": seq, "body": body}
                    for seq, body in enumerate(bodies, first)
                ]
            )

    def take(self, queue: str, limit: int) -> list[StoredMessage]:
        taken: list[StoredMessage] = []
        with self._database.calling():
            while len(taken) < limit and (oldest := self._take_oldest(queue)):
                taken.append(StoredMessage(oldest["seq"], oldest["queue"], oldest["body"]))
        return taken

    def depths(self) -> dict[str, int]:
        by_queue = {"$group": {"_id": "$queue", "depth": {"$sum": 1}}}
        with self._database.calling():
            found = list(self._messages.aggregate([by_queue]))
        return {queue["_id"]: queue["depth"] for queue in found}

    def bury(self, queue: str, body: bytes, reason: str, now: datetime) -> None:
        with self._database.calling():
            seq = numbers.take(self._database, "dead messages", 1)
            self._dead.insert_one(
                {"_id": seq, "queue": queue, "body": body, "reason": reason, "at": micros(now)}
            )

    def buried(self, limit: int = 100) -> list[DeadMessage]:
        with self._database.calling():
            found = list(self._dead.find().sort("_id", -1).limit(limit))
        return [
            DeadMessage(
                dead["_id"], dead["queue"], dead["body"], dead["reason"], instant(dead["at"])
            )
            for dead in found
        ]

    def replay(self, seqs: Sequence[int] | None = None) -> dict[str, int]:
        """Each is put back before it is forgotten: rather twice than not at all."""
        wanted = {} if seqs is None else {"_id": {"$in": list(seqs)}}
        with self._database.calling():
            found = list(self._dead.find(wanted).sort("_id", 1))
        for dead in found:
            self._replay(dead)
        return dict(Counter(dead["queue"] for dead in found))

    def purge(self, queue: str) -> int:
        with self._database.calling():
            return self._messages.delete_many({"queue": queue}).deleted_count

    def purge_buried(self) -> int:
        with self._database.calling():
            return self._dead.delete_many({}).deleted_count

    def _take_oldest(self, queue: str) -> Doc | None:
        return self._messages.find_one_and_delete({"queue": queue}, sort=[("seq", 1)])

    def _replay(self, dead: Doc) -> None:
        self.put(dead["queue"], [dead["body"]])
        with self._database.calling():
            self._dead.delete_one({"_id": dead["_id"]})
