"""Between schedules and the documents that hold them.

A schedule's `rev` is the `v` of its document (see `telling`). Besides its fields a document
has `birth`, a word that no other schedule ever has, not even one of the same name; who edited
it last and when (`edited_by`, `edited_at`); and `is_removed`, that nobody sees it any more, and
only the journal has yet to be told so. What is JSON is kept as text, so that names of fields
are free.
"""

from __future__ import annotations

import secrets
from dataclasses import replace

import orjson

from synergy.model.journal import JournalEntry
from synergy.model.schedule import Origin, Schedule, ScheduleVersion
from synergy.storage import entries
from synergy.storage.encoding import instant, instant_or_none, json, micros, micros_or_none
from synergy.storage.mongodb import journal, journaled
from synergy.storage.mongodb.database import Doc
from synergy.storage.protocol import Record
from synergy.storage.records import schedule_of as schedule_of_record


def document_of(schedule: Schedule, who: str) -> Doc:
    """A new schedule, and that the journal is to be told so."""
    at = micros(schedule.created_at)
    return {
        "_id": schedule.name,
        **edit_of(schedule, at, who),
        **fields_of(schedule),
        "created_at": at,
        "birth": secrets.token_hex(8),
        "is_removed": False,
        **journaled.new(journal.document_of(entries.schedule_created(schedule, who))),
    }


def fields_of(schedule: Schedule) -> Doc:
    """The fields that every change writes."""
    return {
        "origin": schedule.origin.value,
        "is_enabled": schedule.is_enabled,
        "reason": schedule.reason,
        "progress": json(schedule.progress, f"the progress of schedule {schedule.name!r}").decode(),
        "wake_at": micros_or_none(schedule.wake_at),
        "keys": list(schedule.keys),
        "changed_at": micros(schedule.changed_at),
    }


def edit_of(schedule: Schedule, at: int, who: str) -> Doc:
    """The fields that a new version writes."""
    definition = json(schedule.definition, f"the definition of schedule {schedule.name!r}")
    return {
        "version": schedule.version,
        "definition": definition.decode(),
        "edited_at": at,
        "edited_by": who,
    }


def schedule_of(document: Doc) -> Schedule:
    """The schedule that a document holds."""
    return Schedule(
        name=document["_id"],
        definition=orjson.loads(document["definition"]),
        version=document["version"],
        origin=Origin(document["origin"]),
        is_enabled=document["is_enabled"],
        reason=document["reason"],
        progress=orjson.loads(document["progress"]),
        wake_at=instant_or_none(document["wake_at"]),
        keys=tuple(document["keys"]),
        created_at=instant(document["created_at"]),
        changed_at=instant(document["changed_at"]),
        rev=document["v"],
    )


def history_of(document: Doc) -> Doc:
    """The present version, as it is kept when there is a newer one."""
    return {
        "_id": f"{document['birth']}|{document['version']}",
        "birth": document["birth"],
        "name": document["_id"],
        **{name: document[name] for name in ("version", "definition", "edited_at", "edited_by")},
    }


def version_of(history: Doc) -> ScheduleVersion:
    """What `history_of` kept."""
    return ScheduleVersion(
        history["name"],
        history["version"],
        orjson.loads(history["definition"]),
        instant(history["edited_at"]),
        history["edited_by"],
    )


def copied(record: Record) -> tuple[Doc, list[Doc]]:
    """A schedule that has told the journal everything, and its older versions.

    Its `birth` is always the same, so that it is copied once, and none that another one has.
    """
    schedule, versions = schedule_of_record(record)
    *older, newest = versions
    birth = {"birth": f"copy:{schedule.name}:{micros(schedule.created_at)}"}
    document = document_of(schedule, newest.who) | birth | journaled.copied(schedule.rev)
    document |= {"edited_at": micros(newest.at)}
    editions = [replace(schedule, version=one.version, definition=one.definition) for one in older]
    return document, [
        history_of(document | edit_of(edition, micros(one.at), one.who))
        for one, edition in zip(older, editions, strict=True)
    ]


def told(document: Doc, entry: Doc) -> tuple[str, JournalEntry]:
    """An entry of a schedule as the journal has it, with its origin."""
    return f"schedule:{document['birth']}:{entry['v']}", journal.entry_from(entry)
