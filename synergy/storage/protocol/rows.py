"""All rows of a store, to find the malformed ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from synergy.model.value import value
from synergy.storage.malformed import MalformedRow, Name


@value
class CheckedRows:
    """The result of a check of some rows: their number, and the malformed ones.

    `last` is the key of the last row; None if no row follows.
    """

    count: int
    malformed: Sequence[MalformedRow]
    last: Name | None


class Rows(Protocol):
    """Reads every row as all other parts of the store do, and changes nothing."""

    def kinds(self) -> Sequence[str]:
        """The kinds of rows, in the order of checking."""
        ...

    def check(self, kind: str, after: Name | None, limit: int) -> CheckedRows:
        """Checks at most `limit` rows of a kind whose keys are higher than `after`."""
        ...

    def find(self, kind: str, name: Name) -> MalformedRow | None:
        """The row of this name if it is malformed; None if it is sound, or there is none."""
        ...

    def met(self) -> Sequence[MalformedRow]:
        """The malformed rows that reads of this process have met."""
        ...
