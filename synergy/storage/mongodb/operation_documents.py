"""Between operations and kept answers and the documents that hold them.

Their `rev` is the `v` of the document (see `telling`). An operation has `number`, the order of
acceptance, besides. What is JSON is kept as text, so that names of fields are free.
"""

from __future__ import annotations

import orjson

from synergy.model.answer import Answer
from synergy.model.journal import JournalEntry
from synergy.model.operation import Operation, OperationState
from synergy.storage import entries
from synergy.storage.encoding import instant, instant_or_none, json, micros, micros_or_none
from synergy.storage.mongodb import journal, journaled
from synergy.storage.mongodb.database import Doc

UNFINISHED = [state.value for state in OperationState if not state.is_finished]
FINISHED = [state.value for state in OperationState if state.is_finished]

_ASKED = ("kind", "process", "who", "why")
_SAME = ("total", "done", "touched", "detail", "owner")


def document_of(operation: Operation) -> Doc:
    """A new operation without its number, and that the journal is to be told so."""
    request = json(operation.request, f"the request of operation {operation.id}")
    return {
        "_id": operation.id,
        **{name: getattr(operation, name) for name in _ASKED},
        "request": request.decode(),
        "created_at": micros(operation.created_at),
        **fields_of(operation),
        **journaled.new(journal.document_of(entries.operation_accepted(operation))),
    }


def fields_of(operation: Operation) -> Doc:
    """The fields that every change writes."""
    return {
        **{name: getattr(operation, name) for name in _SAME},
        "state": operation.state.value,
        "finished_at": micros_or_none(operation.finished_at),
    }


def operation_of(document: Doc) -> Operation:
    """The operation that a document holds."""
    return Operation(
        id=document["_id"],
        request=orjson.loads(document["request"]),
        created_at=instant(document["created_at"]),
        state=OperationState(document["state"]),
        finished_at=instant_or_none(document["finished_at"]),
        rev=document["v"],
        **{name: document[name] for name in (*_ASKED, *_SAME)},
    )


def told(document: Doc, entry: Doc) -> tuple[str, JournalEntry]:
    """An entry of an operation as the journal has it, with its origin."""
    return f"operation:{document['number']}:{entry['v']}", journal.entry_from(entry)


def answer_id(person: str, key: str) -> str:
    """The id of an answer's document, different for different pairs."""
    return orjson.dumps([person, key]).decode()


def answer_document(answer: Answer, v: int) -> Doc:
    """An answer as its document holds it in that version."""
    return {
        "_id": answer_id(answer.person, answer.key),
        "person": answer.person,
        "key": answer.key,
        **answer_fields(answer),
        "v": v,
    }


def answer_fields(answer: Answer) -> Doc:
    """The fields that every change writes."""
    return {
        "fingerprint": answer.fingerprint,
        "owner": answer.owner,
        "at": micros(answer.at),
        "status": answer.status,
        "headers": json(answer.headers, "the headers of an answer").decode(),
        "body": answer.body,
    }


def answer_of(document: Doc) -> Answer:
    """The answer that a document holds."""
    same = ("person", "key", "fingerprint", "owner", "status", "body")
    return Answer(
        at=instant(document["at"]),
        headers=orjson.loads(document["headers"]),
        rev=document["v"],
        **{name: document[name] for name in same},
    )
