"""Shares the work between schedulers: each tree, and the collector, has one leader.

Every running scheduler holds the lease of a member; the number of those leases is the number of
schedulers. Each aims at an equal share of the parts, rounded up: it takes free parts up to that
share, and releases parts beyond it. A part that stays free for some ticks is taken by any scheduler
that does not avoid it, whatever its share.

Schedulers compare no clocks and exchange no messages: they only read the leases (see
`runtime.leadership`). A wrong view of the others only makes shares unequal for a while.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count

from synergy.runtime.leadership import Leadership
from synergy.runtime.shared_parts import is_member, lease_of, member

UNCLAIMED_TICKS = 3  # ticks for which a free part is left to schedulers below their share


class LeaseBalancer:
    """The leases of one scheduler's parts."""

    def __init__(
        self, leadership: Leadership, parts: Sequence[str], avoids: Callable[[str], bool]
    ) -> None:
        """`avoids` returns whether this scheduler leaves a part to others."""
        self._leadership = leadership
        self._parts = parts
        self._avoids = avoids
        self._member = ""
        self._unclaimed = dict.fromkeys(parts, 0)

    @property
    def mine(self) -> list[str]:
        """The parts whose leases are held now."""
        return [part for part in self._parts if self.holds(part)]

    def holds(self, part: str) -> bool:
        """Whether this scheduler may act for the part now."""
        return self._leadership.is_held(lease_of(part))

    def term(self, part: str) -> int:
        """The term of a part that is held."""
        return self._leadership.epoch(lease_of(part))

    def due_in(self) -> float:
        """Seconds until the next tick."""
        return self._leadership.due_in()

    def tick(self) -> list[str]:
        """Renews and takes leases; returns the parts to release, in order."""
        self._leadership.tick()
        self._join()
        share = -(-len(self._parts) // self._live())
        self._take(share)
        mine = self.mine
        return [part for part in mine if self._avoids(part)] or mine[share:]

    def give_up(self, part: str) -> None:
        """Releases a part."""
        self._leadership.release(lease_of(part))

    def resign(self) -> None:
        """Releases everything."""
        self._leadership.resign()

    def _join(self) -> None:
        """Takes the lease of a member, with the first free number."""
        if self._member and self._leadership.is_held(self._member):
            return
        self._member = next(
            name for name in map(member, count(1)) if self._leadership.is_free(name)
        )
        self._leadership.take(self._member)

    def _live(self) -> int:
        names = [name for name in self._leadership.names() if is_member(name)]
        others = [name for name in names if name != self._member]
        return 1 + sum(not self._leadership.is_free(name) for name in others)

    def _take(self, share: int) -> None:
        room = share - len(self.mine)
        for part in self._parts:
            if not self._leadership.is_free(lease_of(part)) or self._avoids(part):
                self._unclaimed[part] = 0
                continue
            self._unclaimed[part] += 1
            if room > 0 or self._unclaimed[part] > UNCLAIMED_TICKS:
                room -= self._leadership.take(lease_of(part))
