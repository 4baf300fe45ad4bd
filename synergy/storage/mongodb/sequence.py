"""Documents numbered without gaps, which become visible in the order of their numbers.

There are no transactions. A number is taken by inserting the document that has it: a writer tries
the number after the highest one that it sees, and of two writers that try the same number, the
unique index on `_id` accepts one. So a reader that sees number n sees all numbers below it. A
counter would not guarantee that: a number that is taken early could become visible late.

Only documents far behind the newest may be deleted: a slow writer could otherwise insert a document
with a number that was used and deleted.

A document has the numbers from `_id` to `high`; without `high`, the number `_id` alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pymongo.collection import Collection
from pymongo.errors import BulkWriteError

from synergy.storage.mongodb.compare_and_set import is_duplicate
from synergy.storage.mongodb.database import Doc

Numbered = Callable[[int, int], Sequence[Doc]]
"""Called with the last number and with how many of the documents that it returned before were
inserted; returns the remaining documents, numbered from the next number."""


def extend(collection: Collection[Doc], last: Callable[[], int], numbered: Numbered) -> None:
    """Inserts documents in order, beside any number of other writers.

    `numbered` is called again whenever another writer has taken a number first.
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
