"""Conversions between records and the documents that hold them, kind by kind.

A document made from a record has no pending journal entries. If its kind has no key of its own in
this engine, the document's id is made from the record, so that a repeated copy does not add it
twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import orjson

from synergy.storage import stored_fields as fields
from synergy.storage.codec import Codec, Kind, RecordFields
from synergy.storage.copy_records import KINDS
from synergy.storage.mongodb import journal, journaled
from synergy.storage.mongodb.answers import answer_id
from synergy.storage.mongodb.boxes import assignment_id
from synergy.storage.mongodb.database import Doc
from synergy.storage.mongodb.jobs import block_id
from synergy.storage.mongodb.messages import DEAD
from synergy.storage.mongodb.schedule_documents import history_of
from synergy.storage.mongodb.unit_documents import unique_fields
from synergy.storage.protocol import Record
from synergy.storage.quarantine_limits import size_of


class Table:
    """The collection of a kind of records, each of which is one document, ordered by `key`.

    `names` are those of `RecordFields`; `more` returns the fields of a document that follow from
    its other fields.
    """

    def __init__(
        self,
        kind: str,
        names: str,
        kinds: Mapping[str, Kind] | None = None,
        more: Callable[[Doc], Doc] = lambda _: {},
    ) -> None:
        self._fields = RecordFields(names, kinds or {}, lambda kind: kind.document)
        by_field = dict(zip(self._fields.names, self._fields.stored, strict=True))
        self.key = tuple(by_field[field] for field in KINDS[kind])
        self._more = more

    def record(self, document: Doc) -> Record:
        """The record that a document holds."""
        return self._fields.record(map(document.get, self._fields.stored))

    def document(self, record: Record) -> Doc:
        """The document that holds a record."""
        document: Doc = dict(zip(self._fields.stored, self._fields.values(record), strict=True))
        return document | self._more(document)


def _names(codec: Codec[Any], **stored: str) -> str:
    """The names of a type's fields; `stored` holds those that differ in documents."""
    return " ".join(f"{name}={stored.get(name, name)}" for name in codec.names)


def _unit(document: Doc) -> Doc:
    return {**unique_fields(document), **journaled.copied()}


def _journaled(document: Doc) -> Doc:
    return journaled.copied(document["v"])


TABLES = {
    kind: Table(kind, *described)
    for kind, *described in (
        ("facts", "name=_id value"),
        ("controls", "process=_id is_on trigger"),
        ("boxes", "id=_id seen_at"),
        (
            "assignments", "box process is_on", {},
            lambda one: {"_id": assignment_id(one["box"], one["process"])},
        ),
        (
            "job_blocks", "process block=number states generations", fields.BLOCK,
            # version 0 is older than all moves that the head of its process will list
            lambda one: {"_id": block_id((one["process"], one["number"])), "v": 0},
        ),
        (
            "units", f"{_names(fields.UNIT, id='_id')} number is_superseded",
            fields.UNIT.kinds, _unit,
        ),
        ("runs", f"{_names(fields.RUN, id='_id', rev='v')} number", fields.RUN.kinds, _journaled),
        ("events", _names(fields.EVENT, seq="_id"), fields.EVENT.kinds),
        (
            "operations", f"{_names(fields.OPERATION, id='_id', rev='v')} number",
            fields.OPERATION.kinds, _journaled,
        ),
        (
            "answers", _names(fields.ANSWER, rev="v"), fields.ANSWER.kinds,
            lambda one: {"_id": answer_id(one["person"], one["key"])},
        ),
        (
            "journal", _names(fields.ENTRY, seq="_id"), fields.ENTRY.kinds,
            # an entry that is copied is not pending anywhere, so its origin need only be unique
            lambda one: {"origin": f"copy:{one['_id']}"},
        ),
        (
            "dead_messages", "seq=_id queue body reason at", fields.DEAD_MESSAGE.kinds,
            lambda one: {"size": size_of(one["body"], one["reason"])},
        ),
    )
}  # fmt: skip

MARK = ("collection", "timeperiod", "low", "high", "rows")
COUNTERS = {"dead_message": DEAD, "journal": journal.LAST}

_SCHEDULE = RecordFields(
    "name=_id version origin is_enabled reason progress wake_at keys created_at changed_at rev=v",
    fields.SCHEDULE.kinds,
    lambda kind: kind.document,
)


def schedule_record(document: Doc, older: Sequence[Doc]) -> Record:
    """The record of a schedule with its versions; `older` are those before the present one."""
    versions = [
        [one["version"], one["edited_at"], one["edited_by"], orjson.loads(one["definition"])]
        for one in (*older, document)
    ]
    return _SCHEDULE.record(map(document.get, _SCHEDULE.stored)) | {"versions": versions}


def schedule_documents(record: Record) -> tuple[Doc, list[Doc]]:
    """The documents of a schedule and of its older versions, without pending journal entries.

    `birth` is made from the record, so that a repeated copy does not add the versions twice.
    """
    *older, newest = [
        {
            "version": version, "edited_at": at, "edited_by": who,
            "definition": orjson.dumps(definition).decode(),
        }
        for version, at, who, definition in record["versions"]
    ]  # fmt: skip
    document = {
        **dict(zip(_SCHEDULE.stored, _SCHEDULE.values(record), strict=True)),
        **newest,
        "birth": f"copy:{record['name']}:{record['created_at']}",
        "is_removed": False,
        **journaled.copied(record["rev"]),
    }
    return document, [history_of(document | edit) for edit in older]


def logs_record(attempt: tuple[str, int], lines: Iterable[Doc]) -> Record:
    """The record of an attempt's lines, in the order of writing."""
    texts = [[line["at"], line["level"], line["text"]] for line in sorted(lines, key=_written)]
    return {"unit": attempt[0], "attempt": attempt[1], "lines": texts}


def _written(line: Doc) -> tuple[bool, Any]:
    """The sort key of a line: copied lines, whose ids are strings, come first."""
    return not isinstance(line["_id"], str), line["_id"]


def logs_documents(record: Record) -> list[Doc]:
    """The documents of an attempt's lines."""
    unit, attempt = record["unit"], record["attempt"]
    return [
        {
            "_id": f"{unit}|{attempt}|{number:08}",
            "unit": unit, "attempt": attempt, "at": at, "level": level, "text": text,
        }
        for number, (at, level, text) in enumerate(record["lines"])
    ]  # fmt: skip
