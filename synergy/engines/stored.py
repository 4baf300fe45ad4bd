"""Registers the bus that keeps its messages in the store: `store:`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from synergy.clock import Clock
    from synergy.messaging.protocol import Bus
    from synergy.storage.protocol import Store

DEFAULT = "store:"


class StoredEngine:
    """See `synergy.engines.protocol.BusEngine`."""

    module = "synergy.messaging.stored"
    expected = f"{DEFAULT} (messages are kept in the store)"
    has_broker = False

    def matches(self, url: str) -> bool:
        return url == DEFAULT

    def check(self, url: str) -> None:
        """Does nothing: `matches` accepts only one URL."""

    def weaknesses(self, url: str) -> list[str]:
        return []

    def open(
        self,
        url: str,
        store: Store,
        home: Path,
        clock: Clock,
        queues: Sequence[str],
        pooled: Collection[str] = (),
    ) -> Bus:
        from synergy.messaging.stored import StoredBus

        return StoredBus(store, home, clock, pooled)
