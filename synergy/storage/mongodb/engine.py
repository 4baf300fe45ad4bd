"""The MongoDB engine: opening, checking and closing a store.

`database` holds the connection and batches, `layout` the indexes that guarantee consistency; each
part of the store has a module.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Self

from synergy.errors import Refused, StorageUnavailable
from synergy.program import PROGRAM
from synergy.storage.mongodb import layout, server
from synergy.storage.mongodb.answers import MongoAnswers
from synergy.storage.mongodb.boxes import MongoBoxes
from synergy.storage.mongodb.changes import Changes
from synergy.storage.mongodb.controls import MongoControls
from synergy.storage.mongodb.database import Database
from synergy.storage.mongodb.documents import MongoDocuments
from synergy.storage.mongodb.events import MongoEvents
from synergy.storage.mongodb.facts import MongoFacts
from synergy.storage.mongodb.jobs import MongoJobs
from synergy.storage.mongodb.journal import MongoJournal
from synergy.storage.mongodb.leases import MongoLeases
from synergy.storage.mongodb.logs import MongoLogs
from synergy.storage.mongodb.messages import MongoMessages
from synergy.storage.mongodb.operations import MongoOperations
from synergy.storage.mongodb.payloads import MongoPayloads
from synergy.storage.mongodb.results import Results
from synergy.storage.mongodb.rows import MongoRows
from synergy.storage.mongodb.runs import MongoRuns
from synergy.storage.mongodb.schedules import MongoSchedules
from synergy.storage.mongodb.transfer import MongoTransfer
from synergy.storage.mongodb.units import MongoUnits
from synergy.storage.protocol import Batch, StoreStatus
from synergy.storage.protocol.check import Progress, StoreCheck
from synergy.storage.row_checks import check_all

_COUNTED = (
    "job_blocks", "units", "unit_logs", "journal", "schedules", "runs", "events", "payloads",
    "operations", "answers", "dead_messages",
)  # fmt: skip


class MongoStore:
    """A store in a database. See `synergy.storage.protocol.Store`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        changes = Changes(database)
        self.journal = MongoJournal(database)
        self.jobs = MongoJobs(database, self.journal)
        self.units = MongoUnits(database, Results(database, changes), self.journal)
        self.documents = MongoDocuments(database, changes)
        self.schedules = MongoSchedules(database, self.journal)
        self.runs = MongoRuns(database, self.journal)
        self.events = MongoEvents(database)
        self.payloads = MongoPayloads(database)
        self.operations = MongoOperations(database, self.journal)
        self.answers = MongoAnswers(database)
        self.controls = MongoControls(database, self.journal)
        self.leases = MongoLeases(database)
        self.boxes = MongoBoxes(database, self.journal)
        self.facts = MongoFacts(database)
        self.logs = MongoLogs(database)
        self.messages = MongoMessages(database)
        self.rows = MongoRows(database, self.messages)
        self.transfer = MongoTransfer(database, changes, self.journal, self.messages, self.payloads)

    @classmethod
    def open(cls, url: str, *, create: bool = True) -> Self:
        """Opens the store at `url`; raises ConfigurationError if an index is missing.

        Without `create`, raises StorageUnavailable for a database that was never used.
        """
        return cls.over(Database.connect(url), create=create)

    @classmethod
    def over(cls, database: Database, *, create: bool = True) -> Self:
        """Opens the store over a connection, which the store closes from now on."""
        try:
            layout.prepare(database, create=create)
            return cls(database)
        except BaseException:
            database.close()
            raise

    def batch(self) -> AbstractContextManager[Batch]:
        return self._database.batch()

    def status(self) -> StoreStatus:
        found = server.ask(self._database)
        size = self._database.command("dbStats")
        with self._database.calling():
            rows = {name: self._database[name].estimated_document_count() for name in _COUNTED}
        rows["messages"] = sum(self.messages.depths().values())
        rows["documents"] = sum(self.documents.collections().values())
        return StoreStatus(
            engine="mongodb",
            location=self._database.place,
            version=f"{found.version} ({found.topology})",
            schema=layout.version_of(self._database),
            size_bytes=int(size["storageSize"] + size["indexSize"]),
            rows=rows,
            warnings=found.warnings,
        )

    def warnings(self) -> Sequence[str]:
        return server.ask(self._database).warnings

    def backup(self, target: Path, progress: Callable[[int, int], None] | None = None) -> None:
        raise Refused(
            f"{self._database.place} is backed up by mongodump, or `{PROGRAM} store copy` copies it"
        )

    def recover(self) -> int:
        """Completes the work of writers that died; safe beside live writers."""
        parts = (
            self.jobs, self.units, self.documents, self.messages, self.schedules, self.runs,
            self.operations, self.payloads,
        )  # fmt: skip
        return sum(part.recover() for part in parts)

    def close(self) -> None:
        self._database.close()


def prepare(url: str, *, dry_run: bool = False) -> list[str]:
    """Creates the store at `url` or its missing indexes; returns the indexes that were missing."""
    database = Database.connect(url)
    try:
        layout.check_version(database)
        lacking = layout.missing(database)
        if not dry_run:
            layout.make(database)
        return lacking
    finally:
        database.close()


def check(url: str, progress: Progress) -> StoreCheck:
    """Reads all documents and looks for missing indexes; the server checks its own files."""
    database = Database.connect(url)
    try:
        if not layout.version_of(database):
            raise StorageUnavailable(f"there is no store in {database.place}")
        layout.check_version(database)
        missing = (f"the index {one} is missing" for one in layout.missing(database))
        store = MongoStore(database)
        total = sum(store.transfer.counts().values())
        rows, found = check_all(store.rows, lambda done: progress(done, max(done, total)))
        return StoreCheck(database.place, rows, tuple(missing), tuple(found))
    finally:
        database.close()


def exists(url: str) -> bool:
    """Whether the database of the URL holds a store."""
    database = Database.connect(url)
    try:
        return layout.version_of(database) > 0
    finally:
        database.close()


def drop(url: str) -> None:
    """Deletes the database with all its data."""
    database = Database.connect(url)
    try:
        database.command("dropDatabase")
    finally:
        database.close()
