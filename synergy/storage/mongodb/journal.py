"""The journal, and how the other modules write into it.

The compare-and-set that changes a document also adds the journal entry of the change to the
document's pending entries (the field `untold`). After that, the entry is written into the journal.
Its `origin`, made of the document and its version, is unique there. So any process may write a
pending entry at any time, and the journal has it once.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import takewhile
from typing import Any

from synergy.model.journal import JournalEntry
from synergy.model.time_range import EVER, TimeRange
from synergy.storage.instants import micros
from synergy.storage.mongodb.database import Database, Doc, first
from synergy.storage.mongodb.numbered_documents import NumberedCollection, within_times
from synergy.storage.mongodb.sequence import extend, newest
from synergy.storage.stored_fields import ENTRY

LAST = "journal"  # the counter that holds the last number if all entries were pruned
_REMEMBERED = 10_000  # origins of entries that this process added


class MongoJournal:
    """See `synergy.storage.protocol.Journal`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._entries = NumberedCollection(database, "journal", entry_from, "_id")
        self._lock = threading.Lock()
        self._added: dict[str, None] = {}  # the newest origins that this process added

    def append(self, entries: Sequence[JournalEntry]) -> None:
        self.add([(secrets.token_hex(12), entry) for entry in entries])

    def add(self, entries: Iterable[tuple[str, JournalEntry]]) -> None:
        """Adds, in order, the entries whose origins the journal lacks."""
        rest = [{**document_of(entry), "origin": origin} for origin, entry in entries]
        if not rest:
            return
        is_retry = False

        def numbered(last: int, _inserted: int) -> list[Doc]:
            nonlocal rest, is_retry
            if is_retry:
                known = self.known(document["origin"] for document in rest)
                rest = [document for document in rest if document["origin"] not in known]
            is_retry = True
            return [{**document, "_id": number} for number, document in enumerate(rest, last + 1)]

        origins = [document["origin"] for document in rest]
        with self._database.calling():
            extend(self._database["journal"], self.last_seq, numbered)
        self._remember(origins)

    def add_pending(self, entries: Iterable[tuple[str, JournalEntry]]) -> None:
        """Adds pending entries of documents that are about to change again.

        The process that made the earlier change may have died, or may be slower. Adding its entries
        first keeps the entries of a document in the order of its changes.
        """
        unsure = [entry for entry in entries if entry[0] not in self._added]
        if unsure:
            known = self.known(origin for origin, _ in unsure)
            self.add([entry for entry in unsure if entry[0] not in known])

    def known(self, origins: Iterable[str]) -> set[str]:
        """The origins among the given ones that the journal has."""
        found = self._database["journal"].find({"origin": {"$in": list(origins)}}, {"origin": 1})
        return {document["origin"] for document in found}

    def _remember(self, origins: Iterable[str]) -> None:
        with self._lock:
            self._added.update(dict.fromkeys(origins))
            while len(self._added) > _REMEMBERED:
                del self._added[next(iter(self._added))]

    def since(self, seq: int, limit: int, besides: str = "") -> list[JournalEntry]:
        wanted: dict[str, Any] = {"_id": {"$gt": seq}}
        if besides:
            wanted["who"] = {"$ne": besides}
        return self._entries.find(wanted, 1, limit)

    def of_job(
        self,
        process: str,
        timeperiod: str,
        limit: int = 128,
        before: int | None = None,
        within: TimeRange = EVER,
    ) -> list[JournalEntry]:
        span = {"first": {"$lte": timeperiod}, "last": {"$gte": timeperiod}}
        of = {"process": process, **span, **within_times("at", within)}
        return self._entries.find({**of, **_below(before)}, -1, limit)

    def find(
        self,
        process: str | None = None,
        limit: int = 128,
        before: int | None = None,
        within: TimeRange = EVER,
    ) -> list[JournalEntry]:
        of = {} if process is None else {"process": process}
        times = within_times("at", within)
        return self._entries.find({**of, **times, **_below(before)}, -1, limit)

    def last_seq(self) -> int:
        with self._database.calling():
            last = newest(self._database["journal"])
            if last is None:  # all entries were pruned, or there never was one
                last = self._database["counters"].find_one({"_id": LAST}) or {"n": 0}
                return int(last["n"])
            return int(last["_id"])

    def prune(self, before: datetime, limit: int) -> int:
        with self._database.calling():
            journal = self._database["journal"]
            oldest = first(journal.find({}, {"at": 1}).sort("_id", 1), limit)
            # Entries go in the order of numbers, so that the last number never goes back.
            old = [entry["_id"] for entry in takewhile(lambda e: e["at"] < micros(before), oldest)]
            if not old:
                return 0
            counters = self._database["counters"]
            counters.update_one({"_id": LAST}, {"$max": {"n": max(old)}}, upsert=True)
            return journal.delete_many({"_id": {"$in": old}}).deleted_count


def _below(before: int | None) -> dict[str, Any]:
    return {} if before is None else {"_id": {"$lt": before}}


entry_from = ENTRY.reads_document(seq="_id")
"""The entry in a document, with its number if the document has one."""

document_of = ENTRY.writes_document(
    "at event process first last before after generation why who unit attempt covered flags"
)
"""The document of an entry, without its number and origin."""
