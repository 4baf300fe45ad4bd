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

A renewal that timed out is unknown, so the right just runs out unless a later one succeeds.
After a crash the lease is free after `WAIT`; at once, if the holder ran on this very boot of
this machine and is provably gone.
"""

from __future__ import annotations

from synergy.clock import Clock
from synergy.model.lease import Lease
from synergy.runtime import identity
from synergy.storage.protocol import Leases

RENEW = 4.0
VALID = 10.0
WAIT = 18.0


class Leadership:
    """One candidate for one lease. `tick` is to be called about every `RENEW` seconds."""

    def __init__(self, leases: Leases, clock: Clock, name: str, holder: str) -> None:
        self._leases = leases
        self._clock = clock
        self._name = name
        self._holder = holder
        self._mine: Lease | None = None
        self._valid_until = 0.0
        self._seen: Lease | None = None
        self._seen_at = 0.0

    @property
    def is_held(self) -> bool:
        """Whether this candidate may act at this moment."""
        return self._mine is not None and self._clock.boottime() < self._valid_until

    @property
    def epoch(self) -> int:
        """The term of the lease that is or was held last; 0 if none was."""
        return self._mine.epoch if self._mine is not None else 0

    @property
    def holder(self) -> str:
        """Who held the lease when it was last looked at."""
        return self._seen.holder if self._seen is not None else ""

    def tick(self) -> bool:
        """Renews the lease, or takes it if it is free; returns `is_held`."""
        sent = self._clock.boottime()
        if self._mine is not None:
            self._renewed(self._leases.renew(self._mine) or self._renew_unknown(self._mine), sent)
        else:
            self._try_to_take(sent)
        return self.is_held

    def resign(self) -> None:
        """Gives the lease up, so that the next candidate need not wait."""
        if self._mine is not None:
            self._leases.release(self._mine)
            self._mine = None

    def _renew_unknown(self, mine: Lease) -> Lease | None:
        """Renews after a renewal that was made although its answer was lost."""
        found = self._leases.read(self._name)
        if found is None or found.released:
            return None
        is_mine = (found.holder, found.epoch) == (mine.holder, mine.epoch)
        return self._leases.renew(found) if is_mine else None

    def _renewed(self, lease: Lease | None, sent: float) -> None:
        self._mine = lease
        if lease is not None:
            self._valid_until = sent + VALID

    def _try_to_take(self, sent: float) -> None:
        found = self._leases.read(self._name)
        if found != self._seen or found is None:
            self._seen, self._seen_at = found, self._clock.monotonic()
        if self._is_free(found):
            self._renewed(self._leases.take(found, self._name, self._holder), sent)

    def _is_free(self, lease: Lease | None) -> bool:
        if lease is None or lease.released:
            return True
        if self._clock.monotonic() - self._seen_at >= WAIT:
            return True
        holder = identity.parse(lease.holder)
        return holder is not None and holder.is_provably_dead
