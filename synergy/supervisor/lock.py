"""One supervisor for one home: a lock file, held open and locked for life.

The lock itself decides; the file's content, the holder's incarnation, only tells others whom
to talk to. The kernel drops the lock when its holder dies, however it dies.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from synergy.runtime import identity
from synergy.runtime.identity import Incarnation


class HomeLock:
    """The right to supervise a home.

    Once it is acquired, `holder` is who has it, as others read it, and `predecessor` who had it
    before and did not give it up: he has ended all the same.
    """

    def __init__(self, home: Path) -> None:
        self._path = _path(home)
        self._fd: int | None = None
        self.holder = ""
        self.predecessor = ""

    def acquire(self) -> bool:
        """Takes the lock and writes down who holds it; False if somebody else has it."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        fd = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            return False
        self.predecessor = os.pread(fd, 4096, 0).decode(errors="replace")
        self.holder = str(identity.incarnation())
        os.ftruncate(fd, 0)
        os.pwrite(fd, self.holder.encode(), 0)
        self._fd = fd
        return True

    @property
    def is_intact(self) -> bool:
        """Whether the locked file is still the one at its path, so that it keeps others out."""
        if self._fd is None:
            return False
        try:
            return os.path.samestat(os.fstat(self._fd), self._path.stat())
        except FileNotFoundError:
            return False

    def release(self) -> None:
        """Gives the right up."""
        if self._fd is not None:
            os.ftruncate(self._fd, 0)
            os.close(self._fd)
            self._fd = None


def holder(home: Path) -> Incarnation | None:
    """The supervisor that runs for this home; None if there is none."""
    try:
        found = identity.parse(_path(home).read_text())
    except FileNotFoundError:
        return None
    if found is None or found.boot != identity.boot_id() or found.is_provably_dead:
        return None
    return found


def _path(home: Path) -> Path:
    return home / "run" / "supervisor.lock"
