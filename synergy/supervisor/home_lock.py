"""One supervisor for one home: a lock file, locked while the supervisor runs.

Only the lock counts. The file's content is for other processes: the holder's incarnation, by which
they can signal it, and the id of its box. The kernel releases the lock when its holder ends for any
reason.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from synergy import private_files
from synergy.runtime import identity
from synergy.runtime.identity import Incarnation


class HomeLock:
    """The right to supervise a home.

    Once it is acquired, `holder` is the incarnation in the file, and `predecessor` the previous one
    if it did not release the lock; it has ended.
    """

    def __init__(self, home: Path, box: str = "") -> None:
        self._path = _path(home)
        self._box = box
        self._fd: int | None = None
        self.holder = ""
        self.predecessor = ""

    def acquire(self, *, records: bool = True) -> bool:
        """Takes the lock; False if another process has it.

        `records` its holder, which fails on a full disk, and the lock is not taken then.
        """
        private_files.make_home_folder(self._path.parent)
        fd = private_files.open_file(self._path, os.O_RDWR | os.O_CREAT)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            return False
        before = os.pread(fd, 4096, 0).decode(errors="replace")
        self.predecessor = before.partition("\n")[0]
        if records:
            self._record(fd)
        self._fd = fd
        return True

    def _record(self, fd: int) -> None:
        self.holder = str(identity.incarnation())
        try:
            os.ftruncate(fd, 0)
            os.pwrite(fd, f"{self.holder}\n{self._box}".encode(), 0)
        except OSError as error:
            os.close(fd)
            raise OSError(error.errno, error.strerror, str(self._path)) from error

    @property
    def is_intact(self) -> bool:
        """Whether the locked file is still the one at its path, so that it excludes others."""
        if self._fd is None:
            return False
        try:
            return os.path.samestat(os.fstat(self._fd), self._path.stat())
        except FileNotFoundError:
            return False

    def release(self) -> None:
        """Releases the lock."""
        if self._fd is not None:
            os.ftruncate(self._fd, 0)
            os.close(self._fd)
            self._fd = None


def holder(home: Path) -> Incarnation | None:
    """The supervisor of this home; None if none runs."""
    found = identity.parse(_content(home)[0])
    if found is None or found.boot != identity.boot_id() or found.is_provably_dead:
        return None
    return found


def holder_box(home: Path) -> str:
    """The box whose supervisor has, or last had, this home; "" if that is unknown."""
    return _content(home)[1]


def _content(home: Path) -> tuple[str, str]:
    """What the file says: the incarnation of the holder, and its box."""
    try:
        with open(_path(home), opener=private_files.open_file) as file:
            incarnation, _, box = file.read().partition("\n")
    except FileNotFoundError:
        return "", ""
    return incarnation, box


def _path(home: Path) -> Path:
    return home / "run" / "supervisor.lock"
