"""Numbered documents without gaps, which become visible in the order of their numbers.

There are no transactions to rely on. A number is taken by inserting the document that has it:
the next number is tried only after the one before it was seen, and of two writers that try the
same one, the unique index on `_id` lets one through. So a reader of number n has missed none
below it. A counter would not do: a number taken early could become visible late.

A number must not become free again while a writer may still be about to try it: so only old
documents may ever be deleted, far behind the newest.

A document spans the numbers `_id` to `high` (alone `_id`, if it has no `high`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pymongo.collection import Collection
from pymongo.errors import BulkWriteError

from synergy.storage.mongodb.database import Doc
from synergy.storage.mongodb.swap import is_duplicate

Numbered = Callable[[int, int], Sequence[Doc]]
"""Given the last number, and how many of the documents named before were inserted since: those
that are left, numbered from the next."""


def extend(collection: Collection[Doc], last: Callable[[], int], numbered: Numbered) -> None:
    """Inserts documents in order, however many writers do so at the same time.

    `numbered` is called again whenever another writer was faster.
    """
    inserted = 0
    while documents := numbered(last(), inserted):
        try:
            collection.insert_many(documents, ordered=True)
        except BulkWriteError as error:
            if not is_duplicate(error):
                raise
            inserted = int(error.details["nInserted"])
        else:
            return


def newest(collection: Collection[Doc]) -> Doc | None:
    """The document with the highest number."""
    return next(iter(collection.find().sort("_id", -1).limit(1)), None)
