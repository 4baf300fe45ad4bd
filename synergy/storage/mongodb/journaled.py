"""Documents whose changes are journaled: compare-and-set on their versions.

Such a document has `v`, which rises with each change, and the `mark` of the group of changes that
made the last one (see `swap`); `untold`, the entries that the journal may not have yet, each with
the version that it came with; and `is_told`, that there are none (see `journal`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from pymongo import UpdateMany
from pymongo.collection import Collection

from synergy.model.journal import JournalEntry
from synergy.storage.mongodb.database import Database, Doc
from synergy.storage.mongodb.journal import MongoJournal, entry_from
from synergy.storage.mongodb.swap import Swap, in_parts, swap

_AT_ONCE = 2_000  # documents whose entries are told together
_ROUNDS = 50  # of these, at most, in one go

Asked = TypeVar("Asked")
"""A change that was asked for; at most one of them is made for each document."""

Change = Callable[[Doc], Swap | None]
"""What is to be done to a document; None if it is not as it should be."""

Decided = tuple[Doc, Swap]
"""A document, and what is to be done to it."""

Told = Callable[[Doc, Doc], tuple[str, JournalEntry]]
"""An untold entry of a document as the journal has it, with its origin."""


def told_of(noun: str, field: str) -> Told:
    """Gives entries that are complete; their origin is made of a field that is never used again."""
    return lambda document, entry: (
        f"{noun}:{document[field]}:{entry['v']}",
        entry_from(entry),
    )


def new(entry: Doc) -> Doc:
    """The fields of a new document, with a journal entry that has yet to be written."""
    return {"v": 1, "mark": "", "untold": [{**entry, "v": 1}], "is_told": False}


def copied(v: int = 1) -> Doc:
    """The fields of a document whose journal entries are all written."""
    return {"v": v, "mark": "", "untold": [], "is_told": True}


class JournaledCollection:
    """Changes such documents and journals that; for use within `Database.calling`."""

    def __init__(
        self, database: Database, collection: str, journal: MongoJournal, told: Told
    ) -> None:
        self._database = database
        self._name = collection
        self._journal = journal
        self._told = told

    @property
    def collection(self) -> Collection[Doc]:
        """The collection itself, for reading, inserting and deleting."""
        return self._database[self._name]

    def change(self, ids: Sequence[str], change: Change) -> list[Doc]:
        """Changes each document once, in the given order; returns those that were, as they are."""
        return self.carry_out(self.decide(ids, change))

    def decide(self, ids: Sequence[str], change: Change) -> list[Decided]:
        """What is to be done to which of the documents."""
        found = {one["_id"]: one for one in self.collection.find({"_id": {"$in": list(ids)}})}
        given = [found[id_] for id_ in dict.fromkeys(ids) if id_ in found]
        return [(one, made) for one in given if (made := change(one)) is not None]

    def carry_out(self, decided: Sequence[Decided]) -> list[Doc]:
        """Changes those that are still as they were; returns these, as they are now."""
        self._journal.tell_older(
            self._told(one, entry) for one, _ in decided for entry in one["untold"]
        )
        done = swap(self.collection, [made for _, made in decided])
        changed = [(_after(one, made), made) for one, made in decided if made.id in done]
        self.tell(one for one, made in changed if made.entry is not None)
        return [one for one, _ in changed]

    def tell(self, documents: Iterable[Doc]) -> None:
        """Writes the newest entry of each into the journal."""
        self._journal.tell(self._told(one, one["untold"][-1]) for one in documents)

    def tell_all(self, documents: Sequence[Doc]) -> int:
        """Writes the entries of these that the journal lacks; returns how many."""
        entries = [self._told(one, entry) for one in documents for entry in one["untold"]]
        known = self._journal.known(origin for origin, _ in entries)
        left = [entry for entry in entries if entry[0] not in known]
        self._journal.tell(left)
        return len(left)

    def recover(self) -> int:
        """Writes the journal entries that writers did not get to; returns how many."""
        count = 0
        for _ in range(_ROUNDS):
            documents = list(self.collection.find({"is_told": False}).limit(_AT_ONCE))
            if documents:
                count += self.tell_all(documents)
                self._forget_told(documents)
            if len(documents) < _AT_ONCE:
                break
        return count

    def _forget_told(self, documents: Sequence[Doc]) -> None:
        """Removes written entries from documents that did not change meanwhile.

        One statement for each version, of which most have one of a few.
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
    """The changes but the first one of each document that was changed."""
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
