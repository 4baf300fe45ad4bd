"""Limits how many members of a box work for one process at once.

A place is a file that a member keeps locked while it works for the process. The kernel releases the
lock when the member ends, in whatever way.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from pathlib import Path

from synergy import private_files


class Place:
    """A locked file; other members cannot lock it until it is released."""

    def __init__(self, handle: int) -> None:
        self._handle = handle

    def release(self) -> None:
        """Unlocks the file, although processes that work forked may have it open, too."""
        fcntl.flock(self._handle, fcntl.LOCK_UN)
        os.close(self._handle)


class Places:
    """The places of all processes on a box."""

    def __init__(self, home: Path) -> None:
        self._folder = home / "run" / "pool"
        private_files.make_home_folder(self._folder)

    def take(self, process: str, limit: int) -> Place | None:
        """A place of the process; None if others have all `limit` of them."""
        name = hashlib.blake2b(process.encode(), digest_size=12).hexdigest()
        for number in range(1, limit + 1):
            path = self._folder / f"{name}.{number}"
            handle = private_files.open_file(path, os.O_RDWR | os.O_CREAT)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(handle)
                continue
            return Place(handle)
        return None
