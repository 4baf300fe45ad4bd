"""Operations: what was asked for, is too long for an answer, and is worked off in parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum


class OperationState(Enum):
    """How far an operation is; nothing follows `done` and `failed`."""

    ACCEPTED = "accepted"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"

    @property
    def is_finished(self) -> bool:
        return self in (OperationState.DONE, OperationState.FAILED)


@dataclass(frozen=True, slots=True)
class Operation:
    """What `who` asked for, and how far it is.

    `request` says what is to be done, in the words of its `kind`. `process` is what the journal
    files it under, empty if it is about several. Of the `total` jobs that were asked for, the
    first `done` are done, after which whoever takes it over goes on; `touched` is how many jobs
    were changed, with those that were made from them. `owner` is the incarnation of the process
    that works on it, which shows by `rev` that it still does: every change of the row raises
    it. `detail` says why it failed.
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
