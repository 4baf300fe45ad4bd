"""Checks and encodes the rows that work passes to its sink.

Rows are encoded when they are passed, so work may reuse a mapping for its next row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import get_args

from synergy.errors import InvalidValue
from synergy.model.unit_of_work import Document
from synergy.storage.collection_rows import LONGEST_KEY, Nan, encoded, key_part
from synergy.storage.unstorable import Unstorable, kind_of, seen

_PERIOD = "timeperiod"


def as_documents(
    timeperiod: str,
    rows: Iterable[Mapping[str, object]],
    unique_by: tuple[str, ...],
    nan: Nan = "refuse",
) -> list[Document]:
    """The rows as documents of a timeperiod, which is added to each as a field.

    Raises InvalidValue for the first row that cannot be stored as it is, or has the key of an
    earlier row. The message says which row, counted from 1, which field, and what to do.
    """
    if nan not in get_args(Nan):
        raise InvalidValue(f'nan={seen(nan)}: it is "refuse" (the default) or "null"')
    if isinstance(unique_by, str):
        raise InvalidValue(f"unique_by is the text {seen(unique_by)}: write ({seen(unique_by)},)")
    found: dict[str, Document] = {}
    places: dict[str, int] = {}
    for place, row in enumerate(rows, 1):
        document = _document(_Row(place, row, timeperiod, unique_by), nan)
        first = places.setdefault(document.key, place)
        if first != place:
            raise InvalidValue(
                f"{_Row(place, row, timeperiod, unique_by)} would replace row {first}, "
                f"which has the same {', '.join(unique_by) or 'key'}: give one row for each, or "
                "name more fields in unique_by of the worker"
            )
        found[document.key] = document
    return list(found.values())


class _Row:
    """A row with its number; `str` is its name in error messages."""

    def __init__(
        self, place: int, given: object, timeperiod: str, unique_by: tuple[str, ...]
    ) -> None:
        self.unique_by = unique_by
        self.timeperiod = timeperiod
        self._place = place
        if not isinstance(given, Mapping):
            raise InvalidValue(
                f"row {place} is {kind_of(given)}: give a mapping of field names to values, for "
                "example dataclasses.asdict(row), or of a data frame the items of "
                "frame.to_dict('records')"
            )
        self.fields: dict[str, object] = {**given, _PERIOD: timeperiod}

    def __str__(self) -> str:
        known = [
            f"{name}={seen(self.fields[name])}" for name in self.unique_by if name in self.fields
        ]
        return f"row {self._place}" + (f" ({', '.join(known)})" if known else "")


def _document(row: _Row, nan: Nan) -> Document:
    missing = [name for name in row.unique_by if name not in row.fields]
    if missing:
        raise InvalidValue(
            f"{row} has no field {missing[0]!r}, and rows are unique by "
            f"{', '.join(row.unique_by)}: give it to every row, or name other fields in "
            "unique_by of the worker"
        )
    try:
        return Document(_key(row, nan), row.timeperiod, encoded(row.fields, nan))
    except Unstorable as error:
        raise InvalidValue(f"{row}: {error}") from None


def _key(row: _Row, nan: Nan) -> str:
    """The values of the unique fields, joined; separators within values are escaped."""
    parts = []
    for name in row.unique_by:
        try:
            parts.append(key_part(row.fields[name], nan))
        except Unstorable as error:
            raise error.within(name) from None
    if len(parts) > 1:
        parts = [part.replace("\\", r"\\").replace("|", r"\|") for part in parts]
    key = "|".join(parts)
    if len(key) > LONGEST_KEY:
        raise Unstorable(
            f"the row's {', '.join(row.unique_by)} has {len(key)} characters, more than "
            f"{LONGEST_KEY}: make rows unique by something shorter, for example a hash"
        )
    return key
