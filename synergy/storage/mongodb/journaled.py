"""Documents whose changes are journaled: compare-and-set on their versions.

Such a document has these fields besides its own:

- `v`, its version, which rises with each change;
- `mark`, the mark of the group that made the last change (see `compare_and_set`);
- `untold`, its pending journal entries, which the journal may lack (see `journal`), each with the
  version `v` of its change;
- `is_told`, whether `untold` is empty.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from pymongo import UpdateMany
from pymongo.collection import Collection

from synergy.errors import SynergyError
from synergy.model.journal import JournalEntry
from synergy.storage.malformed import READ_ERRORS
from synergy.storage.mongodb.compare_and_set import Swap, in_parts, swap
from synergy.storage.mongodb.database import Database, Doc
from synergy.storage.mongodb.journal import MongoJournal, entry_from

_AT_ONCE = 2_000  # documents that one round of `recover` journals
_ROUNDS = 50  # rounds of one call of `recover`

Asked = TypeVar("Asked")
"""A requested change; at most one is made for each document."""

Change = Callable[[Doc], Swap | None]
"""Returns the change of a document; None if the document's state does not allow it."""

Decided = tuple[Doc, Swap]
"""A document and its change."""

ToEntry = Callable[[Doc, Doc], tuple[str, JournalEntry]]
"""Converts a pending entry of a document: returns its origin and the journal's entry."""


def complete_entries(noun: str, field: str) -> ToEntry:
    """Converts pending entries that hold all fields of the journal's entry.

    Their origin is made of `field`, whose values are never used by a second document.
    """
    return lambda document, entry: (
        f"{noun}:{document[field]}:{entry['v']}",
        entry_from(entry),
    )


def new(entry: Doc) -> Doc:
    """The fields of a new document, with its pending journal entry."""
    return {"v": 1, "mark": "", "untold": [{**entry, "v": 1}], "is_told": False}


def copied(v: int = 1) -> Doc:
    """The fields of a document without pending journal entries."""
    return {"v": v, "mark": "", "untold": [], "is_told": True}


class JournaledCollection:
    """Changes documents and journals the changes; to be called within `Database.calling`."""

    def __init__(
        self, database: Database, collection: str, journal: MongoJournal, to_entry: ToEntry
    ) -> None:
        self._database = database
        self._name = collection
        self._journal = journal
        self._to_entry = to_entry

    @property
    def collection(self) -> Collection[Doc]:
        """The collection of the database, for reading, inserting and deleting."""
        return self._database[self._name]

    def change(self, ids: Sequence[str], change: Change) -> list[Doc]:
        """Changes each document at most once; returns the changed ones in the given order."""
        return self.carry_out(self.decide(ids, change))

    def decide(self, ids: Sequence[str], change: Change) -> list[Decided]:
        """The documents that `change` changes, each with its change, in the given order."""
        found = {one["_id"]: one for one in self.collection.find({"_id": {"$in": list(ids)}})}
        given = [found[id_] for id_ in dict.fromkeys(ids) if id_ in found]
        decided = []
        for one in given:
            try:
                made = change(one)
            except SynergyError:
                raise  # the change is at fault, not the document
            except READ_ERRORS as error:
                self._database.malformed.note(self._name, one["_id"], error)
                continue
            if made is not None:
                decided.append((one, made))
        return decided

    def carry_out(self, decided: Sequence[Decided]) -> list[Doc]:
        """Changes the documents that still have the same version; returns their new contents."""
        self._journal.add_pending(entry for one, _ in decided for entry in self._pending(one))
        done = swap(self.collection, [made for _, made in decided])
        changed = [(_after(one, made), made) for one, made in decided if made.id in done]
        self.journal_newest(one for one, made in changed if made.entry is not None)
        return [one for one, _ in changed]

    def journal_newest(self, documents: Iterable[Doc]) -> None:
        """Writes the newest pending entry of each document into the journal."""
        self._journal.add(self._to_entry(one, one["untold"][-1]) for one in documents)

    def journal_pending(self, documents: Sequence[Doc]) -> int:
        """Writes the pending entries that the journal lacks; returns their number."""
        entries = [entry for one in documents for entry in self._pending(one)]
        known = self._journal.known(origin for origin, _ in entries)
        left = [entry for entry in entries if entry[0] not in known]
        self._journal.add(left)
        return len(left)

    def _pending(self, document: Doc) -> list[tuple[str, JournalEntry]]:
        """The pending entries of a document; none if they are malformed."""
        try:
            return [self._to_entry(document, entry) for entry in document["untold"]]
        except READ_ERRORS as error:
            self._database.malformed.note(self._name, document["_id"], error)
            return []

    def recover(self) -> int:
        """Writes pending journal entries of interrupted writers; returns their number."""
        count = 0
        for _ in range(_ROUNDS):
            documents = list(self.collection.find({"is_told": False}).limit(_AT_ONCE))
            if documents:
                count += self.journal_pending(documents)
                self._clear_pending(documents)
            if len(documents) < _AT_ONCE:
                break
        return count

    def _clear_pending(self, documents: Sequence[Doc]) -> None:
        """Removes the pending entries of documents that did not change meanwhile.

        Documents of the same version share a statement; few versions are in use.
        """
        versions: defaultdict[int, list[str]] = defaultdict(list)
        for one in documents:
            versions[one["v"]].append(one["_id"])
        empty = {"$set": {"untold": [], "is_told": True}}
        in_parts(
            self.collection,
            [UpdateMany({"_id": {"$in": ids}, "v": v}, empty) for v, ids in versions.items()],
        )


def without_first(
    changes: Sequence[Asked], ids: Sequence[str], changed: Iterable[Doc]
) -> list[Asked]:
    """The refused changes: all but the first change of each document that was changed."""
    made = {document["_id"] for document in changed}
    refused = []
    for change, id_ in zip(changes, ids, strict=True):
        if id_ in made:
            made.remove(id_)
        else:
            refused.append(change)
    return refused


def _after(document: Doc, made: Swap) -> Doc:
    v = document["v"] + 1
    untold = document["untold"] if made.entry is None else [{**made.entry, "v": v}]
    return {**document, **made.set, "v": v, "untold": untold}
