"""A store: its parts by noun, and operations on the whole."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from synergy.storage.protocol.documents import Documents
from synergy.storage.protocol.journal import Journal
from synergy.storage.protocol.messages import Messages, UnitLogs
from synergy.storage.protocol.operating import Boxes, Controls, Facts, Leases
from synergy.storage.protocol.operations import Answers, Operations
from synergy.storage.protocol.rows import Rows
from synergy.storage.protocol.schedules import Events, Payloads, Runs, Schedules
from synergy.storage.protocol.transfer import Transfer
from synergy.storage.protocol.view import StoreView
from synergy.storage.protocol.work import Jobs, Units


class Batch(Protocol):
    """Writes that become durable together; see `Store.batch`."""

    def after_commit(self, act: Callable[[], None]) -> None:
        """Calls `act` when the batch has become durable; never if it fails."""
        ...

    def after_failure(self, act: Callable[[], object]) -> None:
        """Calls `act` if the batch fails; `act` must not raise."""
        ...


class Store(StoreView, Protocol):
    """The stored state, read and written. One object serves all threads of a process."""

    @property
    def jobs(self) -> Jobs: ...

    @property
    def units(self) -> Units: ...

    @property
    def documents(self) -> Documents: ...

    @property
    def journal(self) -> Journal: ...

    @property
    def schedules(self) -> Schedules: ...

    @property
    def runs(self) -> Runs: ...

    @property
    def events(self) -> Events: ...

    @property
    def payloads(self) -> Payloads: ...

    @property
    def operations(self) -> Operations: ...

    @property
    def answers(self) -> Answers: ...

    @property
    def controls(self) -> Controls: ...

    @property
    def leases(self) -> Leases: ...

    @property
    def boxes(self) -> Boxes: ...

    @property
    def facts(self) -> Facts: ...

    @property
    def logs(self) -> UnitLogs: ...

    @property
    def messages(self) -> Messages: ...

    @property
    def transfer(self) -> Transfer: ...

    @property
    def rows(self) -> Rows: ...

    def batch(self) -> AbstractContextManager[Batch]:
        """Makes the writes of this thread within the block durable together at its end.

        An engine without transactions writes in the order of the calls, so every prefix of a
        batch must be a legal state. A batch within a batch is part of the outermost one. If the
        block raises, an engine with transactions undoes all its writes.
        """
        ...

    def recover(self) -> int:
        """Completes interrupted writes; returns their number.

        To be called regularly; safe beside live writers. Engines with transactions have nothing to
        do.
        """
        ...

    def backup(self, target: Path, progress: Callable[[int, int], None] | None = None) -> None:
        """Copies a consistent state into a new file, beside other users of the store.

        Calls `progress(done, total)`, in pages. Raises Refused if the file exists, or if the engine
        has no backup of its own.
        """
        ...

    def close(self) -> None: ...
