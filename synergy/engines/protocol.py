"""The operations of an engine besides those of its store or bus."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from synergy.clock import Clock
    from synergy.messaging.protocol import Bus
    from synergy.storage.protocol import Store
    from synergy.storage.protocol.check import Progress, StoreCheck


class StoreEngine(Protocol):
    """A kind of store. Its URLs can be checked without its driver, and without a connection."""

    @property
    def module(self) -> str:
        """The module that `open` imports, with the driver."""
        ...

    @property
    def expected(self) -> str:
        """The form of its URLs, for messages: `expected ...`."""
        ...

    def matches(self, url: str) -> bool:
        """Whether a URL has that form, by its scheme; no other engine's may."""
        ...

    def complete(self, url: str, file: Callable[[str], Path]) -> str:
        """The URL as a deployment uses it; `file` makes a path absolute.

        Raises InvalidValue, with what is wrong, for a URL that cannot be a store.
        """
        ...

    def place(self, url: str) -> str:
        """The store's place without user, secrets and options.

        URLs with the same place name the same store.
        """
        ...

    def weaknesses(self, url: str) -> list[str]:
        """What leaves the connection unprotected, for warnings; without the URL's secrets."""
        ...

    def file(self, url: str) -> Path | None:
        """The file of a store that only this box uses; None if the store is on a server."""
        ...

    def open(self, url: str, *, create: bool) -> Store:
        """Opens the store, and creates it where there is none.

        Without `create`, a missing store raises StorageUnavailable.
        """
        ...

    def prepare(self, url: str, *, dry_run: bool = False) -> list[str]:
        """Creates the store or its missing indexes; returns the names of the created indexes.

        With `dry_run` it creates nothing, and returns the same.
        """
        ...

    def exists(self, url: str) -> bool:
        """Whether the store was ever created."""
        ...

    def check(self, url: str, progress: Progress) -> StoreCheck:
        """Reads everything in the store, which may be in use, and changes nothing there."""
        ...

    def drop(self, url: str) -> None:
        """Deletes the store with all its contents; no process may have it open."""
        ...


class BusEngine(Protocol):
    """A kind of bus. Its URLs can be checked without its driver, and without a connection."""

    @property
    def module(self) -> str:
        """The module that `open` imports, with the driver."""
        ...

    @property
    def expected(self) -> str:
        """The form of its URLs, for messages: `expected ...`."""
        ...

    def matches(self, url: str) -> bool:
        """Whether a URL has that form, by its scheme; no other engine's may."""
        ...

    @property
    def has_broker(self) -> bool:
        """Whether messages travel through a server of their own, not through the store."""
        ...

    def check(self, url: str) -> None:
        """Raises InvalidValue, with what was expected, for a URL that cannot be a bus."""
        ...

    def weaknesses(self, url: str) -> list[str]:
        """What leaves the connection unprotected, for warnings; without the URL's secrets."""
        ...

    def open(
        self,
        url: str,
        store: Store,
        home: Path,
        clock: Clock,
        queues: Sequence[str],
        pooled: Collection[str] = (),
    ) -> Bus:
        """The bus, not connected yet.

        `home` is the folder that the processes of a box share; `queues` are those of all processes,
        `pooled` those that the pools of the boxes take from.
        """
        ...
