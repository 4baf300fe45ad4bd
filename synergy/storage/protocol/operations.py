"""Operations that are worked off in parts, and answers that are kept."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from synergy.model.answer import Answer
from synergy.model.operation import Operation


class Operations(Protocol):
    """Operations by id. Every change is a compare-and-set on the row's `rev`.

    The journal entries name who asked, the operation's process as the process, and its id as
    the unit.
    """

    def accept(self, operation: Operation) -> Operation:
        """Stores it if its id is new (journal `operation.accepted`); returns the stored one.

        The first `rev` is 1.
        """
        ...

    def change(self, operation: Operation) -> Operation | None:
        """Writes it if its `rev` is the stored one, which rises by one; None if it is not.

        What was asked for, by whom, why and when never changes. Journal `operation.done` or
        `operation.failed`, at `finished_at`, where that is what it has become.
        """
        ...

    def get(self, id_: str) -> Operation | None: ...

    def find(
        self, limit: int = 100, cursor: str | None = None
    ) -> tuple[list[Operation], str | None]:
        """A page, newest first, and the cursor of the next page or None."""
        ...

    def unfinished(self) -> Sequence[Operation]:
        """All that have not finished, oldest first."""
        ...

    def prune(self, before: datetime, limit: int) -> int:
        """Forgets at most `limit` whose `finished_at` is before that; how many."""
        ...


class Answers(Protocol):
    """Answers by (person, key). Every change is a compare-and-set on the row's `rev`."""

    def begin(self, answer: Answer) -> tuple[Answer, bool]:
        """Stores it if that person's key is free; the stored one, and whether it is this.

        Of several who begin the same, one is told so. The first `rev` is 1.
        """
        ...

    def change(self, answer: Answer) -> Answer | None:
        """Writes it if its `rev` is the stored one, which rises by one; None if it is not."""
        ...

    def drop(self, answer: Answer) -> bool:
        """Frees the key, if `rev` is the stored one."""
        ...

    def prune(self, before: datetime, limit: int) -> int:
        """Forgets at most `limit` that began before that, finished or not; how many."""
        ...
