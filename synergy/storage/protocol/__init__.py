"""The storage contract, by noun.

Each docstring states what an engine guarantees, not how. One conformance suite
(`tests/contract/test_store_*.py`) tests all engines. A store makes no decisions: it compares, swaps
and stores. Every method may raise StorageUnavailable; after that the write may or may not have
happened, and the caller reads before it writes again.

Every change of state writes its journal entries in the same step, so that the journal is both the
record for people and the feed that schedulers follow.
"""

from __future__ import annotations

from synergy.storage.protocol.documents import (
    Bounds,
    Documents,
    Merge,
    ReadableDocuments,
    SourceChange,
    unique_documents,
)
from synergy.storage.protocol.journal import Journal, ReadableJournal
from synergy.storage.protocol.messages import (
    DeadMessage,
    LogLine,
    Messages,
    ReadableMessages,
    ReadableUnitLogs,
    StoredMessage,
    UnitLogs,
)
from synergy.storage.protocol.operating import (
    Boxes,
    Controls,
    Facts,
    Leases,
    ReadableBoxes,
    ReadableControls,
    ReadableFacts,
    ReadableLeases,
)
from synergy.storage.protocol.operations import Answers, Operations, ReadableOperations
from synergy.storage.protocol.rows import CheckedRows, Rows
from synergy.storage.protocol.schedules import (
    Events,
    Payloads,
    ReadableEvents,
    ReadablePayloads,
    ReadableRuns,
    ReadableSchedules,
    Runs,
    Schedules,
)
from synergy.storage.protocol.store import Batch, Store
from synergy.storage.protocol.transfer import Key, Record, Transfer
from synergy.storage.protocol.view import StoreStatus, StoreView
from synergy.storage.protocol.work import Jobs, ReadableJobs, ReadableUnits, Units
from synergy.storage.quarantine_limits import (
    QUARANTINE_LIMITS,
    QuarantineContents,
    QuarantineLimits,
)

__all__ = [
    "QUARANTINE_LIMITS",
    "Answers",
    "Batch",
    "Bounds",
    "Boxes",
    "CheckedRows",
    "Controls",
    "DeadMessage",
    "Documents",
    "Events",
    "Facts",
    "Jobs",
    "Journal",
    "Key",
    "Leases",
    "LogLine",
    "Merge",
    "Messages",
    "Operations",
    "Payloads",
    "QuarantineContents",
    "QuarantineLimits",
    "ReadableBoxes",
    "ReadableControls",
    "ReadableDocuments",
    "ReadableEvents",
    "ReadableFacts",
    "ReadableJobs",
    "ReadableJournal",
    "ReadableLeases",
    "ReadableMessages",
    "ReadableOperations",
    "ReadablePayloads",
    "ReadableRuns",
    "ReadableSchedules",
    "ReadableUnitLogs",
    "ReadableUnits",
    "Record",
    "Rows",
    "Runs",
    "Schedules",
    "SourceChange",
    "Store",
    "StoreStatus",
    "StoreView",
    "StoredMessage",
    "Transfer",
    "UnitLogs",
    "Units",
    "unique_documents",
]
