"""A store: all nouns, and what is said of it as a whole."""

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
from synergy.storage.protocol.schedules import Events, Payloads, Runs, Schedules
from synergy.storage.protocol.transfer import Transfer
from synergy.storage.protocol.view import StoreView
from synergy.storage.protocol.work import Jobs, Units


class Batch(Protocol):
    """Writes that become durable together; see `Store.batch`."""

    def after_commit(self, act: Callable[[], None]) -> None:
        """Calls `act` once the batch is durable; never, if it is not."""
        ...

    def after_failure(self, act: Callable[[], object]) -> None:
        """Calls `act`, which must not raise, if the batch fails. One of both is called."""
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

    def batch(self) -> AbstractContextManager[Batch]:
        """Writes of this thread within the block become durable together at its end.

        An engine without transactions writes in the order of the calls, so every prefix of a
        batch must be a legal state. Blocks within a block belong to the outermost. If the
        block raises, an engine with transactions undoes all of it.
        """
        ...

    def recover(self) -> int:
        """Finishes what writers left half done; returns how much that was.

        To be called now and then; harmless beside live writers. Engines with transactions have
        nothing to do.
        """
        ...

    def backup(self, target: Path, progress: Callable[[int, int], None] | None = None) -> None:
        """A consistent copy into a new file, while others work; progress(done, total) in pages."""
        ...

    def close(self) -> None: ...
