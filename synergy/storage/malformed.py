"""Malformed rows: they are set aside, so that all other rows are still read.

A row is malformed if a field is missing, has a wrong type, or holds a text or a code that stands
for no value. A `Reader` skips such rows in lists and keeps them in `MalformedRows`; a row that is
asked for by its key raises `Malformed`. Rows are read together, and one by one only if that fails,
so that sound rows cost nothing more.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from synergy.errors import Malformed, SynergyError
from synergy.model.value import value
from synergy.storage.unstorable import kind_of

READ_ERRORS = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, SynergyError)
"""The errors that reading a malformed row raises."""

MOST = 1_000  # rows that a process remembers

Value = TypeVar("Value")
Name = tuple[str | int, ...]
"""The fields that identify a row among those of its kind."""

log = logging.getLogger(__name__)


@value
class MalformedRow:
    """A malformed row: its kind (see `copy_records.KINDS`), its name, and what is wrong with it."""

    kind: str
    name: Name
    problem: str

    @property
    def key(self) -> tuple[str, Name]:
        return self.kind, self.name

    @property
    def sentence(self) -> str:
        """The row and its problem, for logs."""
        return f"The row {self.text} of {self.kind} is malformed and set aside: {self.problem}"

    @property
    def text(self) -> str:
        """The name as one text."""
        return " ".join(map(str, self.name))


class MalformedRows:
    """The malformed rows that a process has met, each logged once; may be used by all threads."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, Name], MalformedRow] = {}
        self._lock = threading.Lock()

    def add(self, row: MalformedRow) -> None:
        """Remembers a row; the oldest is forgotten if there are too many."""
        with self._lock:
            is_new = row.key not in self._rows
            self._rows[row.key] = row
            if len(self._rows) > MOST:
                del self._rows[next(iter(self._rows))]
        if is_new:
            log.warning("%s", row.sentence, extra={"event": "store.malformed"})

    def note(self, kind: str, id_: object, error: Exception) -> None:
        """Remembers the row whose use raised the error."""
        self.add(MalformedRow(kind, (str(id_),), f"{type(error).__name__}: {error}"))

    def all(self) -> list[MalformedRow]:
        with self._lock:
            return list(self._rows.values())


class Reader(Generic[Value]):
    """Reads stored rows of one kind, each given as a sequence or a mapping.

    `fields` read single fields, to find the malformed one; `name_of` returns the row's name.
    """

    def __init__(
        self,
        kind: str,
        read: Callable[[Any], Value],
        name_of: Callable[[Any], Name],
        fields: Mapping[str, Callable[[Any], object]],
    ) -> None:
        self.kind = kind
        self._read = read
        self._name_of = name_of
        self._fields = fields

    def __call__(self, stored: Any) -> Value:
        """The value of a row; raises Malformed."""
        try:
            return self._read(stored)
        except READ_ERRORS as error:
            raise malformed(self._malformed(stored, error)) from error

    def each(self, stored: Sequence[Any], met: MalformedRows) -> list[Value]:
        """The values of rows, without malformed rows, which `met` gets."""
        read = self._read
        try:
            return [read(row) for row in stored]
        except READ_ERRORS:
            return list(self._readable(stored, met))

    def check(
        self, stored: Any, also: Callable[[Value], object] = lambda _: None
    ) -> MalformedRow | None:
        """The row if it is malformed, or `also` raises ValueError for its value."""
        try:
            also(self._read(stored))
        except READ_ERRORS as error:
            return self._malformed(stored, error)
        return None

    def _readable(self, stored: Iterable[Any], met: MalformedRows) -> Iterable[Value]:
        for row in stored:
            try:
                yield self._read(row)
            except READ_ERRORS as error:
                met.add(self._malformed(row, error))

    def _malformed(self, stored: Any, error: Exception) -> MalformedRow:
        try:
            name = tuple(one if type(one) is int else str(one) for one in self._name_of(stored))
        except READ_ERRORS:
            name = ("?",)
        for field, read in self._fields.items():
            try:
                read(stored)
            except READ_ERRORS as cause:
                return MalformedRow(self.kind, name, f"field {field}: {cause}")
        return MalformedRow(self.kind, name, f"{type(error).__name__}: {error}")


def malformed(row: MalformedRow) -> Malformed:
    """The error of a read that asked for this row."""
    return Malformed(row.kind, row.text, row.problem)


def wrong(stored: object) -> ValueError:
    """The error for a field; it shows no text, which may hold a secret."""
    if stored is None:
        return ValueError("it is missing")
    if isinstance(stored, bool | int | float):
        return ValueError(f"{stored!r} stands for no value")
    kind = "a binary value" if isinstance(stored, bytes) else kind_of(stored)
    return ValueError(f"{kind} that stands for no value")
