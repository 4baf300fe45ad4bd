"""Everything in the store as records; see `synergy.storage.copy_records`.

Most kinds are a collection each (`record_documents`). Copied rows of documents get one version,
which is the only one of their timeperiods.
"""

from __future__ import annotations

from base64 import b64decode
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby, islice
from operator import itemgetter
from typing import Any

import pymongo
from pymongo.collection import Collection
from pymongo.cursor import Cursor

from synergy.storage.codec import packed
from synergy.storage.copy_records import beginning
from synergy.storage.mongodb import collection_rows as rows
from synergy.storage.mongodb import operations, runs, units
from synergy.storage.mongodb.changes import Changes
from synergy.storage.mongodb.compare_and_set import insert_new
from synergy.storage.mongodb.counters import upsert, value
from synergy.storage.mongodb.database import Database, Doc
from synergy.storage.mongodb.journal import MongoJournal
from synergy.storage.mongodb.messages import FREE, MongoMessages, counter_of
from synergy.storage.mongodb.payloads import MongoPayloads
from synergy.storage.mongodb.record_documents import (
    COUNTERS,
    MARK,
    TABLES,
    logs_documents,
    logs_record,
    schedule_documents,
    schedule_record,
)
from synergy.storage.mongodb.schedules import HISTORY, VISIBLE
from synergy.storage.protocol import Key, Record

TIMEOUT_SECONDS = 60  # per portion; nothing else waits for it

_AT_ONCE = 1_000  # documents per reply of the server
_TOGETHER = 100  # documents that are processed together: bodies may be long
_NUMBERED = {  # the counter of each kind that has one
    "units": units.COUNTER,
    "runs": runs.COUNTER,
    "operations": operations.COUNTER,
}
_VERSION = "+copy"  # the version of copied rows, which no unit wrote


Read = Callable[[Key], Iterator[Record]]
Write = Callable[[Sequence[Record]], None]


class MongoTransfer:
    """See `synergy.storage.protocol.Transfer`."""

    def __init__(
        self,
        database: Database,
        changes: Changes,
        journal: MongoJournal,
        messages: MongoMessages,
        payloads: MongoPayloads,
    ) -> None:
        self._database = database
        self._changes = changes
        self._journal = journal
        self._messages = messages
        self._payloads = payloads
        self._special: Mapping[str, tuple[Read, Write]] = {
            "unit_logs": (self._logs, self._write_logs),
            "schedules": (self._schedules, self._write_schedules),
            "payloads": (self._bodies, self._write_bodies),
            "marks": (self._marks, self._write_marks),
            "documents": (self._documents, self._write_documents),
            "messages": (self._queued, self._write_messages),
            "numbers": (self._numbers, self._write_numbers),
        }

    def counts(self) -> dict[str, int]:
        attempts = {"$group": {"_id": {"unit": "$unit", "attempt": "$attempt"}}}
        with self._database.calling(), pymongo.timeout(TIMEOUT_SECONDS):
            counts = {
                kind: self._database[kind].estimated_document_count()
                for kind in (*TABLES, "payloads")
            }
            counts["unit_logs"] = len(list(self._database["unit_logs"].aggregate([attempts])))
            counts["schedules"] = self._database["schedules"].count_documents(VISIBLE)
            counts["marks"] = self._database["changes"].count_documents({"is_newest": True})
            counts["messages"] = sum(
                self._messages.queue(queue).estimated_document_count()
                for queue in self._messages.queues()
            )
        counts["documents"] = sum(self._changes.rows().values())
        counts["numbers"] = len(list(self._numbers(beginning("numbers"))))
        return counts

    def read(self, kind: str, after: Key) -> Iterator[Record]:
        if kind in self._special:
            return self._special[kind][0](after)
        order = dict(zip(TABLES[kind].key, after, strict=True))
        return map(TABLES[kind].record, self._following(self._database[kind], order))

    def write(self, kind: str, records: Sequence[Record]) -> None:
        if not records:
            return
        with self._database.calling(), pymongo.timeout(TIMEOUT_SECONDS):
            if kind in self._special:
                self._special[kind][1](records)
                return
            insert_new(self._database[kind], [TABLES[kind].document(one) for one in records])
            if kind in _NUMBERED:
                self._raise({_NUMBERED[kind]: records[-1]["number"]})

    def _write_logs(self, records: Sequence[Record]) -> None:
        lines = [line for record in records for line in logs_documents(record)]
        insert_new(self._database["unit_logs"], lines)

    def _write_marks(self, records: Sequence[Record]) -> None:
        """Writes one change for each timeperiod, which stands for all its writes, and its page."""
        changes = [{"_id": mark["high"], "is_newest": True, **mark} for mark in records]
        insert_new(self._database["changes"], changes)
        pages = [
            rows.page_of(mark["collection"], mark["timeperiod"], _VERSION, mark["rows"])
            for mark in records
        ]
        insert_new(self._database["pages"], pages)

    def _write_bodies(self, records: Sequence[Record]) -> None:
        for record in records:
            self._payloads.put(b64decode(record["content"]))

    def _write_numbers(self, records: Sequence[Record]) -> None:
        self._raise({COUNTERS[record["name"]]: record["n"] for record in records})

    def _raise(self, lasts: Mapping[str, int]) -> None:
        """Raises counters to at least the given last numbers."""
        for name, last in lasts.items():
            upsert(self._database["counters"], name, {"$max": {"n": last}})

    def _numbers(self, after: Key) -> Iterator[Record]:
        present = {name: value(self._database, counter) for name, counter in COUNTERS.items()}
        present["journal"] = max(present["journal"], self._journal.last_seq())
        for name, last in sorted(present.items()):
            if last and (name,) > after:
                yield {"name": name, "n": last}

    def _logs(self, after: Key) -> Iterator[Record]:
        order = dict(zip(("unit", "attempt"), after, strict=True))
        lines = self._following(self._database["unit_logs"], order)
        for attempt, group in groupby(lines, itemgetter("unit", "attempt")):
            yield logs_record(attempt, group)

    def _schedules(self, after: Key) -> Iterator[Record]:
        found = self._following(self._database["schedules"], {"_id": after[0]}, VISIBLE)
        while part := list(islice(found, _TOGETHER)):
            older = self._older([schedule["birth"] for schedule in part])
            yield from (schedule_record(one, older[one["birth"]]) for one in part)

    def _older(self, births: Sequence[str]) -> dict[str, list[Doc]]:
        """The versions of schedules before the present ones, oldest first, by `birth`."""
        versions: defaultdict[str, list[Doc]] = defaultdict(list)
        with self._database.calling(), pymongo.timeout(TIMEOUT_SECONDS):
            found = self._database[HISTORY].find({"birth": {"$in": births}}).sort("version", 1)
            for one in found:
                versions[one["birth"]].append(one)
        return versions

    def _write_schedules(self, records: Sequence[Record]) -> None:
        made = [schedule_documents(record) for record in records]
        insert_new(self._database[HISTORY], [one for _, older in made for one in older])
        insert_new(self._database["schedules"], [schedule for schedule, _ in made])

    def _bodies(self, after: Key) -> Iterator[Record]:
        for name in self._payloads.names(str(after[0])):
            content = self._payloads.get(name)
            if content is not None:  # else it was deleted meanwhile
                yield {"name": name, "content": packed(content)}

    def _marks(self, after: Key) -> Iterator[Record]:
        """The newest change of each place; of two that are marked newest, the later one."""
        order = dict(zip(("collection", "timeperiod"), after, strict=True))
        changes = self._following(self._database["changes"], order, {"is_newest": True})
        for _, group in groupby(changes, itemgetter("collection", "timeperiod")):
            newest = max(group, key=itemgetter("_id"))
            yield {name: newest[name] for name in MARK}

    def _documents(self, after: Key) -> Iterator[Record]:
        last, timeperiod, key = map(str, after)
        for collection in sorted(rows.collections(self._database)):
            if collection >= last:
                place = (timeperiod, key) if collection == last else ("", "")
                yield from self._shown(collection, place)

    def _shown(self, collection: str, after: rows.Row) -> Iterator[Record]:
        """The visible rows of a collection; all versions of a key are read together."""
        order = dict(zip(("timeperiod", "key"), after, strict=True))
        found = self._following(rows.table(self._database, collection), order)
        keys = groupby(found, itemgetter("timeperiod", "key"))
        while part := [row for _, versions in islice(keys, _TOGETHER) for row in versions]:
            shown = rows.shown(part, self._pages(collection, part))
            for at, key in sorted(shown):
                body = shown[at, key]["body"]
                yield {"collection": collection, "timeperiod": at, "key": key, "body": body}

    def _pages(self, collection: str, part: Sequence[Doc]) -> dict[str, Doc]:
        ids = sorted({rows.page_id(collection, row["timeperiod"]) for row in part})
        with self._database.calling():
            found = self._database["pages"].find({"_id": {"$in": ids}})
            return {page["timeperiod"]: page for page in found}

    def _queued(self, after: Key) -> Iterator[Record]:
        last, seq = after
        for queue in sorted(self._messages.queues()):
            if queue >= str(last):
                order = {"_id": seq if queue == last else 0}
                for message in self._following(self._messages.queue(queue), order):
                    body = packed(message["body"])
                    yield {"queue": queue, "seq": message["_id"], "body": body}

    def _write_messages(self, records: Sequence[Record]) -> None:
        for queue, group in groupby(records, lambda record: str(record["queue"])):
            messages = [
                {"_id": one["seq"], "body": b64decode(one["body"]), "taker": FREE} for one in group
            ]
            self._messages.prepare(queue)
            insert_new(self._messages.queue(queue), messages)
            self._raise({counter_of(queue): messages[-1]["_id"]})

    def _write_documents(self, records: Sequence[Record]) -> None:
        for collection, group in groupby(records, lambda record: str(record["collection"])):
            some = [
                rows.row_of((row["timeperiod"], row["key"]), _VERSION, row["body"].encode())
                for row in group
            ]
            rows.insert(self._database, collection, some)

    def _following(
        self, collection: Collection[Doc], order: Mapping[str, Any], where: Doc | None = None
    ) -> Iterator[Doc]:
        """The documents after the values of `order`, sorted by its fields.

        For `order` (a, b) there are two queries, so that an index serves each: the documents with
        the same a and a greater b, then those with a greater a.
        """
        names = list(order)
        for depth in reversed(range(len(names))):
            same, rest = names[:depth], names[depth:]
            wanted = {name: order[name] for name in same} | {rest[0]: {"$gt": order[rest[0]]}}
            with self._database.calling():
                found = collection.find(wanted | (where or {})).batch_size(_AT_ONCE)
                found.sort([(name, 1) for name in rest])
            while part := self._next(found):
                yield from part

    def _next(self, found: Cursor[Doc]) -> list[Doc]:
        with self._database.calling(), pymongo.timeout(TIMEOUT_SECONDS):
            return list(islice(found, _TOGETHER))
