"""The SQLite engine: opening, checking and closing a store.

`database` holds threads and transactions, `writer_gate` the turns of writers; each part of the
store has a module. The SQL is in `sql/`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Self

import apsw

from synergy import private_files
from synergy.errors import StorageUnavailable
from synergy.storage.protocol import Batch, StoreStatus
from synergy.storage.sqlite import upgrade
from synergy.storage.sqlite.answers import SqliteAnswers
from synergy.storage.sqlite.backup import back_up
from synergy.storage.sqlite.boxes import SqliteBoxes
from synergy.storage.sqlite.columns import fetch
from synergy.storage.sqlite.controls import SqliteControls
from synergy.storage.sqlite.damage import damage_outside, quick_check
from synergy.storage.sqlite.database import OLDEST_SQLITE, Database
from synergy.storage.sqlite.documents import SqliteDocuments
from synergy.storage.sqlite.events import SqliteEvents
from synergy.storage.sqlite.facts import SqliteFacts
from synergy.storage.sqlite.filesystem import check_local
from synergy.storage.sqlite.jobs import SqliteJobs
from synergy.storage.sqlite.journal import SqliteJournal
from synergy.storage.sqlite.leases import SqliteLeases
from synergy.storage.sqlite.logs import SqliteLogs
from synergy.storage.sqlite.messages import SqliteMessages
from synergy.storage.sqlite.operations import SqliteOperations
from synergy.storage.sqlite.payloads import SqlitePayloads
from synergy.storage.sqlite.queries import queries
from synergy.storage.sqlite.rows import SqliteRows
from synergy.storage.sqlite.runs import SqliteRuns
from synergy.storage.sqlite.schedules import SqliteSchedules
from synergy.storage.sqlite.transfer import SqliteTransfer
from synergy.storage.sqlite.units import SqliteUnits
from synergy.storage.sqlite.writer_gate import Gate

MEMORY = ":memory:"
CHECK_LIMIT = 1.0  # seconds that the first opening spends on checking the file

_SQL = queries("engine")


class SqliteStore:
    """A store in one file, or in memory. See `synergy.storage.protocol.Store`."""

    def __init__(self, database: Database, opening: Gate | None = None) -> None:
        self._database = database
        self._opening = opening
        self.jobs = SqliteJobs(database)
        self.units = SqliteUnits(database)
        self.documents = SqliteDocuments(database)
        self.journal = SqliteJournal(database)
        self.schedules = SqliteSchedules(database)
        self.runs = SqliteRuns(database)
        self.events = SqliteEvents(database)
        self.payloads = SqlitePayloads(database)
        self.operations = SqliteOperations(database)
        self.answers = SqliteAnswers(database)
        self.controls = SqliteControls(database)
        self.leases = SqliteLeases(database)
        self.boxes = SqliteBoxes(database)
        self.facts = SqliteFacts(database)
        self.logs = SqliteLogs(database)
        self.messages = SqliteMessages(database)
        self.transfer = SqliteTransfer(database)
        self.rows = SqliteRows(database)

    @classmethod
    def open(cls, path: Path | str, *, create: bool = True) -> Self:
        """Opens the store at `path`; `":memory:"` is a store that ends with this object.

        Raises StorageUnavailable for a store that cannot be opened, is found damaged, has a newer
        schema, or lies on a file system on which processes cannot share it; and without `create`
        for a missing one.
        """
        _check_sqlite()
        if str(path) == MEMORY:
            database = Database(None)
            with database.reading() as connection:
                upgrade.prepare(connection, MEMORY)
            return cls(database)
        path = Path(path).absolute()
        _check_place(path, create=create)
        return cls._open_file(path)

    @classmethod
    def _open_file(cls, path: Path) -> Self:
        """Prepares the file, one process at a time; the first one checks it for damage."""
        opening = Gate(path)
        try:
            with opening.opening(), _without_remnant(path):
                database = Database(path)
                is_first = opening.is_alone()
                if path.exists():
                    _refuse_damage(database, damage_outside(path) if is_first else "")
                elif database.mark is not None:
                    database.mark.clear()
                _make_private(path)
                with database.on_its_own(creates=True) as connection:
                    if is_first:
                        found = quick_check(connection, database.place, CHECK_LIMIT)
                        _refuse_damage(database, found)
                    upgrade.prepare(connection, database.place)
        except BaseException:
            opening.close()
            raise
        return cls(database, opening)

    def batch(self) -> AbstractContextManager[Batch]:
        return self._database.batch()

    def recover(self) -> int:
        return 0  # transactions leave no work half done

    def status(self) -> StoreStatus:
        path = self._database.path
        with self._database.reading() as connection:
            rows: dict[str, int] = dict(fetch(connection, _SQL["counts"]))
            version = upgrade.version_of(connection)
        return StoreStatus(
            engine="sqlite",
            location=str(path or MEMORY),
            version=apsw.sqlite_lib_version(),
            schema=version,
            size_bytes=upgrade.size(path) if path else 0,
            rows=rows,
        )

    def warnings(self) -> Sequence[str]:
        return ()

    def backup(self, target: Path, progress: Callable[[int, int], None] | None = None) -> None:
        back_up(self._database, target, progress)

    def close(self) -> None:
        self._database.close()
        if self._opening is not None:
            self._opening.close()
            self._opening = None


def _check_sqlite() -> None:
    found = tuple(int(part) for part in apsw.sqlite_lib_version().split("."))
    if found < OLDEST_SQLITE:
        raise StorageUnavailable(
            f"SQLite {apsw.sqlite_lib_version()} may damage a file that several processes write: "
            f"install an apsw that carries {'.'.join(map(str, OLDEST_SQLITE))} or later"
        )


def _check_place(path: Path, *, create: bool) -> None:
    if create:
        try:
            private_files.make_folder(path.parent)
        except OSError as error:
            raise StorageUnavailable(f"{path.parent} cannot be made: {error.strerror}") from error
    elif not path.is_file():
        raise StorageUnavailable(f"there is no store at {path}: `launch.py store init` makes one")
    check_local(path.parent)


@contextmanager
def _without_remnant(path: Path) -> Iterator[None]:
    """Removes an empty file that a failed creation leaves: it would count as a damaged store."""
    is_new = not os.path.lexists(path)
    try:
        yield
    except BaseException:
        with suppress(OSError):
            if is_new and path.stat().st_size == 0:
                path.unlink()
        raise


def _make_private(path: Path) -> None:
    """Creates the file if it is missing; afterwards only this user can read file and log.

    SQLite gives its log the mode of the file.
    """
    try:
        if not os.path.lexists(path):
            os.close(private_files.open_file(path, os.O_RDWR | os.O_CREAT))
        for file in (path, Path(f"{path}-wal"), Path(f"{path}-shm")):
            with suppress(FileNotFoundError):
                private_files.make_private(file)
    except OSError as error:
        raise StorageUnavailable(f"{error.filename} cannot be opened: {error.strerror}") from error


def _refuse_damage(database: Database, found: str) -> None:
    """Raises StorageUnavailable for damage that was found, now or before."""
    assert database.mark is not None
    if found:
        database.mark.note(found)
    database.mark.refuse()
