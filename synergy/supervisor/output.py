"""The output of processes: a file of bounded size for each, shared by all its instances."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from synergy import private_files

MAX_BYTES = 5 * 1024 * 1024


@contextmanager
def appending(path: Path) -> Iterator[BinaryIO]:
    """The file, open for appending, trimmed before if it is too large."""
    # Not the home: a removed one is not created again.
    private_files.make_home_folder(path.parent, with_home=False)
    trim(path)
    with _opened(path, "ab") as file:
        yield file


def trim(path: Path, limit: int = MAX_BYTES) -> None:
    """Moves the last `limit` bytes to `<path>.1` if the file is larger, and empties it.

    It is not replaced, because processes that have it open go on appending to it.
    """
    try:
        with _opened(path, "r+b") as file:
            if file.seek(0, os.SEEK_END) <= limit:
                return
            file.seek(-limit, os.SEEK_END)
            with _opened(path.with_name(path.name + ".1"), "wb") as older:
                older.write(file.read(limit))
            file.truncate(0)
    except FileNotFoundError:
        return


def tail(path: Path, lines: int = 20) -> str:
    """The last lines of the file; "" if there is none."""
    try:
        with _opened(path, "rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - 16_384))
            text = file.read().decode(errors="replace")
    except FileNotFoundError:
        return ""
    return "\n".join(text.splitlines()[-lines:])


def _opened(path: Path, mode: str) -> BinaryIO:
    return cast("BinaryIO", open(path, mode, opener=private_files.open_file))
