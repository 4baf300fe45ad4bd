"""The view of a store: every noun without its writing methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from synergy.storage.protocol.documents import ReadableDocuments
from synergy.storage.protocol.journal import ReadableJournal
from synergy.storage.protocol.messages import ReadableMessages, ReadableUnitLogs
from synergy.storage.protocol.operating import (
    ReadableBoxes,
    ReadableControls,
    ReadableFacts,
    ReadableLeases,
)
from synergy.storage.protocol.operations import ReadableOperations
from synergy.storage.protocol.rows import Rows
from synergy.storage.protocol.schedules import (
    ReadableEvents,
    ReadablePayloads,
    ReadableRuns,
    ReadableSchedules,
)
from synergy.storage.protocol.work import ReadableJobs, ReadableUnits


@dataclass(frozen=True, slots=True)
class StoreStatus:
    """The state of a store for `store status` and health checks; `rows` by table or collection."""

    engine: str
    location: str
    version: str
    schema: int
    size_bytes: int
    rows: Mapping[str, int]
    warnings: Sequence[str] = ()


class StoreView(Protocol):
    """The stored state, read only. One object serves all threads of a process."""

    @property
    def jobs(self) -> ReadableJobs: ...

    @property
    def units(self) -> ReadableUnits: ...

    @property
    def documents(self) -> ReadableDocuments: ...

    @property
    def journal(self) -> ReadableJournal: ...

    @property
    def schedules(self) -> ReadableSchedules: ...

    @property
    def runs(self) -> ReadableRuns: ...

    @property
    def events(self) -> ReadableEvents: ...

    @property
    def payloads(self) -> ReadablePayloads: ...

    @property
    def operations(self) -> ReadableOperations: ...

    @property
    def controls(self) -> ReadableControls: ...

    @property
    def leases(self) -> ReadableLeases: ...

    @property
    def boxes(self) -> ReadableBoxes: ...

    @property
    def facts(self) -> ReadableFacts: ...

    @property
    def logs(self) -> ReadableUnitLogs: ...

    @property
    def messages(self) -> ReadableMessages: ...

    @property
    def rows(self) -> Rows: ...

    def status(self) -> StoreStatus: ...

    def warnings(self) -> Sequence[str]:
        """Texts for operators about guarantees that the store's present set-up does not give."""
        ...
