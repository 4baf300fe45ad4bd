"""Events, numbered without gaps (see `sequence`); one whose id is stored is not stored again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import takewhile

from synergy.model.schedule import Event
from synergy.model.time_range import EVER, TimeRange
from synergy.storage.instants import micros
from synergy.storage.mongodb.database import Database, Doc, first
from synergy.storage.mongodb.numbered_documents import NumberedCollection, within_times
from synergy.storage.mongodb.sequence import extend, newest
from synergy.storage.stored_fields import EVENT

event_of = EVENT.reads_document(seq="_id")
_fields_of = EVENT.writes_document("id type resource timestamp at who body")


class MongoEvents:
    """See `synergy.storage.protocol.Events`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._events = NumberedCollection(database, "events", event_of, "_id")

    def append(self, events: Sequence[Event]) -> list[tuple[Event, bool]]:
        wanted: dict[str, Doc] = {}
        for event in events:
            wanted.setdefault(event.id, _fields_of(event))
        with self._database.calling():
            known = self._known(wanted)
            new = self._insert([one for id_, one in wanted.items() if id_ not in known])
            missing = [id_ for id_ in wanted if id_ not in known and id_ not in new]
            known |= self._known(missing) if missing else {}  # another writer inserted them first
        return [_given(event.id, known, new) for event in events]

    def since(self, seq: int, limit: int) -> list[Event]:
        return self._events.find({"_id": {"$gt": seq}}, 1, limit)

    def find(
        self, limit: int = 100, cursor: str | None = None, within: TimeRange = EVER
    ) -> tuple[list[Event], str | None]:
        return self._events.page(within_times("at", within), limit, cursor)

    def last_seq(self) -> int:
        with self._database.calling():
            return self._last()

    def prune(self, before: datetime, limit: int) -> int:
        with self._database.calling():
            events = self._database["events"]
            oldest = first(events.find({}, {"at": 1}).sort("_id", 1), limit)
            old = [one["_id"] for one in takewhile(lambda one: one["at"] < micros(before), oldest)]
            last = self._last()  # is kept: its number is the last one that was given
            obsolete = [number for number in old if number != last]
            if not obsolete:
                return 0
            return events.delete_many({"_id": {"$in": obsolete}}).deleted_count

    def _insert(self, documents: Sequence[Doc]) -> dict[str, Doc]:
        """Inserts events unless another writer does so meanwhile; returns the inserted, by id."""
        rest, given = list(documents), list[Doc]()
        new: list[Doc] = []

        def numbered(last: int, inserted: int) -> list[Doc]:
            nonlocal rest, given
            new.extend(given[:inserted])
            if given:
                known = self._known(document["id"] for document in rest)
                rest = [document for document in rest if document["id"] not in known]
            given = [{**document, "_id": number} for number, document in enumerate(rest, last + 1)]
            return given

        extend(self._database["events"], self._last, numbered)
        new.extend(given)
        return {document["id"]: document for document in new}

    def _known(self, ids: Iterable[str]) -> dict[str, Doc]:
        found = self._database["events"].find({"id": {"$in": list(ids)}})
        return {document["id"]: document for document in found}

    def _last(self) -> int:
        last = newest(self._database["events"])
        return 0 if last is None else int(last["_id"])


def _given(id_: str, known: dict[str, Doc], new: dict[str, Doc]) -> tuple[Event, bool]:
    """The event with the id, and whether it is new: true only in the first call for a new one."""
    if id_ in known:
        return event_of(known[id_]), False
    known[id_] = new[id_]
    return event_of(new[id_]), True
