"""Operations that are carried out in parts, and stored answers for repeated requests."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from synergy.model.answer import Answer
from synergy.model.operation import Operation


class ReadableOperations(Protocol):
    """Operations by id."""

    def get(self, id_: str) -> Operation | None: ...

    def find(
        self, limit: int = 100, cursor: str | None = None
    ) -> tuple[list[Operation], str | None]:
        """A page, newest first, and the cursor of the next page or None."""
        ...

    def unfinished(self) -> Sequence[Operation]:
        """All unfinished operations, oldest first."""
        ...


class Operations(ReadableOperations, Protocol):
    """Operations, read and changed; every change is a compare-and-set on the row's `rev`.

    The journal entries hold the requester as `who`, the operation's process as the process, and its
    id as the unit.
    """

    def accept(self, operation: Operation) -> Operation:
        """Stores it if its id is new (journal `operation.accepted`); returns the stored one.

        The first `rev` is 1.
        """
        ...

    def change(self, operation: Operation) -> Operation | None:
        """Writes it if its `rev` is the stored one, which rises by one; None if it is not.

        The request, its requester, reason and time never change. Journal `operation.done` or
        `operation.failed`, at `finished_at`, when it ends.
        """
        ...

    def prune(self, before: datetime, limit: int) -> int:
        """Deletes at most `limit` whose `finished_at` is before `before`; returns their number."""
        ...


class Answers(Protocol):
    """Answers by (person, key). Every change is a compare-and-set on the row's `rev`."""

    def begin(self, answer: Answer) -> tuple[Answer, bool]:
        """Stores the answer if the person has none with this key.

        Returns the stored answer, and whether it is the given one. Of several concurrent callers,
        one stores its answer. The first `rev` is 1.
        """
        ...

    def change(self, answer: Answer) -> Answer | None:
        """Writes it if its `rev` is the stored one, which rises by one; None if it is not."""
        ...

    def drop(self, answer: Answer) -> bool:
        """Deletes the answer if `rev` is the stored one; returns whether it did."""
        ...

    def prune(self, before: datetime, limit: int) -> int:
        """Deletes at most `limit` that began before `before`, finished or not.

        Returns their number.
        """
        ...
