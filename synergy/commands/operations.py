"""Operations: requests too long for one answer, carried out in steps that survive a crash.

An operation is a row of the store. After each step its owner writes the progress, by
compare-and-set on `rev`, together with the step itself where the store has transactions. If the
owner dies, another process continues from there; at most the step under way is done twice, which
is harmless (`bulk`).

An owner is dead if its process is gone from this machine; on another machine, if the row does not
change for `STILL` seconds on the observer's clock. An owner that was only slow finds that its `rev`
is not the stored one any more, and leaves the operation to the other.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from synergy.clock import Clock
from synergy.commands.bulk import Bulk, BulkRequest, BulkVerb, Range
from synergy.errors import MessagingUnavailable, NotFound, StorageUnavailable, SynergyError
from synergy.model.actor import Actor
from synergy.model.operation import Operation, OperationState
from synergy.model.retention import spelled
from synergy.runtime import identity
from synergy.storage.protocol import Store

STILL = 60.0  # seconds; a step takes far less

Continue = Callable[[], bool]
"""Returns whether to continue; called before each step."""

log = logging.getLogger(__name__)


class _Lost(Exception):
    """Another process has taken the operation over."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """The `rev` of another process's operation, and since when (monotonic) it is unchanged."""

    rev: int
    since: float


class Operations:
    """The operations of a deployment; all but `work` may be called by several threads.

    `owner` is the incarnation of this process, in which at most one thread calls `work`.
    `on_accept` is called when an operation was accepted here.
    """

    def __init__(self, store: Store, bulk: Bulk, clock: Clock, owner: str, kept: timedelta) -> None:
        """`kept` is how long ended operations are found."""
        self._store = store
        self._kept = kept
        self._bulk = bulk
        self._clock = clock
        self._owner = owner
        self._seen: dict[str, _Seen] = {}
        self.on_accept: Callable[[], object] = lambda: None

    def accept(self, request: BulkRequest, actor: Actor, now: datetime) -> Operation:
        """Stores a request, to be carried out soon. Raises NotFound for an unknown process."""
        processes = {each.process for each in request.ranges}
        operation = Operation(
            id=uuid.uuid4().hex,
            kind=request.verb.value,
            process=processes.pop() if len(processes) == 1 else "",
            request=_written(request),
            who=actor.who,
            why=actor.why,
            created_at=now,
            total=self._bulk.requested(request),
        )
        accepted = self._store.operations.accept(operation)
        self.on_accept()
        return accepted

    def get(self, id_: str) -> Operation:
        """The operation of that id; raises NotFound."""
        found = self._store.operations.get(id_)
        if found is None:
            kept = f"those that ended are kept for {spelled(self._kept)}"
            raise NotFound("operation", id_, kept)
        return found

    def find(
        self, limit: int = 100, cursor: str | None = None
    ) -> tuple[Sequence[Operation], str | None]:
        """A page, newest first, and the cursor of the next page or None."""
        return self._store.operations.find(limit, cursor)

    def work(self, may_continue: Continue) -> bool:
        """Carries out the oldest operation without an owner; False if there is none.

        Raises StorageUnavailable or MessagingUnavailable; the next call continues with it.
        """
        unfinished = self._store.operations.unfinished()
        self._forget_others({operation.id for operation in unfinished})
        for operation in unfinished:
            if self._is_free(operation) and (taken := self._taken(operation)) is not None:
                self._carry_out(taken, may_continue)
                return True
        return False

    def _is_free(self, operation: Operation) -> bool:
        """Whether it has no live owner; one that this process owns was interrupted."""
        if operation.owner in (None, self._owner):
            return True
        holder = identity.parse(operation.owner or "")
        if holder is not None and holder.is_provably_dead:
            return True
        seen = self._seen.get(operation.id)
        if seen is None or seen.rev != operation.rev:
            seen = self._seen[operation.id] = _Seen(operation.rev, self._clock.monotonic())
        return self._clock.monotonic() - seen.since >= STILL

    def _taken(self, operation: Operation) -> Operation | None:
        taken = replace(operation, state=OperationState.RUNNING, owner=self._owner)
        return self._store.operations.change(taken)

    def _forget_others(self, ids: set[str]) -> None:
        self._seen = {id_: seen for id_, seen in self._seen.items() if id_ in ids}

    def _carry_out(self, operation: Operation, may_continue: Continue) -> None:
        owned = _OwnedOperation(self._store, operation)
        try:
            is_done = self._steps(owned, may_continue)
        except _Lost:
            text = "Operation %s was taken over by another process"
            log.warning(text, operation.id, extra={"event": "operation.lost"})
            return
        except (StorageUnavailable, MessagingUnavailable):
            raise
        except SynergyError as error:
            self._end(owned, OperationState.FAILED, str(error))
        except Exception:
            log.exception("Operation %s failed", operation.id, extra={"event": "operation.broken"})
            self._end(owned, OperationState.FAILED, "an unexpected error: see the log")
        else:
            if is_done:
                self._end(owned, OperationState.DONE)
            else:
                owned.give_back()

    def _steps(self, owned: _OwnedOperation, may_continue: Continue) -> bool:
        """Carries out the remaining steps; False if it was asked not to continue."""
        operation = owned.operation
        request = _read(operation.kind, operation.request)
        actor = Actor(operation.who, operation.why)
        while owned.operation.done < owned.operation.total:
            if not may_continue():
                return False
            now, after = self._clock.now(), owned.operation.done
            self._bulk.step(request, actor, now, owned.progress, after)
        return True

    def _end(self, owned: _OwnedOperation, state: OperationState, detail: str = "") -> None:
        owned.end(state, detail, self._clock.now())


class _OwnedOperation:
    """An operation that this process owns."""

    def __init__(self, store: Store, operation: Operation) -> None:
        self._store = store
        self.operation = operation

    def progress(self, done: int, total: int, touched: int) -> None:
        touched += self.operation.touched
        self._keep(replace(self.operation, done=done, total=total, touched=touched))

    def give_back(self) -> None:
        """Gives up ownership, so that any process may continue."""
        self._store.operations.change(replace(self.operation, owner=None))

    def end(self, state: OperationState, detail: str, now: datetime) -> None:
        ended = replace(self.operation, state=state, detail=detail, owner=None, finished_at=now)
        self._store.operations.change(ended)

    def _keep(self, wanted: Operation) -> None:
        kept = self._store.operations.change(wanted)
        if kept is None:
            raise _Lost
        self.operation = kept


def _written(request: BulkRequest) -> dict[str, object]:
    return {"ranges": [[each.process, each.first, each.last] for each in request.ranges]}


def _read(kind: str, request: Any) -> BulkRequest:
    return BulkRequest(BulkVerb(kind), tuple(Range(*each) for each in request["ranges"]))
