"""Everything in a store as records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

Record = dict[str, Any]
"""A part of a store as plain values, the same for all engines; see `storage.copy_records`."""

Key = tuple[str | int, ...]
"""What records of a kind are unique and ordered by."""


class Transfer(Protocol):
    """Everything in the store as records, to be written into another one.

    For a store that nobody works with: what others write meanwhile may be read or not.
    """

    def counts(self) -> dict[str, int]:
        """About how many records there are of each kind."""
        ...

    def read(self, kind: str, after: Key) -> Iterator[Record]:
        """The records of a kind that follow a key, in order; few are in memory at a time."""
        ...

    def write(self, kind: str, records: Sequence[Record]) -> None:
        """Writes records into a store that has none but those of the same source.

        Writing them twice is as good as once. Numbers that the store gives afterwards are
        higher than those that were written.
        """
        ...
