"""Between runs and events and the documents that hold them.

A run's `rev` is the `v` of its document (see `telling`). Besides its fields a document has
`number`, the order of creation, which no other run ever has. What is JSON is kept as text, so
that names of fields are free.
"""

from __future__ import annotations

import orjson

from synergy.model.journal import JournalEntry
from synergy.model.schedule import Event, Run, RunState
from synergy.storage import entries
from synergy.storage.encoding import instant, instant_or_none, json, micros, micros_or_none
from synergy.storage.mongodb import journal, journaled
from synergy.storage.mongodb.database import Doc

UNFINISHED = [state.value for state in RunState if not state.is_finished]
FINISHED = [state.value for state in RunState if state.is_finished]

_SAME = ("version", "program", "group", "priority", "reason", "attempt", "owner")
_INSTANTS = ("not_before", "launched_at", "finished_at")


def document_of(run: Run, who: str) -> Doc:
    """A new run without its number, and that the journal is to be told so."""
    return {
        "_id": run.id,
        "schedule": run.schedule,
        "key": run.key,
        "due_at": micros(run.due_at),
        "created_at": micros(run.created_at),
        **fields_of(run),
        **journaled.new(journal.document_of(entries.run_created(run, who))),
    }


def fields_of(run: Run) -> Doc:
    """The fields that every change writes."""
    return {
        **{name: getattr(run, name) for name in _SAME},
        **{name: micros_or_none(getattr(run, name)) for name in _INSTANTS},
        "state": run.state.value,
        "request": json(run.request, f"the request of run {run.id}").decode(),
        "detail": json(run.detail, f"the detail of run {run.id}").decode(),
    }


def run_of(document: Doc) -> Run:
    """The run that a document holds."""
    fields: Doc = {name: document[name] for name in _SAME}
    fields |= {name: instant_or_none(document[name]) for name in _INSTANTS}
    return Run(
        id=document["_id"],
        schedule=document["schedule"],
        key=document["key"],
        due_at=instant(document["due_at"]),
        state=RunState(document["state"]),
        created_at=instant(document["created_at"]),
        request=orjson.loads(document["request"]),
        detail=orjson.loads(document["detail"]),
        rev=document["v"],
        **fields,
    )


def told(document: Doc, entry: Doc) -> tuple[str, JournalEntry]:
    """An entry of a run as the journal has it, with its origin."""
    return f"run:{document['number']}:{entry['v']}", journal.entry_from(entry)


def event_document(event: Event) -> Doc:
    """An event without its number, which is to be its `_id`."""
    return {
        "id": event.id,
        "type": event.type,
        "resource": event.resource,
        "timestamp": micros(event.timestamp),
        "at": micros(event.at),
        "who": event.who,
        "body": json(event.body, f"event {event.id!r}").decode(),
    }


def event_of(document: Doc) -> Event:
    """The event that a document holds."""
    return Event(
        id=document["id"],
        type=document["type"],
        resource=document["resource"],
        timestamp=instant(document["timestamp"]),
        at=instant(document["at"]),
        who=document["who"],
        body=orjson.loads(document["body"]),
        seq=document["_id"],
    )
