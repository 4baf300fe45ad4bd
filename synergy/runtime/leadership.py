"""Leases: the right to act, without comparing clocks between machines.

A lease is a row (holder, epoch, seq). Its holder renews it: seq + 1, by compare-and-set on holder
*and* epoch, never on the name alone. A candidate that sees the row unchanged for `WAIT_SECONDS`, on
its own monotonic clock, takes it: epoch + 1, by compare-and-set on exactly the row it saw.

Why two do not act at once: the candidate saw the last seq only after the renewal was applied, so
after it was *sent*. The holder's right ends `VALID_SECONDS` after that moment, on a clock that
counts suspended time, and `VALID_SECONDS < WAIT_SECONDS`. A holder that is paused between checking
`is_held` and acting can still be late; then the compare-and-sets on jobs and units reject its
writes, or make them harmless. No timer decides safety.

A candidate that could not read the rows for a while, because it was paused or the store was
unavailable, starts to wait again: the holder may not have been able to renew either.

A renewal that timed out may or may not have been applied: the right ends unless a later one
succeeds. After a crash the lease is free after `WAIT_SECONDS`; at once, if the holder ran on this
boot of this machine and is provably dead.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from synergy.clock import Clock
from synergy.errors import LostLease
from synergy.model.lease import Lease
from synergy.runtime import identity
from synergy.storage.protocol import Leases

RENEW_SECONDS = 4.0
VALID_SECONDS = 10.0
WAIT_SECONDS = 18.0


@dataclass(frozen=True, slots=True)
class _Held:
    """A lease of this candidate, and until when (boot time) it may act under it."""

    lease: Lease
    valid_until: float


@dataclass(frozen=True, slots=True)
class _Seen:
    """A lease as last read, and since when (monotonic) it is unchanged."""

    lease: Lease
    since: float


class Leadership:
    """One candidate for the leases whose names begin with `family`.

    Call `tick` when `due_in` has passed: it renews all held leases in one write, and reads all
    leases of the family.
    """

    def __init__(self, leases: Leases, clock: Clock, family: str, holder: str) -> None:
        self._leases = leases
        self._clock = clock
        self._family = family
        self._holder = holder
        self._mine: dict[str, _Held] = {}
        self._seen: dict[str, _Seen] = {}
        self._ticked_at = -RENEW_SECONDS

    def is_held(self, name: str) -> bool:
        """Whether this candidate may act under the lease now."""
        mine = self._mine.get(name)
        return mine is not None and self._clock.boottime() < mine.valid_until

    def assert_ours(self, name: str) -> None:
        """Raises LostLease unless the row shows that no other candidate has taken the lease.

        Called in the batch that writes, it is a fence on engines with transactions.
        """
        mine, found = self._mine.get(name), self._leases.read(name)
        if mine is None or found is None or not _is_same_term(mine.lease, found):
            raise LostLease(f"the lease {name} has another holder")

    def epoch(self, name: str) -> int:
        """The term of a lease that is held; 0 if it is not."""
        mine = self._mine.get(name)
        return mine.lease.epoch if mine is not None else 0

    def is_free(self, name: str) -> bool:
        """Whether the lease, as last read, may be taken."""
        if name in self._mine:
            return False
        seen = self._seen.get(name)
        if seen is None or seen.lease.released:
            return True
        if self._clock.monotonic() - seen.since >= WAIT_SECONDS:
            return True
        holder = identity.parse(seen.lease.holder)
        return holder is not None and holder.is_provably_dead

    def names(self) -> list[str]:
        """The names of all leases of the family, as of the last tick."""
        return list(self._seen)

    def holders(self) -> dict[str, str]:
        """The holder of each lease in its row, as of the last tick; it may be expired."""
        return {name: seen.lease.holder for name, seen in self._seen.items()}

    def tick(self) -> None:
        """Renews the held leases, and reads all leases of the family."""
        began = self._clock.monotonic()
        self._renew(held.lease for held in self._mine.values())
        now = self._clock.monotonic()
        found = {lease.name: lease for lease in self._leases.all(self._family)}
        if now - self._ticked_at > VALID_SECONDS:
            self._seen.clear()
        self._seen = {name: self._as_seen(lease, now) for name, lease in found.items()}
        # A renewal may have been made although its answer was lost.
        unknown = [lease for lease in found.values() if self._is_unknown(lease)]
        self._renew(unknown)
        for name in [name for name, held in self._mine.items() if not self._is_unchanged(held)]:
            del self._mine[name]
        self._ticked_at = began

    def due_in(self) -> float:
        """Seconds until the next tick: until renewing is due, or another's lease expires."""
        now = self._clock.monotonic()
        others = (seen for name, seen in self._seen.items() if name not in self._mine)
        ends = [seen.since + WAIT_SECONDS for seen in others]
        next_end = min((at for at in ends if at > self._ticked_at), default=now + RENEW_SECONDS)
        return max(0.0, min(self._ticked_at + RENEW_SECONDS, next_end) - now)

    def take(self, name: str) -> bool:
        """Takes a lease that is free; False if another candidate was first."""
        sent = self._clock.boottime()
        seen = self._seen.get(name)
        taken = self._leases.take(seen.lease if seen is not None else None, name, self._holder)
        if taken is not None:
            self._hold(taken, sent)
        return taken is not None

    def release(self, name: str) -> None:
        """Releases a lease, so that the next candidate need not wait."""
        mine = self._mine.pop(name, None)
        if mine is not None:
            self._leases.release(mine.lease)

    def resign(self) -> None:
        """Releases all leases."""
        for name in list(self._mine):
            self.release(name)

    def _renew(self, leases: Iterable[Lease]) -> None:
        held = list(leases)
        if not held:
            return
        sent = self._clock.boottime()
        for lease in self._leases.renew_all(held):
            self._hold(lease, sent)

    def _hold(self, lease: Lease, sent: float) -> None:
        self._mine[lease.name] = _Held(lease, sent + VALID_SECONDS)
        self._seen[lease.name] = _Seen(lease, self._clock.monotonic())

    def _as_seen(self, lease: Lease, now: float) -> _Seen:
        known = self._seen.get(lease.name)
        return known if known is not None and known.lease == lease else _Seen(lease, now)

    def _is_unknown(self, lease: Lease) -> bool:
        mine = self._mine.get(lease.name)
        return mine is not None and mine.lease.seq != lease.seq and _is_same_term(mine.lease, lease)

    def _is_unchanged(self, held: _Held) -> bool:
        """Whether the row still shows this candidate's term."""
        seen = self._seen.get(held.lease.name)
        return seen is not None and _is_same_term(held.lease, seen.lease)


def _is_same_term(mine: Lease, found: Lease) -> bool:
    return not found.released and (mine.holder, mine.epoch) == (found.holder, found.epoch)
