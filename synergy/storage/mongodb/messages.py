"""Messages of the bus that is kept in the store: a collection for each queue.

A message that is taken within a batch is marked with its taker. It is deleted at the end of the
batch, or freed if the batch fails. If the process dies before the end of the batch, `recover` frees
the message, so that each message is handled at least once.
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from functools import partial

from pymongo.collection import Collection

from synergy.runtime.masking import mask
from synergy.storage.instants import micros
from synergy.storage.mongodb import counters
from synergy.storage.mongodb.database import Database, Doc, first
from synergy.storage.protocol import (
    QUARANTINE_LIMITS,
    DeadMessage,
    QuarantineContents,
    QuarantineLimits,
    StoredMessage,
)
from synergy.storage.quarantine_limits import exceeds, size_of, surplus
from synergy.storage.stored_fields import DEAD_MESSAGE

FREE = ""  # the taker of a waiting message
DEAD = "dead messages"  # the counter of dead messages
DROPPED = "dropped dead messages"  # the counter of those that were dropped because of the limits
SIZED = {"size": {"$gte": 0}}  # all dead messages, found by the index of their sizes
SOME = 20  # sizes that are read at a time: to read one, the server reads its message
_PREFIX = "messages."  # begins the name of a queue's collection

dead_message_of = DEAD_MESSAGE.reads_document(seq="_id")


class MongoMessages:
    """See `synergy.storage.protocol.Messages`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._dead = database["dead_messages"]
        self._prepared: set[str] = set()  # queues whose index is made
        self._stuck: set[tuple[str, str]] = set()  # (queue, taker) at the last `recover`

    def put(self, queue: str, bodies: Sequence[bytes]) -> None:
        if not bodies:
            return
        with self._database.calling():
            first = counters.take(self._database, counter_of(queue), len(bodies))
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
            found = list(first(messages.find({"taker": FREE}).sort("_id", 1), limit))
            if not found:
                return []
            free = {"_id": {"$in": [message["_id"] for message in found]}, "taker": FREE}
            marked = messages.update_many(free, {"$set": {"taker": taker}}).matched_count
            if marked < len(found):
                found = list(messages.find({"taker": taker}).sort("_id", 1))
            self._database.at_end(
                partial(self._delete, queue, taker), partial(self._free, queue, taker)
            )
        if not found:  # other takers took all of them; more may be waiting
            return self.take(queue, limit)
        return [StoredMessage(one["_id"], queue, one["body"]) for one in found]

    def recover(self) -> int:
        """Frees messages whose takers had them at the last call already; returns their number."""
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

    def bury(
        self,
        queue: str,
        body: bytes,
        reason: str,
        now: datetime,
        limits: QuarantineLimits = QUARANTINE_LIMITS,
    ) -> int:
        reason = mask(reason)
        with self._database.calling():
            seq = counters.take(self._database, DEAD, 1)
            message = {"queue": queue, "body": body, "reason": reason, "at": micros(now)}
            self._dead.insert_one({"_id": seq, **message, "size": size_of(body, reason)})
            return self._drop(limits)

    def quarantine(self) -> QuarantineContents:
        """Sums the sizes in the index, where MongoDB finds them without the messages.

        It takes two queries, because FerretDB returns only the first sum of a group.
        """
        total = {"$group": {"_id": None, "bytes": {"$sum": "$size"}}}
        with self._database.calling():
            messages = self._dead.count_documents(SIZED)
            sums = list(self._dead.aggregate([{"$match": SIZED}, total]))
            dropped = counters.value(self._database, DROPPED)
        return QuarantineContents(messages, sums[0]["bytes"] if sums else 0, dropped)

    def buried(self, limit: int = 100, before: int | None = None) -> list[DeadMessage]:
        wanted = {} if before is None else {"_id": {"$lt": before}}
        with self._database.calling():
            found = list(first(self._dead.find(wanted).sort("_id", -1), limit))
        return dead_message_of.each(found, self._database.malformed)

    def replay(self, seqs: Sequence[int] | None = None) -> dict[str, int]:
        """Puts each message back before deleting it: a crash in between leaves both."""
        wanted = {} if seqs is None else {"_id": {"$in": list(seqs)}}
        with self._database.calling():
            found = list(self._dead.find(wanted).sort("_id", 1))
        for dead in found:
            self._replay(dead)
        return dict(Counter(dead["queue"] for dead in found))

    def purge(self, queue: str) -> int:
        with self._database.calling():
            return self.queue(queue).delete_many({"taker": FREE}).deleted_count

    def purge_buried(self, seqs: Sequence[int] | None = None) -> int:
        wanted = {} if seqs is None else {"_id": {"$in": list(seqs)}}
        with self._database.calling():
            return self._dead.delete_many(wanted).deleted_count

    def queue(self, name: str) -> Collection[Doc]:
        """The collection that holds the messages of a queue."""
        return self._database[f"{_PREFIX}{name}"]

    def queues(self) -> list[str]:
        """The queues that messages were ever put into."""
        return [name.removeprefix(_PREFIX) for name in self._database.collections(_PREFIX)]

    def prepare(self, queue: str) -> None:
        """Makes the index of a queue, which only speeds up reading."""
        if queue not in self._prepared:
            self.queue(queue).create_index([("taker", 1), ("_id", 1)], name="waiting")
            self._prepared.add(queue)

    def _drop(self, limits: QuarantineLimits) -> int:
        """Drops the oldest messages beyond the limits; returns how many.

        The contents are read after the messages: if other processes drop some of these, too few
        are dropped here, never too many, and the next turn drops the rest.
        """
        dropped = 0
        while exceeds(self.quarantine(), limits):
            oldest = list(self._dead.find(SIZED, {"size": 1}).sort("_id", 1).limit(SOME))
            sizes = [(one["_id"], one["size"]) for one in oldest]
            seqs = surplus(self.quarantine(), limits, sizes)
            dropped += self._dead.delete_many({"_id": {"$in": seqs}}).deleted_count
        if dropped:
            counters.take(self._database, DROPPED, dropped)
        return dropped

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
    """The counter of a queue's messages."""
    return f"queue {queue}"
