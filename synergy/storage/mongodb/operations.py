"""Operations. Each change is a compare-and-set on the version that it was decided on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from synergy.model.operation import Operation, OperationState
from synergy.storage import journal_entries
from synergy.storage.instants import micros
from synergy.storage.mongodb import counters
from synergy.storage.mongodb.compare_and_set import Swap, insert_new
from synergy.storage.mongodb.database import Database, Doc
from synergy.storage.mongodb.journal import MongoJournal
from synergy.storage.mongodb.journal import document_of as entry_document
from synergy.storage.mongodb.journaled import JournaledCollection, complete_entries, new
from synergy.storage.mongodb.numbered_documents import NumberedCollection, delete_oldest
from synergy.storage.stored_fields import OPERATION

COUNTER = "operation"  # gives operations their numbers

_UNFINISHED = [state.value for state in OperationState if not state.is_finished]
_FINISHED = [state.value for state in OperationState if state.is_finished]

operation_of = OPERATION.reads_document(id="_id", rev="v")
_fields_of = OPERATION.writes_document(id="_id", rev="v")
_changes_of = OPERATION.writes_document("state total done touched detail owner finished_at")


class MongoOperations:
    """See `synergy.storage.protocol.Operations`."""

    def __init__(self, database: Database, journal: MongoJournal) -> None:
        self._database = database
        self._journaled = JournaledCollection(
            database, "operations", journal, complete_entries("operation", "number")
        )
        self._operations = NumberedCollection(database, "operations", operation_of)

    def accept(self, operation: Operation) -> Operation:
        entry = entry_document(journal_entries.operation_accepted(operation))
        document: Doc = {**_fields_of(operation), **new(entry)}
        with self._database.calling():
            document["number"] = counters.take(self._database, COUNTER, 1)
            if insert_new(self._journaled.collection, [document]):
                self._journaled.journal_newest([document])
                return replace(operation, rev=1)
        stored = self.get(operation.id)
        assert stored is not None, "an operation with this id is stored"
        return stored

    def change(self, operation: Operation) -> Operation | None:
        with self._database.calling():
            changed = self._journaled.change([operation.id], lambda one: _changed(operation, one))
        return replace(operation, rev=operation.rev + 1) if changed else None

    def get(self, id_: str) -> Operation | None:
        with self._database.calling():
            found = self._journaled.collection.find_one({"_id": id_})
        return None if found is None else operation_of(found)

    def find(
        self, limit: int = 100, cursor: str | None = None
    ) -> tuple[list[Operation], str | None]:
        return self._operations.page({}, limit, cursor)

    def unfinished(self) -> Sequence[Operation]:
        return self._operations.find({"state": {"$in": _UNFINISHED}})

    def prune(self, before: datetime, limit: int) -> int:
        wanted = {"state": {"$in": _FINISHED}, "finished_at": {"$lt": micros(before)}}
        with self._database.calling():
            return delete_oldest(self._journaled.collection, wanted, "finished_at", limit)

    def recover(self) -> int:
        """Writes pending journal entries; returns their number."""
        with self._database.calling():
            return self._journaled.recover()


def _changed(operation: Operation, document: Doc) -> Swap | None:
    if document["v"] != operation.rev:
        return None
    before, entry = OperationState(document["state"]), None
    if operation.state.is_finished and not before.is_finished:
        entry = entry_document(journal_entries.operation_finished(operation, before))
    return Swap(document["_id"], document["v"], _changes_of(operation), entry=entry)
