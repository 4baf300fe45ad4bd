"""Operations: requests too long for one answer, carried out in steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum


class OperationState(Enum):
    """The states of an operation; `done` and `failed` are final."""

    ACCEPTED = "accepted"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"

    @property
    def is_finished(self) -> bool:
        return self in (OperationState.DONE, OperationState.FAILED)


@dataclass(frozen=True, slots=True)
class Operation:
    """A long request of `who`, and its progress.

    `request` has the parameters of its `kind`. `process` is that of its journal entries, empty if
    it concerns several. Of the `total` requested jobs, the first `done` are done; a process that
    takes the operation over continues after them. `touched` counts all changed jobs, cascades
    included. `owner` is the incarnation of the process that works on it; `rev` rises with every
    change of the row, which shows that the owner is still at work. `detail` says why it failed.
    """

    id: str
    kind: str
    process: str
    request: Mapping[str, object]
    who: str
    why: str
    created_at: datetime
    state: OperationState = OperationState.ACCEPTED
    total: int = 0
    done: int = 0
    touched: int = 0
    detail: str = ""
    owner: str | None = None
    finished_at: datetime | None = None
    rev: int = 0
