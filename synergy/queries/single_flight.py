"""Several threads that look at one thing, one after the other, each at what is newest then.

What they look at may hang until a deadline. So whoever has waited while a look failed does not
look again, but fails with it: he would wait for the same once more, and the last of many for
many times the deadline.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from synergy.errors import StorageUnavailable


class SingleFlight:
    """Whose turn it is to look at a store."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._failures = 0
        self._failure = ""

    @contextmanager
    def taken(self) -> Iterator[None]:
        """One's own turn; raises StorageUnavailable if a look failed that was waited for."""
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
