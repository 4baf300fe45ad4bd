"""The output of processes: a file of bounded size for each, shared by all its instances."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

MAX_BYTES = 5 * 1024 * 1024


@contextmanager
def appending(path: Path) -> Iterator[BinaryIO]:
    """The file, open for appending, trimmed before if it is too large."""
    path.parent.mkdir(exist_ok=True)  # not its parents: a removed home is not created again
    trim(path)
    with path.open("ab") as file:
        yield file


def trim(path: Path, limit: int = MAX_BYTES) -> None:
    """Moves the last `limit` bytes to `<path>.1` if the file is larger, and empties it.

    It is not replaced, because processes that have it open go on appending to it.
    """
    try:
        with path.open("rb") as file:
            if file.seek(0, os.SEEK_END) <= limit:
                return
            file.seek(-limit, os.SEEK_END)
            path.with_name(path.name + ".1").write_bytes(file.read(limit))
        os.truncate(path, 0)
    except FileNotFoundError:
        return


def tail(path: Path, lines: int = 20) -> str:
    """The last lines of the file; "" if there is none."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - 16_384))
            text = file.read().decode(errors="replace")
    except FileNotFoundError:
        return ""
    return "\n".join(text.splitlines()[-lines:])
