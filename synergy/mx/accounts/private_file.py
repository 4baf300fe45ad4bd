"""JSON files that only their owner may read: credentials and sessions.

They are written atomically, under a lock, and read again when they have changed: several MX
processes and commands may share a file.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Generic, TypeVar

from synergy import private_files
from synergy.clock import SystemClock
from synergy.errors import InvalidValue, Refused

LOCK_SECONDS = 10.0  # the longest wait for a lock
STEP = 0.005  # seconds between two tries

Content = TypeVar("Content")
_Seen = tuple[int, int, int]
_NOT_UNDERSTOOD = (
    InvalidValue, ValueError, LookupError, TypeError, AttributeError, RecursionError,
)  # fmt: skip
_clock = SystemClock()
_pause = threading.Event()  # never set: waiting on it is a pause


class PrivateFile(Generic[Content]):
    """A file of one value; `empty` if the file does not exist.

    The file is in a folder of the home, and no symbolic link is followed; with `may_be_link` it may
    be anywhere, and be a link. `decode` makes the value from JSON, and raises one of
    `_NOT_UNDERSTOOD` if it cannot; `encode` is its inverse. May be used by several threads.
    """

    def __init__(
        self,
        path: Path,
        empty: Content,
        decode: Callable[[Any], Content],
        encode: Callable[[Content], Any],
        *,
        may_be_link: bool = False,
    ) -> None:
        self.path = path
        self._may_be_link = may_be_link
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

        Raises Refused for a file that cannot be trusted or written, or that another process keeps
        locked for `LOCK_SECONDS`.
        """
        try:
            with self._lock, self._locked():
                found = self._read()
                changed = change(found)
                if changed != found:
                    self._write(changed)
                return changed
        except OSError as error:
            where = "" if error.filename is None else f"{error.filename}: "
            raise Refused(f"{self.path} cannot be written: {where}{error.strerror}") from error

    def _read(self) -> Content:
        try:
            flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW
            fd = os.open(self._target, flags)
        except FileNotFoundError:
            return self._empty
        except OSError as error:
            why = "it is a symbolic link" if error.errno == errno.ELOOP else error.strerror
            raise Refused(f"{self.path} cannot be read: {why}") from error
        try:
            found = os.fstat(fd)
            if why := private_files.distrust(self.path, found):
                raise Refused(why)
            seen = (found.st_mtime_ns, found.st_size, found.st_ino)
            if self._known is None or self._known[0] != seen:
                with open(fd, "rb", closefd=False) as file:
                    self._known = (seen, self._decoded(file.read()))
        finally:
            os.close(fd)
        return self._known[1]

    @property
    def _target(self) -> Path:
        """The file itself, which a link outside the home may lead to."""
        return Path(os.path.realpath(self.path)) if self._may_be_link else self.path

    def _decoded(self, text: bytes) -> Content:
        try:
            return self._decode(json.loads(text))
        except _NOT_UNDERSTOOD as error:
            raise Refused(f"{self.path} cannot be parsed: {error}") from error

    @contextmanager
    def _locked(self) -> Iterator[None]:
        target = self._target
        if self._may_be_link:
            private_files.make_folder(target.parent)
        else:
            private_files.make_home_folder(target.parent)
        lock = target.with_name(f"{target.name}.lock")
        fd = private_files.open_file(lock, os.O_RDWR | os.O_CREAT)
        try:
            _keep_owner(fd, target)
            _wait_for(fd, lock)
            yield
        finally:
            os.close(fd)

    def _write(self, value: Content) -> None:
        target = self._target
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


def _wait_for(fd: int, lock: Path) -> None:
    deadline = _clock.monotonic() + LOCK_SECONDS
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if _clock.monotonic() >= deadline:
                raise Refused(
                    f"{lock}: another process has kept this lock for {LOCK_SECONDS:g} s: "
                    "end that process, and give no other user write access to the folder"
                ) from None
            _pause.wait(STEP)
        else:
            return


def _keep_owner(fd: int, target: Path) -> None:
    """Gives a file that root creates, the lock too, to the owner of the one that it changes."""
    if os.geteuid() != 0:
        return
    try:
        old = target.stat()
    except FileNotFoundError:
        old = target.parent.stat()
    os.fchown(fd, old.st_uid, old.st_gid)
