"""Throttle of login attempts: each failure doubles the wait.

A browser in which the user has logged in before has a device cookie, and is counted by that alone:
attempts of others under the same name or from the same address do not lock the user out.
"""

from __future__ import annotations

import ipaddress
import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from synergy.clock import Clock

FREE: Final = 5  # failures before the first wait
ADDRESS_SECONDS: Final = 900.0  # the longest wait of an address or device
NAME_SECONDS: Final = 60.0  # the longest wait of a name: guesses must not lock its user out
FORGOTTEN_SECONDS: Final = 3600.0  # after which a failure no longer counts
MOST: Final = 10_000  # names and addresses that are counted; the oldest are dropped


@dataclass(slots=True)
class _Failures:
    number: int = 0
    until: float = 0.0  # on the monotonic clock
    last: float = 0.0


class Throttle:
    """Counts failures by name and address, or by device. May be used by several threads."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._failures: OrderedDict[str, _Failures] = OrderedDict()

    def attempt(self, name: str, address: str, device: str = "") -> float:
        """Counts an attempt as failed, unless `succeeded` is called.

        Returns the seconds to wait, and counts nothing, if it comes too early.
        """
        now = self._clock.monotonic()
        with self._lock:
            keys = _keys(name, address, device)
            wait = max(map(self._until, keys)) - now
            if wait > 0:
                return wait
            for key, longest in keys.items():
                each = self._entry(key, now)
                each.number += 1
                each.last = now
                if each.number >= FREE:
                    each.until = now + min(2.0 ** min(each.number - FREE, 20), longest)
            return 0.0

    def succeeded(self, name: str, address: str, device: str = "") -> None:
        """Takes the attempt back; earlier failures of the address still count."""
        first, *by_address = _keys(name, address, device)
        with self._lock:
            self._failures.pop(first, None)
            for found in filter(None, map(self._failures.get, by_address)):
                found.number -= 1
                found.until = 0.0

    def _until(self, key: str) -> float:
        """The end of the wait; adds no entry, which could push out those of others."""
        found = self._failures.get(key)
        return 0.0 if found is None else found.until

    def _entry(self, key: str, now: float) -> _Failures:
        found = self._failures.get(key)
        if found is None or now - found.last > FORGOTTEN_SECONDS:
            found = self._failures[key] = _Failures()
        self._failures.move_to_end(key)
        while len(self._failures) > MOST:
            self._failures.popitem(last=False)
        return found


def _keys(name: str, address: str, device: str) -> dict[str, float]:
    """The keys that an attempt is counted by, with the longest wait of each."""
    if device:
        return {f"device {device}": ADDRESS_SECONDS}
    return {f"name {name[:64]}": NAME_SECONDS, f"address {_network(address)}": ADDRESS_SECONDS}


def _network(address: str) -> str:
    """An IPv4 address, or the /64 network of an IPv6 address, since its owner has all of it."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if found.version == 6 and found.ipv4_mapped is None:
        return str(ipaddress.ip_network((found, 64), strict=False))
    return str(found)
