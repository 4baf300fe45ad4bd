"""The journal, and how the other nouns write into it.

A change of a document carries what the journal has yet to be told of it, in the same
compare-and-set (`untold`). Each such entry has an `origin`, made of the document and its
version, which is unique in the journal: any process may write an untold entry at any time,
and it is there once.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import takewhile
from typing import Any

from synergy.model.journal import JournalEntry
from synergy.storage.instants import micros
from synergy.storage.mongodb.database import Database, Doc
from synergy.storage.mongodb.numbered import NumberedCollection
from synergy.storage.mongodb.sequence import extend, newest
from synergy.storage.stored_fields import ENTRY

LAST = "journal"  # the counter that outlives the newest entry
_REMEMBERED = 10_000  # origins


class MongoJournal:
    """See `synergy.storage.protocol.Journal`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._entries = NumberedCollection(database, "journal", entry_from, "_id")
        self._lock = threading.Lock()
        self._told: dict[str, None] = {}  # the newest origins that were told from here

    def append(self, entries: Sequence[JournalEntry]) -> None:
        self.tell([(secrets.token_hex(12), entry) for entry in entries])

    def tell(self, entries: Iterable[tuple[str, JournalEntry]]) -> None:
        """Adds those entries whose origin the journal does not know yet, in order."""
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

    def tell_older(self, entries: Iterable[tuple[str, JournalEntry]]) -> None:
        """Tells what was not told yet of a document that is about to change once more.

        Its writer may have been cut off, or is merely slower; the order of a document's entries
        is that of its changes in either case.
        """
        unsure = [entry for entry in entries if entry[0] not in self._told]
        if unsure:
            known = self.known(origin for origin, _ in unsure)
            self.tell([entry for entry in unsure if entry[0] not in known])

    def known(self, origins: Iterable[str]) -> set[str]:
        """Those of the origins that have been told."""
        found = self._database["journal"].find({"origin": {"$in": list(origins)}}, {"origin": 1})
        return {document["origin"] for document in found}

    def _remember(self, origins: Iterable[str]) -> None:
        with self._lock:
            self._told.update(dict.fromkeys(origins))
            while len(self._told) > _REMEMBERED:
                del self._told[next(iter(self._told))]

    def since(self, seq: int, limit: int, besides: str = "") -> list[JournalEntry]:
        wanted: dict[str, Any] = {"_id": {"$gt": seq}}
        if besides:
            wanted["who"] = {"$ne": besides}
        return self._entries.find(wanted, 1, limit)

    def of_job(
        self, process: str, timeperiod: str, limit: int = 128, before: int | None = None
    ) -> list[JournalEntry]:
        span = {"first": {"$lte": timeperiod}, "last": {"$gte": timeperiod}}
        return self._entries.find({"process": process, **span, **_below(before)}, -1, limit)

    def find(
        self, process: str | None = None, limit: int = 128, before: int | None = None
    ) -> list[JournalEntry]:
        of = {} if process is None else {"process": process}
        return self._entries.find({**of, **_below(before)}, -1, limit)

    def last_seq(self) -> int:
        with self._database.calling():
            last = newest(self._database["journal"])
            if last is None:  # all entries were forgotten, or there never was one
                last = self._database["counters"].find_one({"_id": LAST}) or {"n": 0}
                return int(last["n"])
            return int(last["_id"])

    def prune(self, before: datetime, limit: int) -> int:
        with self._database.calling():
            journal = self._database["journal"]
            oldest = journal.find({}, {"at": 1}).sort("_id", 1).limit(limit)
            # Never the newest before an older one, whose number would then be the last.
            old = [entry["_id"] for entry in takewhile(lambda e: e["at"] < micros(before), oldest)]
            if not old:
                return 0
            counters = self._database["counters"]
            counters.update_one({"_id": LAST}, {"$max": {"n": max(old)}}, upsert=True)
            return journal.delete_many({"_id": {"$in": old}}).deleted_count


def _below(before: int | None) -> dict[str, Any]:
    return {} if before is None else {"_id": {"$lt": before}}


entry_from = ENTRY.reads_document(seq="_id")
"""The entry that a document holds, with its number if it has one."""

document_of = ENTRY.writes_document(
    "at event process first last before after generation why who unit attempt covered flags"
)
"""An entry as it is stored, without its number and origin."""
