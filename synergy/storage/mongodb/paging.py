"""Pages of numbered documents, from the newest on."""

from __future__ import annotations

from collections.abc import Mapping

from pymongo.collection import Collection

from synergy.model.cursor import number_of
from synergy.storage.mongodb.database import Doc


def page(
    collection: Collection[Doc],
    wanted: Mapping[str, object],
    number: str,
    limit: int,
    cursor: str | None,
) -> tuple[list[Doc], str | None]:
    """The page that begins below the cursor, and the cursor of the next one or None.

    `number` is the field that has the numbers.
    """
    below = {} if cursor is None else {number: {"$lt": number_of(cursor)}}
    documents = list(collection.find({**wanted, **below}).sort(number, -1).limit(limit + 1))
    found = documents[:limit]
    following = str(found[-1][number]) if len(documents) > limit and found else None
    return found, following
