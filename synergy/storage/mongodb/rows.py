"""Checks all documents that hold rows, and those that the engine keeps for itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pymongo
from bson import ObjectId

from synergy.storage import plain_rows as plain
from synergy.storage.malformed import MalformedRow, Name, Reader, wrong
from synergy.storage.mongodb import answers, boxes, controls, events, leases, logs, runs
from synergy.storage.mongodb import collection_rows as documents
from synergy.storage.mongodb.database import Database, Doc
from synergy.storage.mongodb.jobs import read_block
from synergy.storage.mongodb.journal import entry_from
from synergy.storage.mongodb.messages import MongoMessages, dead_message_of
from synergy.storage.mongodb.operations import operation_of
from synergy.storage.mongodb.schedule_documents import schedule_of, version_of
from synergy.storage.mongodb.unit_documents import unit_of
from synergy.storage.protocol.rows import CheckedRows

TIMEOUT_SECONDS = 60  # for each portion; nothing else waits for it

_READERS: Mapping[str, Reader[Any]] = {
    "facts": plain.FACT_ROW.reads_document(name="_id"),
    "controls": controls.control_of,
    "leases": leases.lease_of,
    "boxes": boxes.box_of,
    "assignments": boxes.assignment_of,
    "job_blocks": read_block,
    "units": unit_of,
    "unit_logs": logs.line_of,
    "schedules": schedule_of,
    "schedule_versions": version_of,
    "runs": runs.run_of,
    "events": events.event_of,
    "operations": operation_of,
    "answers": answers.answer_of,
    "journal": entry_from,
    "dead_messages": dead_message_of,
    "documents": plain.DOCUMENT_ROW.reads_document(),
    "messages": plain.MESSAGE_ROW.reads_document(seq="_id"),
}
_JOURNALED = {"v": int, "untold": list, "is_told": bool, "number": int}
_OWN: Mapping[str, Mapping[str, type]] = {
    "units": {**_JOURNALED, "job": str, "slot": str, "key": str, "is_superseded": bool},
    "schedules": {
        **{"v": int, "untold": list, "is_told": bool, "birth": str, "is_removed": bool},
        **{"edited_at": int, "edited_by": str},
    },
    "unit_logs": {"unit": str},
    "runs": _JOURNALED,
    "operations": _JOURNALED,
    "job_blocks": {"v": int},
    "job_heads": {"process": str, "v": int, "open": list},
    "payloads": {"parts": list},
    "payload_parts": {"content": bytes},
    "pages": {"collection": str, "timeperiod": str, "versions": list, "rows": int, "v": int},
    "changes": {"collection": str, "timeperiod": str, "low": int, "high": int, "rows": int},
    "counters": {"n": int},
}
"""The types of fields that only this engine has, by collection."""

_DRIVER = "driver"  # marks an id that the driver made: a text may look the same
_KINDS = list(dict.fromkeys([*_READERS, *_OWN]))


class MongoRows:
    """See `synergy.storage.protocol.Rows`."""

    def __init__(self, database: Database, messages: MongoMessages) -> None:
        self._database = database
        self._messages = messages

    def kinds(self) -> Sequence[str]:
        return _KINDS

    def check(self, kind: str, after: Name | None, limit: int) -> CheckedRows:
        count, last = 0, after
        found: list[MalformedRow] = []
        with self._database.calling(), pymongo.timeout(TIMEOUT_SECONDS):
            for part, document in self._documents(kind, after, limit):
                count, last = count + 1, (part, *_key(document["_id"]))
                problem = _problem(kind, part, document)
                if problem:
                    found.append(MalformedRow(kind, last[:2] if part else last[1:2], problem))
        return CheckedRows(count, found, last if count == limit else None)

    def find(self, kind: str, name: Name) -> MalformedRow | None:
        part, id_ = name if len(name) > 1 else ("", *name)
        with self._database.calling():
            collection = self._database[f"{kind}.{part}" if part else kind]
            document = collection.find_one({"_id": {"$in": [id_, *_object_ids(id_)]}})
        problem = None if document is None else _problem(kind, str(part), document)
        return MalformedRow(kind, name, problem) if problem else None

    def met(self) -> Sequence[MalformedRow]:
        return self._database.malformed.all()

    def _documents(self, kind: str, after: Name | None, limit: int) -> Iterator[tuple[str, Doc]]:
        """The documents of a kind, each with its queue or collection of documents, or ""."""
        begin = after[0] if after else ""
        for part in self._parts(kind):
            if part < str(begin):
                continue
            wanted = _beyond(*after[1:]) if after and part == begin else {}
            collection = self._database[f"{kind}.{part}" if part else kind]
            for document in collection.find(wanted).sort("_id", 1).limit(limit):
                yield part, document
                limit -= 1
            if limit <= 0:
                return

    def _parts(self, kind: str) -> Sequence[str]:
        if kind == "documents":
            return documents.collections(self._database)
        return self._messages.queues() if kind == "messages" else [""]


def _problem(kind: str, part: str, document: Doc) -> str:
    """What is wrong with a document; "" if it is sound."""
    for field, type_ in _OWN.get(kind, {}).items():
        if not isinstance(document.get(field), type_):
            return f"field {field}: {wrong(document.get(field))}"
    if kind not in _READERS:
        return ""
    named = {"collection": part, "seq": 0} if kind == "documents" else {"queue": part}
    also = plain.checked_entry if kind == "journal" else _nothing
    found = _READERS[kind].check({**document, **named} if part else document, also)
    if found is None and kind == "boxes":
        rows = boxes.observed_rows(document)
        found = next(filter(None, map(boxes.observed_of.check, rows)), None)
    return "" if found is None else found.problem


def _nothing(_: object) -> None:
    """Finds nothing wrong."""


def _key(id_: object) -> Name:
    """An id as a text or a number, and `_DRIVER` if it is not what it looks like."""
    if isinstance(id_, ObjectId):
        return str(id_), _DRIVER
    return (id_ if isinstance(id_, int) else str(id_),)


def _object_ids(id_: object) -> list[ObjectId]:
    return [ObjectId(id_)] if isinstance(id_, str) and ObjectId.is_valid(id_) else []


def _beyond(id_: str | int, kind: str | int = "") -> Doc:
    """The ids after one; numbers come before texts, and these before the driver's own ids."""
    if kind == _DRIVER:
        return {"_id": {"$gt": ObjectId(str(id_))}}
    after: list[Any] = [{"$gt": id_}, {"$gte": ObjectId(bytes(12))}]
    if isinstance(id_, int):
        after.append({"$gte": ""})
    return {"$or": [{"_id": one} for one in after]}
