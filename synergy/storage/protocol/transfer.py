"""Everything in a store as records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

Record = dict[str, Any]
"""A part of a store as plain values, the same for all engines; see `storage.copy_records`."""

Key = tuple[str | int, ...]
"""The values by which the records of a kind are unique and ordered."""


class Transfer(Protocol):
    """All contents of the store as records, to be written into another store.

    For a store that is not in use: concurrent writes may be read or missed.
    """

    def counts(self) -> dict[str, int]:
        """The approximate number of records of each kind."""
        ...

    def read(self, kind: str, after: Key) -> Iterator[Record]:
        """The records of a kind that follow a key, in order; few are in memory at a time."""
        ...

    def write(self, kind: str, records: Sequence[Record]) -> None:
        """Writes records into a store that holds only records of the same source.

        Writing a record again changes nothing. Numbers that the store gives afterwards are higher
        than the written ones.
        """
        ...
