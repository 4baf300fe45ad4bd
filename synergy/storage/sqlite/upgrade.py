"""Creates and migrates the schema; its version is the file's `user_version`."""

from __future__ import annotations

from pathlib import Path

import apsw

from synergy.errors import StorageUnavailable
from synergy.storage.sqlite.migration_steps import steps_of
from synergy.storage.sqlite.queries import SQL, queries

_SQL = queries("engine")


def migrations() -> list[str]:
    """The migrations, oldest first; the n-th (from 1) leads to version n."""
    return [path.read_text() for path in sorted((SQL / "migrations").glob("*.sql"))]


VERSION = len(migrations())


def version_of(connection: apsw.Connection) -> int:
    """The version of the schema in the file; 0 for an empty one."""
    return int(str(connection.pragma("user_version")))


def prepare(connection: apsw.Connection, place: str) -> None:
    """Creates or migrates the schema; raises StorageUnavailable if it is newer."""
    check(connection, place)
    if version_of(connection) == VERSION:
        return
    connection.execute(_SQL["begin"])
    version = version_of(connection)
    if version == 0:
        connection.execute((SQL / "schema.sql").read_text())
    else:
        for migration in migrations()[version:]:
            connection.execute(migration)
            for step in steps_of(migration):
                step(connection)
    connection.pragma("user_version", VERSION)
    connection.execute(_SQL["commit"])


def check(connection: apsw.Connection, place: str) -> None:
    """Raises StorageUnavailable if the schema is newer than this program."""
    version = version_of(connection)
    if version > VERSION:
        raise StorageUnavailable(
            f"{place} was written by a newer Synergy (schema {version}, this one knows "
            f"{VERSION}): update this installation, or use another store"
        )


def size(path: Path) -> int:
    """The bytes on disk, with those that are still in the log."""
    files = (path, Path(f"{path}-wal"))
    return sum(file.stat().st_size for file in files if file.exists())
