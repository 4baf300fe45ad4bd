"""One supervisor for one box id, on all machines.

The lock of the home excludes a second supervisor on the same machine. A claim excludes one on
another machine: a lease with the name of the box, which its supervisor renews. A second supervisor
that sees it renewed uses the id of another box, and is refused; one that sees no renewal for
`EXPIRY_SECONDS`, on its own clock, takes the lease.

The claim guards no work: a supervisor without the store keeps its processes. If its id is taken
meanwhile, it stops when the store is reachable again.

It is no service: the loop of the supervisor calls `keep` after each turn.
"""

from __future__ import annotations

import logging

from synergy.clock import Clock
from synergy.errors import Refused
from synergy.model.lease import Lease
from synergy.runtime import identity
from synergy.runtime.stop import Stop
from synergy.storage.protocol import Leases

RENEWAL_SECONDS = 15.0
EXPIRY_SECONDS = 40.0  # a claim without a renewal for so long has expired
LOOK_SECONDS = 0.5  # the time between two looks at a claim that may have expired

logger = logging.getLogger(__name__)


class BoxClaim:
    """The claim of one supervisor, `holder`.

    `predecessor` is the previous supervisor of the same home, "" if there is none. It has ended,
    because this one has the lock of the home.
    """

    def __init__(
        self, leases: Leases, clock: Clock, box: str, holder: str, predecessor: str = ""
    ) -> None:
        self._leases = leases
        self._clock = clock
        self._box = box
        self._name = f"box/{box}"
        self._holder = holder
        self._predecessor = predecessor
        self._mine: Lease | None = None
        self._renew_at = 0.0

    def acquire(self, stop: Stop) -> bool:
        """Takes the box; False if `stop` was set while it had to wait.

        Raises Refused while another supervisor has the box, and StorageUnavailable.
        """
        seen = self._leases.read(self._name)
        since = self._clock.monotonic()
        if self._take(seen, since):
            return True
        logger.info(
            "Box %s has a supervisor, or had one that was lost: waiting for a sign of it",
            self._box,
            extra={"event": "supervisor.waits"},
        )
        while not stop.wait(LOOK_SECONDS):
            found = self._leases.read(self._name)
            if found is not None and found != seen and not found.released:
                raise Refused(self._in_use(found))
            if self._take(found, since):
                return True
            seen = found
        return False

    def keep(self) -> None:
        """Renews the claim when that is due; raises Refused if another supervisor has the box.

        Raises StorageUnavailable; a later call renews the claim.
        """
        now = self._clock.monotonic()
        if self._mine is None or now < self._renew_at:
            return
        self._renew_at = now + RENEWAL_SECONDS
        renewed = self._leases.renew(self._mine) or self._renew_unknown(self._mine)
        if renewed is None:
            found, self._mine = self._leases.read(self._name), None
            raise Refused(self._in_use(found))
        self._mine = renewed

    def release(self) -> None:
        """Releases the box, so that the next supervisor need not wait."""
        if self._mine is not None:
            self._leases.release(self._mine)
            self._mine = None

    def _take(self, seen: Lease | None, since: float) -> bool:
        is_still = self._clock.monotonic() - since >= EXPIRY_SECONDS
        if is_still or self._is_free(seen):
            self._mine = self._leases.take(seen, self._name, self._holder)
            self._renew_at = self._clock.monotonic() + RENEWAL_SECONDS
        return self._mine is not None

    def _is_free(self, lease: Lease | None) -> bool:
        if lease is None or lease.released or lease.holder == self._predecessor:
            return True
        holder = identity.parse(lease.holder)
        return holder is not None and holder.is_provably_dead

    def _renew_unknown(self, mine: Lease) -> Lease | None:
        """Renews after a renewal whose answer was lost."""
        found = self._leases.read(self._name)
        if found is None or (found.holder, found.epoch) != (mine.holder, mine.epoch):
            return None
        return self._leases.renew(found)

    def _in_use(self, lease: Lease | None) -> str:
        other = identity.parse(lease.holder) if lease is not None else None
        where = f" on host {other.host} (pid {other.pid})" if other is not None else ""
        return (
            f"box {self._box} has a supervisor already{where}: give this machine an id of its own "
            "with SYNERGY_BOX_ID, or stop the supervisor there"
        )
