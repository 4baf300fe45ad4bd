"""The file beside the store through which processes agree which one writes next.

SQLite lets the process that has just written write again at once, while others that look
only now and then whether the lock is free may starve for a second and more (its own blocking
locks are not compiled into the Unix driver that we use). So whoever wants to write passes a
*gate*: he holds it until he has got SQLite's lock, and the one who had that lock before has
to queue behind him. The gate is for fairness alone; safety stays with SQLite.

The same file knows whether anybody else has the store open, which an opener needs in order
to tell a store in use from one that was left behind by a crash.

Both are locks of the open file: the kernel drops them with the process, and no other open of
the same file in this process disturbs them.
"""

from __future__ import annotations

import fcntl
import os
import struct
import threading
import weakref
from pathlib import Path

from synergy.clock import SystemClock
from synergy.errors import StorageUnavailable

PATIENCE = 5.0  # seconds of waiting for a lock
STEP = 0.0003  # seconds between two looks at a lock

_GATE, _OPENERS = 0, 1  # the bytes of the file that are locked
_clock = SystemClock()
_pause = threading.Event()  # never set: waiting on it is a pause


class Patience:
    """Waits in small steps until a deadline, counted from the first step after `renew`."""

    __slots__ = ("_deadline",)

    def __init__(self) -> None:
        self._deadline: float | None = None

    def renew(self) -> None:
        """Begins anew, for another wait."""
        self._deadline = None

    def step(self) -> bool:
        """Waits a little; False if the deadline has passed."""
        now = _clock.monotonic()
        if self._deadline is None:
            self._deadline = now + PATIENCE
        if now >= self._deadline:
            return False
        _pause.wait(STEP)
        return True


class Gate:
    """One opening of the lock file; each connection has its own."""

    def __init__(self, store: Path) -> None:
        self._path = Path(f"{store}-gate")
        try:
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise StorageUnavailable(f"{self._path} cannot be opened: {error.strerror}") from error
        self._close = weakref.finalize(self, os.close, self._file)

    def enter(self, patience: Patience) -> None:
        """Waits for the gate; raises StorageUnavailable if it stays shut."""
        while not self._lock(fcntl.F_WRLCK, _GATE):
            if not patience.step():
                raise StorageUnavailable(
                    f"{self._path}: another process has kept others from writing for "
                    f"{PATIENCE:g} s; is one stopped, or its disk hung?"
                )

    def leave(self) -> None:
        self._lock(fcntl.F_UNLCK, _GATE)

    def is_alone(self) -> bool:
        """Whether no other opening has the store open; from now on, this one counts as well."""
        alone = self._lock(fcntl.F_WRLCK, _OPENERS)
        self._lock(fcntl.F_RDLCK, _OPENERS)
        return alone

    def close(self) -> None:
        """May be called twice; a gate that is forgotten, as with its thread, closes as well."""
        self._close()

    def _lock(self, kind: int, byte: int) -> bool:
        request = struct.pack("hhqqi", kind, os.SEEK_SET, byte, 1, 0)
        try:
            fcntl.fcntl(self._file, fcntl.F_OFD_SETLK, request)
        except (BlockingIOError, PermissionError):
            return False
        return True
