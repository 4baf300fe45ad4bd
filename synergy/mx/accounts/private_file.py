"""JSON files that only their owner may read: credentials and sessions.

They are written atomically, under a lock, and read again when they have changed: several MX
processes and commands may share a file.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Generic, TypeVar

from synergy.errors import InvalidValue, Refused

Content = TypeVar("Content")
_Seen = tuple[int, int, int]
_NOT_UNDERSTOOD = (
    InvalidValue, ValueError, LookupError, TypeError, AttributeError, RecursionError,
)  # fmt: skip


class PrivateFile(Generic[Content]):
    """A file of one value; `empty` if the file does not exist.

    `decode` makes the value from JSON, and raises one of `_NOT_UNDERSTOOD` if it cannot; `encode`
    is its inverse. May be used by several threads.
    """

    def __init__(
        self,
        path: Path,
        empty: Content,
        decode: Callable[[Any], Content],
        encode: Callable[[Content], Any],
    ) -> None:
        self.path = path
        self._empty = empty
        self._decode = decode
        self._encode = encode
        self._lock = threading.Lock()
        self._known: tuple[_Seen, Content] | None = None

    def read(self) -> Content:
        """The current value; raises Refused for a file that cannot be trusted."""
        with self._lock:
            return self._read()

    def change(self, change: Callable[[Content], Content]) -> Content:
        """Replaces the value with `change` of it, atomically.

        Raises Refused for a file that cannot be trusted or written.
        """
        try:
            with self._lock, self._locked():
                found = self._read()
                changed = change(found)
                if changed != found:
                    self._write(changed)
                return changed
        except OSError as error:
            raise Refused(f"{self.path} cannot be written: {error.strerror}") from error

    def _read(self) -> Content:
        try:
            fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except FileNotFoundError:
            return self._empty
        except OSError as error:
            raise Refused(f"{self.path} cannot be read: {error.strerror}") from error
        try:
            found = os.fstat(fd)
            _check_permissions(self.path, found)
            seen = (found.st_mtime_ns, found.st_size, found.st_ino)
            if self._known is None or self._known[0] != seen:
                with open(fd, "rb", closefd=False) as file:
                    self._known = (seen, self._decoded(file.read()))
        finally:
            os.close(fd)
        return self._known[1]

    def _decoded(self, text: bytes) -> Content:
        try:
            return self._decode(json.loads(text))
        except _NOT_UNDERSTOOD as error:
            raise Refused(f"{self.path} cannot be parsed: {error}") from error

    @contextmanager
    def _locked(self) -> Iterator[None]:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = self.path.with_name(f"{self.path.name}.lock")
        fd = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            yield
        finally:
            os.close(fd)

    def _write(self, value: Content) -> None:
        target = self.path.resolve()
        draft = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
        text = json.dumps(self._encode(value), indent=2) + "\n"
        fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with open(fd, "w", encoding="utf-8") as file:
                file.write(text)
                _keep_owner(fd, target)
                file.flush()
                os.fsync(fd)
            draft.replace(target)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise


def _check_permissions(path: Path, found: os.stat_result) -> None:
    """Raises Refused for a file that other users can read, or could have written."""
    if not stat.S_ISREG(found.st_mode):
        raise Refused(f"{path} is not a regular file")
    if found.st_mode & 0o077:
        raise Refused(f"{path} is accessible to others: chmod 600 {path}")
    if os.geteuid() not in (0, found.st_uid) and found.st_uid != 0:
        raise Refused(f"{path} belongs to another user: chown it to the user that runs Synergy")


def _keep_owner(fd: int, target: Path) -> None:
    """Keeps the owner of a file that root changes."""
    if os.geteuid() != 0:
        return
    try:
        old = target.stat()
    except FileNotFoundError:
        old = target.parent.stat()
    os.fchown(fd, old.st_uid, old.st_gid)
