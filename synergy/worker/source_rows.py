"""Puts rows that a person wrote into a collection, as the source of a worker."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import count

from synergy.errors import InvalidValue
from synergy.storage.collection_rows import encoded
from synergy.storage.protocol import Documents
from synergy.storage.unstorable import Unstorable, kind_of

_TIMEPERIOD = re.compile(r"[0-9]{10}")


class SourceRows:
    """Adds rows to collections, each under a key of its own, in the order in which they came."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self._numbers = count(1)

    def put(
        self, collection: str, rows: Iterable[Mapping[str, object]], timeperiod: str = ""
    ) -> int:
        """Adds rows under the `timeperiod` that each names, or else the given one; how many.

        Raises InvalidValue for the first row that cannot be stored, and adds none then.
        """
        given: dict[tuple[str, str], Mapping[str, object]] = {}
        for number, row in enumerate(rows, 1):
            checked = _checked(number, row, timeperiod)
            given[f"{next(self._numbers):09}", str(checked["timeperiod"])] = checked
        by_key = {key: row for (key, _), row in given.items()}
        self._documents.update(collection, list(given), lambda key, _old: by_key[key])
        return len(given)


def _checked(number: int, row: object, timeperiod: str) -> dict[str, object]:
    if not isinstance(row, Mapping):
        raise InvalidValue(f"source row {number} is {kind_of(row)}: give a mapping of its fields")
    fields = {"timeperiod": timeperiod, **row}
    period = fields["timeperiod"]
    if not isinstance(period, str) or not _TIMEPERIOD.fullmatch(period):
        raise InvalidValue(
            f"source row {number}: timeperiod {period!r:.40} is no timeperiod: expected ten digits,"
            " such as 2015051713, or no such field for the period itself"
        )
    try:
        encoded(fields)
    except Unstorable as error:
        raise InvalidValue(f"source row {number}: {error}") from None
    return fields
