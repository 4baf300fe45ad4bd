"""Between records and the documents that hold them, kind by kind.

What is made of a record is as if the engine itself had made it long ago: units and blocks have
told the journal all there is. Documents that have no key of their own in this engine get one
of the record's, so that they exist once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from synergy.storage.blocks import Block
from synergy.storage.mongodb import (
    jobs,
    journal,
    journaled,
    operation_documents,
    run_documents,
    unit_documents,
)
from synergy.storage.mongodb.boxes import assignment_of
from synergy.storage.mongodb.database import Doc
from synergy.storage.mongodb.messages import DEAD, FREE
from synergy.storage.protocol import Record
from synergy.storage.records import (
    answer_of,
    entry_of,
    event_of,
    of_answer,
    of_entry,
    of_event,
    of_operation,
    of_run,
    of_unit,
    operation_of,
    packed,
    run_of,
    unit_of,
    unpacked,
)


@dataclass(frozen=True, slots=True)
class Table:
    """A kind of which a record is a document of a collection, ordered by `key`."""

    collection: str
    key: tuple[str, ...]
    record: Callable[[Doc], Record]
    document: Callable[[Record], Doc]


def lines_of(record: Record) -> list[Doc]:
    """The lines of an attempt, each with an id of its own."""
    unit, attempt = record["unit"], record["attempt"]
    return [
        {
            "_id": f"{unit}|{attempt}|{number:08}",
            "unit": unit, "attempt": attempt, "at": at, "level": level, "text": text,
        }
        for number, (at, level, text) in enumerate(record["lines"])
    ]  # fmt: skip


def change_of(mark: Record) -> Doc:
    """As if the last write to the timeperiod had been a single one."""
    return {"_id": mark["high"], "is_newest": True, **mark}


def message_of(queue: str, document: Doc) -> Record:
    """A message at rest in a queue; one that a dead consumer had taken rests as well."""
    return {"queue": queue, "seq": document["_id"], "body": packed(document["body"])}


def message_document(record: Record) -> Doc:
    """A message as its queue holds it."""
    return {"_id": record["seq"], "body": unpacked(record["body"]), "taker": FREE}


def _table(collection: str, *key: str, **fields: str) -> Table:
    """A table whose documents have these fields, by the fields of the record."""
    return Table(
        collection,
        key,
        lambda document: {name: document.get(field) for name, field in fields.items()},
        lambda record: {field: record[name] for name, field in fields.items()},
    )


def _dead(document: Doc) -> Record:
    rest = {name: document[name] for name in ("queue", "reason", "at")}
    return {"seq": document["_id"], "body": packed(document["body"]), **rest}


def _dead_document(record: Record) -> Doc:
    rest = {name: record[name] for name in ("queue", "reason", "at")}
    return {"_id": record["seq"], "body": unpacked(record["body"]), **rest}


def _block(document: Doc) -> Record:
    pairs = sorted([one["job"], one["generation"]] for one in document["generations"])
    return {
        "process": document["process"], "block": document["number"],
        "states": packed(document["states"]), "generations": pairs,
    }  # fmt: skip


def _block_document(record: Record) -> Doc:
    """Older than anything that the head of its process will list."""
    number = record["block"]
    block = Block(number, unpacked(record["states"]), dict(record["generations"]))
    return jobs.block_document((record["process"], number), block, 0)


def _unit(document: Doc) -> Record:
    return of_unit(unit_documents.unit_of(document), document["number"], document["is_superseded"])


def _unit_document(record: Record) -> Doc:
    """A unit that has told the journal everything."""
    document = unit_documents.document_of(unit_of(record), record["number"], "")
    return {**document, "is_superseded": record["is_superseded"], **journaled.copied()}


def _run(document: Doc) -> Record:
    return of_run(run_documents.run_of(document), document["number"])


def _run_document(record: Record) -> Doc:
    """A run that has told the journal everything."""
    document = run_documents.document_of(run_of(record), "")
    return {**document, "number": record["number"], **journaled.copied(record["rev"])}


def _operation(document: Doc) -> Record:
    return of_operation(operation_documents.operation_of(document), document["number"])


def _operation_document(record: Record) -> Doc:
    """An operation that has told the journal everything."""
    document = operation_documents.document_of(operation_of(record))
    return {**document, "number": record["number"], **journaled.copied(record["rev"])}


def _answer_document(record: Record) -> Doc:
    return operation_documents.answer_document(answer_of(record), record["rev"])


def _event_document(record: Record) -> Doc:
    return {**run_documents.event_document(event_of(record)), "_id": record["seq"]}


def _entry_document(record: Record) -> Doc:
    """Nobody tells it again, so its origin may be its number."""
    number = record["seq"]
    return {**journal.document_of(entry_of(record)), "_id": number, "origin": f"copy:{number}"}


MARK = ("collection", "timeperiod", "low", "high", "rows")
COUNTERS = {"dead_message": DEAD, "journal": journal.LAST}
TABLES = {
    "facts": _table("facts", "_id", name="_id", value="value"),
    "controls": _table("controls", "_id", process="_id", is_on="is_on", trigger="trigger"),
    "boxes": _table("boxes", "_id", id="_id", seen_at="seen_at"),
    "assignments": Table(
        "assignments",
        ("box", "process"),
        lambda document: {name: document[name] for name in ("box", "process", "is_on")},
        lambda record: assignment_of(record["box"], record["process"], is_on=record["is_on"]),
    ),
    "job_blocks": Table("job_blocks", ("process", "number"), _block, _block_document),
    "units": Table("units", ("number",), _unit, _unit_document),
    "runs": Table("runs", ("number",), _run, _run_document),
    "events": Table(
        "events", ("_id",), lambda one: of_event(run_documents.event_of(one)), _event_document
    ),
    "operations": Table("operations", ("number",), _operation, _operation_document),
    "answers": Table(
        "answers",
        ("person", "key"),
        lambda one: of_answer(operation_documents.answer_of(one)),
        _answer_document,
    ),
    "journal": Table(
        "journal", ("_id",), lambda one: of_entry(journal.entry_from(one)), _entry_document
    ),
    "dead_messages": Table("dead_messages", ("_id",), _dead, _dead_document),
}
