"""Leases: who may act, without comparing clocks between machines.

A lease is a row (holder, epoch, seq). Its holder renews it: seq + 1, by compare-and-set on
holder *and* epoch, never on the name alone. Somebody else who sees the row stand still for
`WAIT` seconds, on the observer's own monotonic clock, takes it: epoch + 1, by compare-and-set
on exactly what was seen.

Why two do not act at once: the taker saw the last seq only after the renewal was applied, so
after it was *sent*; the holder's right ends `VALID` seconds after that moment, on a clock
that counts suspended time, and `VALID < WAIT`. A holder that is paused between asking
`is_held` and acting can still be late; then the compare-and-sets on jobs and units refuse it,
or absorb it. No timer decides safety.

Who could not look for a while, because it was paused or the store was away, saw nothing stand
still, and begins to wait anew: perhaps nobody could renew.

A renewal that timed out is unknown, so the right just runs out unless a later one succeeds.
After a crash the lease is free after `WAIT`; at once, if the holder ran on this very boot of
this machine and is provably gone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from synergy.clock import Clock
from synergy.errors import LostLease
from synergy.model.lease import Lease
from synergy.runtime import identity
from synergy.storage.protocol import Leases

RENEW = 4.0
VALID = 10.0
WAIT = 18.0


@dataclass(frozen=True, slots=True)
class _Held:
    """A lease of this candidate, and until when (boot time) it gives the right to act."""

    lease: Lease
    valid_until: float


@dataclass(frozen=True, slots=True)
class _Seen:
    """A lease as it was seen last, and since when (monotonic) it has stood like this."""

    lease: Lease
    since: float


class Leadership:
    """One candidate for the leases whose names begin with `family`.

    `tick` is to be called when `due_in` says so: it renews all that is held in one step, and
    looks at all the others in another.
    """

    def __init__(self, leases: Leases, clock: Clock, family: str, holder: str) -> None:
        self._leases = leases
        self._clock = clock
        self._family = family
        self._holder = holder
        self._mine: dict[str, _Held] = {}
        self._seen: dict[str, _Seen] = {}
        self._ticked_at = -RENEW

    def is_held(self, name: str) -> bool:
        """Whether this candidate may act under the lease at this moment."""
        mine = self._mine.get(name)
        return mine is not None and self._clock.boottime() < mine.valid_until

    def assert_ours(self, name: str) -> None:
        """Raises LostLease unless the row says that nobody has taken the lease since.

        Asked in the batch that writes, it is a fence where batches are transactions.
        """
        mine, found = self._mine.get(name), self._leases.read(name)
        if mine is None or found is None or not _is_same_term(mine.lease, found):
            raise LostLease(f"the lease {name} is somebody else's")

    def epoch(self, name: str) -> int:
        """The term of a lease that is held; 0 if it is not."""
        mine = self._mine.get(name)
        return mine.lease.epoch if mine is not None else 0

    def is_free(self, name: str) -> bool:
        """Whether the lease, as it was seen last, may be taken."""
        if name in self._mine:
            return False
        seen = self._seen.get(name)
        if seen is None or seen.lease.released:
            return True
        if self._clock.monotonic() - seen.since >= WAIT:
            return True
        holder = identity.parse(seen.lease.holder)
        return holder is not None and holder.is_provably_dead

    def names(self) -> list[str]:
        """All leases of the family that there were at the last tick."""
        return list(self._seen)

    def holders(self) -> dict[str, str]:
        """Who held each of them at the last tick, whether that still counts or not."""
        return {name: seen.lease.holder for name, seen in self._seen.items()}

    def tick(self) -> None:
        """Renews what is held, and looks how all leases stand."""
        began = self._clock.monotonic()
        self._renew(held.lease for held in self._mine.values())
        now = self._clock.monotonic()
        found = {lease.name: lease for lease in self._leases.all(self._family)}
        if now - self._ticked_at > VALID:
            self._seen.clear()
        self._seen = {name: self._as_seen(lease, now) for name, lease in found.items()}
        # A renewal may have been made although its answer was lost.
        unknown = [lease for lease in found.values() if self._is_unknown(lease)]
        self._renew(unknown)
        for name in [name for name, held in self._mine.items() if not self._stands(held)]:
            del self._mine[name]
        self._ticked_at = began

    def due_in(self) -> float:
        """Seconds until the next tick: until renewing is due, or a silent holder has lost."""
        now = self._clock.monotonic()
        waits = [seen.since + WAIT for name, seen in self._seen.items() if name not in self._mine]
        next_loss = min((at for at in waits if at > self._ticked_at), default=now + RENEW)
        return max(0.0, min(self._ticked_at + RENEW, next_loss) - now)

    def take(self, name: str) -> bool:
        """Takes a lease that is free; False if somebody else was faster."""
        sent = self._clock.boottime()
        seen = self._seen.get(name)
        taken = self._leases.take(seen.lease if seen is not None else None, name, self._holder)
        if taken is not None:
            self._hold(taken, sent)
        return taken is not None

    def release(self, name: str) -> None:
        """Gives a lease up, so that the next candidate need not wait."""
        mine = self._mine.pop(name, None)
        if mine is not None:
            self._leases.release(mine.lease)

    def resign(self) -> None:
        """Gives all leases up."""
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
        self._mine[lease.name] = _Held(lease, sent + VALID)
        self._seen[lease.name] = _Seen(lease, self._clock.monotonic())

    def _as_seen(self, lease: Lease, now: float) -> _Seen:
        known = self._seen.get(lease.name)
        return known if known is not None and known.lease == lease else _Seen(lease, now)

    def _is_unknown(self, lease: Lease) -> bool:
        mine = self._mine.get(lease.name)
        return mine is not None and mine.lease.seq != lease.seq and _is_same_term(mine.lease, lease)

    def _stands(self, held: _Held) -> bool:
        seen = self._seen.get(held.lease.name)
        return seen is not None and _is_same_term(held.lease, seen.lease)


def _is_same_term(mine: Lease, found: Lease) -> bool:
    return not found.released and (mine.holder, mine.epoch) == (found.holder, found.epoch)
