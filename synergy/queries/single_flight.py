"""Serializes reads of several threads, each of which gets the newest state.

A read may hang until a deadline. A thread that waited for a failing read therefore fails as well,
without a read of its own; otherwise the last of many threads would wait for many deadlines.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from synergy.errors import StorageUnavailable


class SingleFlight:
    """Lets one thread at a time read a store."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._failures = 0
        self._failure = ""

    @contextmanager
    def turn(self) -> Iterator[None]:
        """The turn of this thread; raises StorageUnavailable if a read failed while it waited."""
        failures = self._failures
        with self._lock:
            if self._failures != failures:
                raise StorageUnavailable(self._failure)
            try:
                yield
            except StorageUnavailable as error:
                self._failures += 1
                self._failure = str(error)
                raise
