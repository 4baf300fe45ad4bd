"""The backup of a store that may be in use: SQLite copies the pages of one snapshot."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw

from synergy import private_files
from synergy.errors import Refused, StorageUnavailable
from synergy.storage.sqlite.database import Database
from synergy.storage.sqlite.faults import Translating

_STEP = 1_000  # pages that are copied at a time

Progress = Callable[[int, int], None]
"""Called with the number of pages done, and of all."""


def back_up(database: Database, target: Path, progress: Progress | None) -> None:
    """Copies into a temporary file and renames it when the copy is complete."""
    if target.exists():
        raise Refused(f"{target} is there already: name a new file")
    partial = target.with_name(f"{target.name}.partial")
    partial.unlink(missing_ok=True)
    try:
        os.close(private_files.open_file(partial, os.O_RDWR | os.O_CREAT | os.O_EXCL))
        _copy(database, partial, progress)
        partial.rename(target)
    except OSError as error:
        raise StorageUnavailable(f"{target} cannot be written: {error.strerror}") from error
    finally:
        partial.unlink(missing_ok=True)


def _copy(database: Database, target: Path, progress: Progress | None) -> None:
    """Copies the state of one read transaction, so that writers do not restart the copy."""
    with (
        database.snapshot() as source,
        Translating(str(target)),
        closing(apsw.Connection(str(target))) as copy,
        copy.backup("main", source, "main") as backup,
    ):
        while not backup.done:
            backup.step(_STEP)
            if progress is not None:
                progress(backup.page_count - backup.remaining, backup.page_count)
