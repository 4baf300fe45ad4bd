"""The files of an audit log: `audit-log/` in the home, private, appended to under a lock.

A file that has reached `FILE_SIZE` is followed by another one, named after its first entry; the
chain goes on. Nothing is ever deleted. An entry is on the disk when the call returns.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path

from synergy import private_files
from synergy.audit_log.chain import healing
from synergy.audit_log.entry import BEGUN, DONE, Act, Entry, decode, follow
from synergy.clock import Clock
from synergy.errors import AuditLogUnavailable

FILE_SIZE = 4 << 20  # bytes from which a new file is begun
TAIL = 128 << 10  # bytes at the end of a file that are searched; an entry is much shorter
_LOCK = "lock"


@dataclass(frozen=True, slots=True)
class _End:
    """Where the next entry goes: after `last`, into the file at `path`, which ends with `torn`."""

    path: Path | None
    size: int
    torn: bytes
    last: Entry | None


class AuditLog:
    """The audit log of a home; any number of processes and threads may append to it."""

    def __init__(self, home: Path, clock: Clock) -> None:
        self.folder = home / "audit-log"
        self._clock = clock

    def begin(self, act: Act) -> tuple[Act, int]:
        """Records that an act begins; returns it for `end`. Raises AuditLogUnavailable."""
        return act, self._append(act, BEGUN).seq

    def end(self, begun: tuple[Act, int], result: str, detail: str = "") -> None:
        """Records the result of an act; raises AuditLogUnavailable."""
        act, of = begun
        self._append(act, result, detail, of)

    def note(self, act: Act, result: str = DONE, detail: str = "") -> None:
        """Records an act in a single entry; raises AuditLogUnavailable."""
        self._append(act, result, detail)

    def newest(self, before: int | None = None) -> Iterator[Entry]:
        """Entries, newest first, without damaged lines; with `before`, only those with lower `seq`.

        The iteration, not the call, raises AuditLogUnavailable.
        """
        with _unavailable(self.folder, "reading"):
            for path in reversed(files(self.folder)):
                if before is None or int(path.stem) < before:
                    for line in reversed(path.read_bytes().splitlines(keepends=True)):
                        with suppress(ValueError):
                            entry = decode(line)
                            if before is None or entry.seq < before:
                                yield entry

    def _append(self, act: Act, result: str, detail: str = "", of: int | None = None) -> Entry:
        with _unavailable(self.folder, "writing"), self._locked():
            end = self._end()
            last, healed, now = end.last, b"", self._clock.now()
            if end.torn:
                last, healed = _heal(last, end.torn, now)
            entry = follow(last, now, act, result, detail, of)
            path = end.path
            if path is None or (end.size >= FILE_SIZE and not healed):
                path = self.folder / f"{entry.seq:012}.jsonl"
            _write(path, healed + entry.line)
            return entry

    def _end(self) -> _End:
        older = files(self.folder)
        if not older:
            return _End(None, 0, b"", None)
        newest = older.pop()
        size, torn, last = _tail(newest)
        for path in reversed(older):
            if last is not None:
                break
            last = _tail(path)[2]
        return _End(newest, size, torn, last)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Holds the lock of the log, whose folder is created. The lock ends with the process."""
        private_files.make_home_folder(self.folder)
        with _opened_folder(self.folder) as folder:
            _keep_owner(folder, self.folder.parent)
        with _opened(self.folder / _LOCK, os.O_RDWR | os.O_CREAT) as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def files(folder: Path) -> list[Path]:
    """The files of the log in a folder, oldest first."""
    return sorted(path for path in folder.glob("*.jsonl") if path.stem.isdecimal())


def lines(paths: Iterable[Path]) -> Iterator[tuple[str, bytes]]:
    """The lines of these files, each with its place; raises OSError.

    A line that is longer than any entry or torn line comes in parts.
    """
    for path in paths:
        with open(path, "rb") as file:
            for number, line in enumerate(iter(partial(file.readline, TAIL + 1), b""), 1):
                yield f"{path.name}:{number}", line


def _tail(path: Path) -> tuple[int, bytes, Entry | None]:
    """The size of a file, what follows its last line feed, and its last entry that is whole."""
    with _opened(path, os.O_RDONLY) as fd:
        size = os.fstat(fd).st_size
        text = os.pread(fd, TAIL, max(0, size - TAIL))
    whole, _, torn = text.rpartition(b"\n")
    for line in reversed(whole.splitlines()):
        with suppress(ValueError):
            return size, torn, decode(line + b"\n")
    if size > TAIL:
        raise OSError(errno.EUCLEAN, "its end is damaged: move it away", str(path))
    return size, torn, None


def _heal(last: Entry | None, torn: bytes, now: datetime) -> tuple[Entry, bytes]:
    """The last entry once a torn line is closed, and the bytes that close it.

    A line that lacks only its line feed is an entry of its own, and is completed.
    """
    with suppress(ValueError):
        return decode(torn + b"\n"), b"\n"
    healed = follow(last, now, healing(torn), DONE)
    return healed, b"\n" + healed.line


def _write(path: Path, text: bytes) -> None:
    """Appends to a file, all or nothing; a stop of process or machine may leave a torn line."""
    is_new = not path.exists()
    with _opened(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT) as fd:
        size = os.fstat(fd).st_size
        rest = memoryview(text)
        try:
            while rest:
                rest = rest[os.write(fd, rest) :]
            os.fsync(fd)
        except OSError:
            with suppress(OSError):
                os.ftruncate(fd, size)
            raise
    if is_new:
        with _opened_folder(path.parent) as folder:
            os.fsync(folder)


@contextmanager
def _opened(path: Path, flags: int) -> Iterator[int]:
    """A private file; one that root creates belongs to the owner of the folder."""
    fd = private_files.open_file(path, flags)
    try:
        if flags & os.O_CREAT:
            _keep_owner(fd, path.parent)
        yield fd
    finally:
        os.close(fd)


@contextmanager
def _opened_folder(path: Path) -> Iterator[int]:
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        yield fd
    finally:
        os.close(fd)


def _keep_owner(made: int, folder: Path) -> None:
    """Gives what root has created to the owner of the folder, whose processes write it later."""
    if os.geteuid() == 0 and (owner := folder.stat()).st_uid != os.stat(made).st_uid:
        os.fchown(made, owner.st_uid, owner.st_gid)


@contextmanager
def _unavailable(folder: Path, doing: str) -> Iterator[None]:
    """Raises AuditLogUnavailable for an error of the system."""
    try:
        yield
    except OSError as error:
        is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        why = "no space is left; free some" if is_full else f"{error.strerror}; correct its cause"
        raise AuditLogUnavailable(
            f"{doing} the audit log failed: {error.filename or folder}: {why}"
        ) from error
