"""Places that clients share, so that no client takes all of them."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from synergy.errors import Unreachable
from synergy.mx.problems import ShareExceeded


class Shares:
    """At most `most` places in total, and `share` for each holder: a user, or an origin.

    `what` names the places in errors. Holders without a place take no memory. May be used by
    several threads.
    """

    def __init__(self, what: str, most: int, share: int) -> None:
        self.most = most
        self.share = share
        self._what = what
        self._lock = threading.Lock()
        self._taken = 0
        self._by_holder: Counter[str] = Counter()

    @property
    def taken(self) -> int:
        """The number of places that are taken."""
        return self._taken

    def check(self, *holders: str, amount: int = 1) -> None:
        """Raises ShareExceeded or Unreachable if `amount` places are not free for these holders."""
        if any(self._by_holder[holder] + amount > self.share for holder in holders):
            raise ShareExceeded(
                f"too many {self._what} at once: each user and each address has {self.share:,}"
            )
        if self._taken + amount > self.most:
            raise Unreachable(f"too many {self._what} at once: try again later")

    def take(self, *holders: str, amount: int = 1) -> None:
        """Takes places, which count for each of the holders; raises as `check` does."""
        with self._lock:
            self.check(*holders, amount=amount)
            self._taken += amount
            for holder in holders:
                self._by_holder[holder] += amount

    def give_back(self, *holders: str, amount: int = 1) -> None:
        """Frees places that were taken for the same holders."""
        with self._lock:
            self._taken -= amount
            for holder in holders:
                self._by_holder[holder] -= amount
                if not self._by_holder[holder]:
                    del self._by_holder[holder]

    @contextmanager
    def place(self, *holders: str) -> Iterator[None]:
        """Holds one place; raises as `check` does."""
        self.take(*holders)
        try:
            yield
        finally:
            self.give_back(*holders)
