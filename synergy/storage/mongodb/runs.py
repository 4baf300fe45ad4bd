"""Runs of schedules. Each change is a compare-and-set on the version that it was decided on."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from synergy.model.schedule import Run, RunChange, RunState
from synergy.model.time_range import EVER, TimeRange
from synergy.storage import journal_entries
from synergy.storage.instants import micros
from synergy.storage.mongodb import counters
from synergy.storage.mongodb.compare_and_set import Swap, insert_new
from synergy.storage.mongodb.database import Database, Doc
from synergy.storage.mongodb.journal import MongoJournal
from synergy.storage.mongodb.journal import document_of as entry_document
from synergy.storage.mongodb.journaled import (
    JournaledCollection,
    complete_entries,
    new,
    without_first,
)
from synergy.storage.mongodb.numbered_documents import (
    NumberedCollection,
    delete_oldest,
    within_times,
)
from synergy.storage.stored_fields import RUN

COUNTER = "run"  # gives runs their numbers

_UNFINISHED = [state.value for state in RunState if not state.is_finished]
_FINISHED = [state.value for state in RunState if state.is_finished]

run_of = RUN.reads_document(id="_id", rev="v")
_fields_of = RUN.writes_document(id="_id", rev="v")
_changes_of = RUN.writes_document(
    "version state program group priority reason attempt owner not_before launched_at finished_at "
    "request detail"
)


class MongoRuns:
    """See `synergy.storage.protocol.Runs`."""

    def __init__(self, database: Database, journal: MongoJournal) -> None:
        self._database = database
        self._journaled = JournaledCollection(
            database, "runs", journal, complete_entries("run", "number")
        )
        self._runs = NumberedCollection(database, "runs", run_of)

    def create(self, runs: Sequence[Run], who: str) -> list[Run]:
        if not runs:
            return []
        unique: dict[str, Run] = {}
        for run in runs:
            unique.setdefault(run.id, run)
        documents = [_document(run, who) for run in unique.values()]
        with self._database.calling():
            first = counters.take(self._database, COUNTER, len(documents))
            for number, document in enumerate(documents, first):
                document["number"] = number
            created = insert_new(self._journaled.collection, documents)
            self._journaled.journal_newest(one for one in documents if one["_id"] in created)
            known = self._twins([run for run in runs if run.id not in created])
        stored = {one["_id"]: run_of(one) for one in documents if one["_id"] in created}
        return [stored[run.id] if run.id in stored else known[run.id] for run in runs]

    def change(self, changes: Sequence[RunChange]) -> list[RunChange]:
        wanted = {change.run.id: change for change in reversed(changes)}
        with self._database.calling():
            changed = self._journaled.change(
                [change.run.id for change in changes],
                lambda document: _changed(wanted[document["_id"]], document),
            )
        return without_first(changes, [one.run.id for one in changes], changed)

    def get(self, ids: Sequence[str]) -> list[Run]:
        return self._runs.find({"_id": {"$in": list(ids)}})

    def find(
        self,
        schedule: str | None = None,
        state: RunState | None = None,
        limit: int = 100,
        cursor: str | None = None,
        within: TimeRange = EVER,
    ) -> tuple[list[Run], str | None]:
        wanted = within_times("created_at", within)
        if schedule is not None:
            wanted["schedule"] = schedule
        if state is not None:
            wanted["state"] = state.value
        return self._runs.page(wanted, limit, cursor)

    def unfinished(self) -> list[Run]:
        return self._runs.find({"state": {"$in": _UNFINISHED}})

    def last(self, schedule: str, states: Sequence[RunState]) -> Run | None:
        wanted = {
            "schedule": schedule,
            "state": {"$in": [state.value for state in states]},
            "launched_at": {"$ne": None},
        }
        with self._database.calling():
            found = self._journaled.collection.find(wanted)
            newest = list(found.sort([("launched_at", -1), ("number", -1)]).limit(1))
        return next(iter(run_of.each(newest, self._database.malformed)), None)

    def prune(self, before: datetime, limit: int) -> int:
        wanted = {"state": {"$in": _FINISHED}, "finished_at": {"$lt": micros(before)}}
        with self._database.calling():
            return delete_oldest(self._journaled.collection, wanted, "finished_at", limit)

    def recover(self) -> int:
        """Writes pending journal entries; returns their number."""
        with self._database.calling():
            return self._journaled.recover()

    def _twins(self, runs: Sequence[Run]) -> dict[str, Run]:
        """The stored runs that have the ids, or else the keys, of refused ones, by refused id."""
        if not runs:
            return {}
        collection = self._journaled.collection
        wanted = {"_id": {"$in": [run.id for run in runs]}}
        found = {document["_id"]: run_of(document) for document in collection.find(wanted)}
        for run in runs:  # only in tests: elsewhere the id is made from the key
            if run.id not in found:
                twin = collection.find_one({"schedule": run.schedule, "key": run.key})
                assert twin is not None, "a run with this key or id is stored"
                found[run.id] = run_of(twin)
        return found


def _document(run: Run, who: str) -> Doc:
    """The document of a new run without its number, with its pending journal entry."""
    return {**_fields_of(run), **new(entry_document(journal_entries.run_created(run, who)))}


def _changed(change: RunChange, document: Doc) -> Swap | None:
    if document["v"] != change.run.rev:
        return None
    entry = None
    before = RunState(document["state"])
    if before is not change.run.state:
        entry = entry_document(journal_entries.run_changed(change, before))
    return Swap(document["_id"], document["v"], _changes_of(change.run), entry=entry)
