"""Schedules. Each change is a compare-and-set on the version that it was decided on.

A version is copied into the history before the edit that replaces it: if the edit then fails or is
interrupted, the copy is still correct. A schedule is removed in three steps: it is hidden by
compare-and-set, the journal entry is written, and the documents are deleted. `recover`, or the
creation of a schedule with the same name, completes an interrupted removal.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from synergy.model.schedule import Schedule, ScheduleChange, ScheduleVersion
from synergy.storage import journal_entries
from synergy.storage.instants import instant, micros
from synergy.storage.mongodb.compare_and_set import Swap, insert_new
from synergy.storage.mongodb.database import Database, Doc, first
from synergy.storage.mongodb.journal import MongoJournal, document_of
from synergy.storage.mongodb.journaled import JournaledCollection, complete_entries, without_first
from synergy.storage.mongodb.schedule_documents import (
    changes_of,
    edit_of,
    history_of,
    schedule_of,
    version_of,
)
from synergy.storage.mongodb.schedule_documents import document_of as new_document

HISTORY = "schedule_versions"
VISIBLE = {"is_removed": False}


class MongoSchedules:
    """See `synergy.storage.protocol.Schedules`."""

    def __init__(self, database: Database, journal: MongoJournal) -> None:
        self._database = database
        self._journaled = JournaledCollection(
            database, "schedules", journal, complete_entries("schedule", "birth")
        )

    def create(self, schedules: Sequence[Schedule], who: str) -> list[str]:
        new: dict[str, Doc] = {}
        for schedule in schedules:
            new.setdefault(schedule.name, new_document(schedule, who))
        with self._database.calling():
            free = self._insert(list(new.values()))
        taken = []
        for schedule in schedules:
            if schedule.name in free:
                free.remove(schedule.name)
            else:
                taken.append(schedule.name)
        return taken

    def change(self, changes: Sequence[ScheduleChange]) -> list[ScheduleChange]:
        wanted = {change.schedule.name: change for change in reversed(changes)}
        with self._database.calling():
            decided = self._journaled.decide(
                [change.schedule.name for change in changes],
                lambda document: _changed(wanted[document["_id"]], document),
            )
            edited = [history_of(document) for document, made in decided if "version" in made.set]
            insert_new(self._database[HISTORY], edited)
            changed = self._journaled.carry_out(decided)
        return without_first(changes, [one.schedule.name for one in changes], changed)

    def remove(self, schedule: Schedule, why: str, who: str, now: datetime) -> bool:
        entry = document_of(journal_entries.schedule_removed(schedule, why, who, now))

        def hide(document: Doc) -> Swap | None:
            if not _is_as_seen(document, schedule):
                return None
            fields: Doc = {"is_removed": True, "wake_at": None, "keys": []}
            return Swap(document["_id"], document["v"], fields, entry=entry)

        with self._database.calling():
            hidden = self._journaled.change([schedule.name], hide)
            self._delete(hidden)
        return bool(hidden)

    def get(self, names: Sequence[str]) -> list[Schedule]:
        return self._schedules({"_id": {"$in": list(names)}})

    def find(
        self, limit: int = 100, cursor: str | None = None
    ) -> tuple[list[Schedule], str | None]:
        wanted = {} if cursor is None else {"_id": {"$gt": cursor}}
        found = self._documents(wanted, "_id", limit + 1)
        page = found[:limit]
        following = str(page[-1]["_id"]) if len(found) > limit and page else None
        return schedule_of.each(page, self._database.malformed), following

    def due(self, until: datetime, limit: int) -> list[Schedule]:
        return self._schedules({"wake_at": {"$lte": micros(until)}}, "wake_at", limit)

    def next_wake(self) -> datetime | None:
        with self._database.calling():
            wanted = {"wake_at": {"$ne": None}}
            found = self._journaled.collection.find(wanted, {"wake_at": 1}).sort("wake_at", 1)
            document = next(iter(found.limit(1)), None)
        return None if document is None else instant(document["wake_at"])

    def listening(self, keys: Sequence[str]) -> list[Schedule]:
        return self._schedules({"keys": {"$in": list(keys)}})

    def versions(self, name: str) -> list[ScheduleVersion]:
        with self._database.calling():
            present = self._journaled.collection.find_one({"_id": name, **VISIBLE})
            if present is None:
                return []
            older = {"birth": present["birth"], "version": {"$lt": present["version"]}}
            found = self._database[HISTORY].find(older).sort("version", -1)
            return version_of.each([history_of(present), *found], self._database.malformed)

    def count(self) -> int:
        with self._database.calling():
            return self._journaled.collection.count_documents(VISIBLE)

    def recover(self) -> int:
        """Writes pending journal entries and completes removals; returns the entries written."""
        with self._database.calling():
            count = self._journaled.recover()
            hidden = list(self._journaled.collection.find({"is_removed": True}))
            return count + self._finish(hidden)

    def _insert(self, documents: Sequence[Doc]) -> set[str]:
        """Inserts schedules whose names are free or belong to removed ones; returns the names."""
        schedules = self._journaled.collection
        created = insert_new(schedules, documents)
        refused = [document for document in documents if document["_id"] not in created]
        if refused:
            ids = [document["_id"] for document in refused]
            hidden = list(schedules.find({"_id": {"$in": ids}, "is_removed": True}))
            self._finish(hidden)
            free = {document["_id"] for document in hidden}
            created |= insert_new(schedules, [one for one in refused if one["_id"] in free])
        self._journaled.journal_newest(
            document for document in documents if document["_id"] in created
        )
        return created

    def _finish(self, hidden: Sequence[Doc]) -> int:
        """Completes removals; returns the number of journal entries that it wrote."""
        count = self._journaled.journal_pending(hidden) if hidden else 0
        self._delete(hidden)
        return count

    def _delete(self, hidden: Sequence[Doc]) -> None:
        """Deletes these schedules and their histories, but no later ones of the same names."""
        if hidden:
            births = {"birth": {"$in": [document["birth"] for document in hidden]}}
            self._database[HISTORY].delete_many(births)
            self._journaled.collection.delete_many({**births, "is_removed": True})

    def _schedules(
        self, wanted: Doc, order: str | None = None, limit: int | None = None
    ) -> list[Schedule]:
        return schedule_of.each(self._documents(wanted, order, limit), self._database.malformed)

    def _documents(
        self, wanted: Doc, order: str | None = None, limit: int | None = None
    ) -> list[Doc]:
        with self._database.calling():
            found = self._journaled.collection.find({**wanted, **VISIBLE})
            if order is not None:
                found = found.sort(order, 1)
            return list(first(found, limit))


def _changed(change: ScheduleChange, document: Doc) -> Swap | None:
    schedule = change.schedule
    if not _is_as_seen(document, schedule):
        return None
    fields: dict[str, Any] = changes_of(schedule)
    version = document["version"]
    if schedule.version > version:
        fields |= edit_of(schedule, fields["changed_at"], change.who)
        version = schedule.version
    entry = None
    if change.event:
        entry = document_of(journal_entries.schedule_changed(change, document["version"], version))
    return Swap(document["_id"], document["v"], fields, entry=entry)


def _is_as_seen(document: Doc, schedule: Schedule) -> bool:
    """Whether the document is the schedule that was seen, and not a later one of its name."""
    seen = (schedule.rev, micros(schedule.created_at), False)
    return (document["v"], document["created_at"], document["is_removed"]) == seen
