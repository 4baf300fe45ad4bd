"""Messages at rest, for the bus that lives in the store: a collection for each queue.

A message that is taken within a batch is marked with its taker, and deleted at the end of the
batch; it is free again if the batch fails. Those of a taker that died before the end of
its batch are freed by `recover`, so that each message is handled at least once.
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from functools import partial

from pymongo.collection import Collection

from synergy.storage.instants import micros
from synergy.storage.mongodb import numbers
from synergy.storage.mongodb.database import Database, Doc
from synergy.storage.protocol import DeadMessage, StoredMessage
from synergy.storage.stored_fields import DEAD_MESSAGE

FREE = ""  # the taker of a message that waits
DEAD = "dead messages"  # the counter that gives them their numbers
_PREFIX = "messages."  # of the collection of each queue

_dead_message_of = DEAD_MESSAGE.reads_document(seq="_id")


class MongoMessages:
    """See `synergy.storage.protocol.Messages`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._dead = database["dead_messages"]
        self._prepared: set[str] = set()  # queues that have their index
        self._stuck: set[tuple[str, str]] = set()  # queues and takers at the last look

    def put(self, queue: str, bodies: Sequence[bytes]) -> None:
        if not bodies:
            return
        with self._database.calling():
            first = numbers.take(self._database, counter_of(queue), len(bodies))
            self.prepare(queue)
            self.queue(queue).insert_many(
                [
                    {"_id": seq, "body": body, "taker": FREE}
                    for seq, body in enumerate(bodies, first)
                ]
            )

    def take(self, queue: str, limit: int) -> list[StoredMessage]:
        taker = secrets.token_hex(8)
        messages = self.queue(queue)
        with self._database.calling():
            found = list(messages.find({"taker": FREE}).sort("_id", 1).limit(limit))
            if not found:
                return []
            free = {"_id": {"$in": [message["_id"] for message in found]}, "taker": FREE}
            marked = messages.update_many(free, {"$set": {"taker": taker}}).matched_count
            if marked < len(found):
                found = list(messages.find({"taker": taker}).sort("_id", 1))
            self._database.at_end(
                partial(self._delete, queue, taker), partial(self._free, queue, taker)
            )
        if not found:  # others took all of them: there may be more
            return self.take(queue, limit)
        return [StoredMessage(one["_id"], queue, one["body"]) for one in found]

    def recover(self) -> int:
        """Frees what was taken and stood still since the last call; returns how much."""
        wanted = {"taker": {"$ne": FREE}}
        with self._database.calling():
            takers = {
                (queue, message["taker"])
                for queue in self.queues()
                for message in self.queue(queue).find(wanted, {"taker": 1})
            }
        left = takers & self._stuck
        self._stuck = takers
        return sum(self._free(*taken) for taken in left)

    def depths(self) -> dict[str, int]:
        with self._database.calling():
            counts = {
                queue: self.queue(queue).count_documents({"taker": FREE}) for queue in self.queues()
            }
        return {queue: count for queue, count in counts.items() if count}

    def bury(self, queue: str, body: bytes, reason: str, now: datetime) -> None:
        with self._database.calling():
            seq = numbers.take(self._database, DEAD, 1)
            self._dead.insert_one(
                {"_id": seq, "queue": queue, "body": body, "reason": reason, "at": micros(now)}
            )

    def buried(self, limit: int = 100, before: int | None = None) -> list[DeadMessage]:
        wanted = {} if before is None else {"_id": {"$lt": before}}
        with self._database.calling():
            found = list(self._dead.find(wanted).sort("_id", -1).limit(limit))
        return [_dead_message_of(one) for one in found]

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
            return self.queue(queue).delete_many({}).deleted_count

    def purge_buried(self, seqs: Sequence[int] | None = None) -> int:
        wanted = {} if seqs is None else {"_id": {"$in": list(seqs)}}
        with self._database.calling():
            return self._dead.delete_many(wanted).deleted_count

    def queue(self, name: str) -> Collection[Doc]:
        """Where the messages of a queue are."""
        return self._database[f"{_PREFIX}{name}"]

    def queues(self) -> list[str]:
        """The queues that ever had a message."""
        return [name.removeprefix(_PREFIX) for name in self._database.collections(_PREFIX)]

    def prepare(self, queue: str) -> None:
        """Makes the index of a queue; nothing but speed rests on it."""
        if queue not in self._prepared:
            self.queue(queue).create_index([("taker", 1), ("_id", 1)], name="waiting")
            self._prepared.add(queue)

    def _delete(self, queue: str, taker: str) -> None:
        with self._database.calling():
            self.queue(queue).delete_many({"taker": taker})

    def _free(self, queue: str, taker: str) -> int:
        with self._database.calling():
            freed = self.queue(queue).update_many({"taker": taker}, {"$set": {"taker": FREE}})
            return freed.matched_count

    def _replay(self, dead: Doc) -> None:
        self.put(dead["queue"], [dead["body"]])
        with self._database.calling():
            self._dead.delete_one({"_id": dead["_id"]})


def counter_of(queue: str) -> str:
    """The counter that gives messages of a queue their numbers."""
    return f"queue {queue}"
