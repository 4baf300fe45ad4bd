"""Checks whether a store is in use.

Schedulers, agents and supervisors hold leases, which they release when they end. If a lease was not
released, its holder is searched among the processes of this machine; the lease of another machine
is watched, and has lost its holder if it is not renewed in time. Processes of this machine without
a supervisor are found by its last report.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

from synergy.errors import Refused
from synergy.model.lease import Lease
from synergy.program import PROGRAM
from synergy.runtime import identity
from synergy.storage.protocol import Store

STEP = 0.5  # seconds between two reads of leases whose holders may have ended
LOOKS = 80  # reads until a holder has ended; supervisors renew their leases every 15 s

_never = threading.Event()  # never set: waiting on it is a pause

Pause = Callable[[float], object]
Show = Callable[[int, int], None]


def refuse_while_in_use(
    store: Store, place: str, show: Show | None = None, pause: Pause = _never.wait
) -> None:
    """Raises Refused if the store at `place` is in use.

    While it watches leases, `show` is called with the number of reads done, and of all.
    """
    for seen in store.boxes.observed():
        is_of_here = seen.pid is not None and seen.boot_id == identity.boot_id()
        if is_of_here and identity.start_time(seen.pid or 0) == seen.started:
            raise _in_use(place, f"process {seen.process} (pid {seen.pid})")
    held = _held(store)
    for lease in held.values():
        holder = identity.parse(lease.holder)
        if holder is not None and holder.is_local:
            raise _in_use(place, _words(lease))
    for look in range(1, LOOKS + 1 if held else 0):
        if show is not None:
            show(look, LOOKS)
        pause(STEP)
        for name, lease in _held(store).items():
            if lease != held.get(name):
                raise _in_use(place, _words(lease))


def run_nowhere(store: Store, processes: Iterable[str]) -> list[str]:
    """The names of these processes that are on at no box that ever reported, sorted."""
    reported = {box.id for box in store.boxes.all() if box.seen_at is not None}
    on = {one.process for one in store.boxes.assignments() if one.is_on and one.box in reported}
    return sorted(set(processes) - on)


def _held(store: Store) -> dict[str, Lease]:
    """The leases whose holders are not known to have ended."""
    return {lease.name: lease for lease in store.leases.all("") if not _is_over(lease)}


def _is_over(lease: Lease) -> bool:
    holder = identity.parse(lease.holder)
    return lease.released or (holder is not None and holder.is_provably_dead)


def _words(lease: Lease) -> str:
    holder = identity.parse(lease.holder)
    where = lease.holder if holder is None else f"pid {holder.pid} on host {holder.host}"
    return f"{lease.name} is held by {where}"


def _in_use(place: str, by: str) -> Refused:
    return Refused(
        f"{place} is in use ({by}): stop that first, with {PROGRAM} supervisor stop on its box"
    )
