"""The lock file beside the store, which makes writers of several processes take turns.

With SQLite's lock alone, a process that has just written may write again at once, while others,
which only poll the lock, may starve for a second and more. (SQLite's blocking locks are not
compiled into the Unix driver.) A writer therefore passes a *gate*: it holds the gate until it has
SQLite's lock, and the previous holder of that lock queues behind it. The gate is only for fairness;
SQLite's lock remains the protection.

The same file makes processes that open the store take turns, and shows whether another opening uses
the store, which distinguishes a store in use from one left behind by a crash. Opening does not pass
the gate: a store can be opened and read while a writer is stuck.

Both are locks of the open file: the kernel releases them with the process, and other openings of
the same file in this process do not affect them.
"""

from __future__ import annotations

import fcntl
import os
import struct
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from synergy import private_files
from synergy.clock import SystemClock
from synergy.errors import StorageUnavailable

LOCK_SECONDS = 5.0  # the longest wait for a lock
STEP = 0.0003  # seconds between two tries

_GATE, _OPENERS, _OPENING = 0, 1, 2  # the bytes of the file that are locked
_clock = SystemClock()
_pause = threading.Event()  # never set: waiting on it is a pause


class Patience:
    """Waits in small steps until a deadline, counted from the first step after `renew`."""

    __slots__ = ("_deadline",)

    def __init__(self) -> None:
        self._deadline: float | None = None

    def renew(self) -> None:
        """Resets the deadline for another wait."""
        self._deadline = None

    def step(self) -> bool:
        """Waits a little; False if the deadline has passed."""
        now = _clock.monotonic()
        if self._deadline is None:
            self._deadline = now + LOCK_SECONDS
        if now >= self._deadline:
            return False
        _pause.wait(STEP)
        return True


class Gate:
    """One opening of the lock file; each open store has one, and so has each of its connections."""

    def __init__(self, store: Path) -> None:
        self._path = Path(f"{store}-gate")
        try:
            self._file = private_files.open_file(self._path, os.O_RDWR | os.O_CREAT)
        except OSError as error:
            raise StorageUnavailable(f"{self._path} cannot be opened: {error.strerror}") from error
        self._close = weakref.finalize(self, os.close, self._file)

    def enter(self, patience: Patience) -> None:
        """Waits for the gate; raises StorageUnavailable after `LOCK_SECONDS`."""
        self._take(_GATE, patience, "writing")

    def leave(self) -> None:
        self._lock(fcntl.F_UNLCK, _GATE)

    @contextmanager
    def opening(self) -> Iterator[None]:
        """Waits until no other process opens the store; raises as `enter` does."""
        self._take(_OPENING, Patience(), "opening the store")
        try:
            yield
        finally:
            self._lock(fcntl.F_UNLCK, _OPENING)

    def is_alone(self) -> bool:
        """Whether no other opening has the store open; from now on, this one counts as well."""
        alone = self._lock(fcntl.F_WRLCK, _OPENERS)
        self._lock(fcntl.F_RDLCK, _OPENERS)
        return alone

    def close(self) -> None:
        """Closes the file; may be repeated. A gate without references closes by itself."""
        self._close()

    def _take(self, byte: int, patience: Patience, activity: str) -> None:
        while not self._lock(fcntl.F_WRLCK, byte):
            if not patience.step():
                raise StorageUnavailable(
                    f"{self._path}: another process has kept others from {activity} for "
                    f"{LOCK_SECONDS:g} s; is one stopped, or its disk hung?"
                )

    def _lock(self, kind: int, byte: int) -> bool:
        request = struct.pack("hhqqi", kind, os.SEEK_SET, byte, 1, 0)
        try:
            fcntl.fcntl(self._file, fcntl.F_OFD_SETLK, request)
        except (BlockingIOError, PermissionError):
            return False
        return True
