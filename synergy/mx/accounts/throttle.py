"""Throttle of login attempts: after the first failures, each further one doubles the wait.

A browser in which the user has logged in before has a device cookie, and is counted by that alone:
attempts of others under the same name or from the same address do not lock the user out. Without
the cookie, one address alone does not lock a user out either: until a name has `FREE` failures, an
address adds at most one to them. Waits survive a restart of MX.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any, Final

from synergy.clock import Clock
from synergy.mx.accounts.private_file import PrivateFile
from synergy.mx.accounts.users import digest
from synergy.mx.problems import unavailable_if_refused
from synergy.mx.protection.origins import network_of

FREE: Final = 5  # failures before the first wait
ADDRESS_SECONDS: Final = 900.0  # the longest wait of an address or device
NAME_SECONDS: Final = 60.0  # the longest wait of a name: guesses must not lock its user out
FORGOTTEN_SECONDS: Final = 3600.0  # after which a failure no longer counts
MOST: Final = 10_000  # entries (names, addresses, devices) in memory; the oldest are dropped
MOST_KEPT: Final = 1000  # entries in the file; the oldest are dropped

_Kept = Mapping[str, tuple[int, float, float]]


@dataclass(slots=True)
class _Failures:
    number: int = 0
    until: float = 0.0  # on the wall clock, which survives a restart
    last: float = 0.0


class Throttle:
    """Counts failures by name and address, or by device. May be used by several threads.

    The constructor raises Refused for a file that cannot be trusted; other methods raise
    AuthenticationUnavailable if it cannot be trusted or written.
    """

    def __init__(self, clock: Clock, path: Path) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._file: PrivateFile[_Kept] = PrivateFile(path, {}, _decode, _encode)
        self._failures = OrderedDict(
            (key, _Failures(*values)) for key, values in self._file.read().items()
        )

    def attempt(self, name: str, address: str, device: str = "") -> float:
        """Counts an attempt as failed until `succeeded` is called; returns 0.

        For an attempt that comes too early, returns the seconds to wait, and counts nothing.
        """
        now = self._clock.now().timestamp()
        keys = _keys(name, address, device)
        with self._lock:
            wait = max(self._wait(key, now, longest) for key, longest in keys.items())
            if wait > 0:
                return wait
            is_known = not device and self._is_known(name, address, now)
            first = next(iter(keys))
            if is_known and self._entry(first, now).number < FREE:
                del keys[first]  # one address does not make others wait
            for key, longest in keys.items():
                each = self._entry(key, now)
                each.number += 1
                each.last = now
                if each.number >= FREE:
                    each.until = now + min(2.0 ** min(each.number - FREE, 20), longest)
            has_waits = any(self._entry(key, now).number >= FREE for key in keys)
        if has_waits:
            self._keep()
        return 0.0

    def succeeded(self, name: str, address: str, device: str = "") -> None:
        """Takes the attempt back, and forgets earlier failures of the name or device.

        Earlier failures of the address still count.
        """
        first, *by_address = _keys(name, address, device)
        with self._lock:
            found = [self._failures.pop(first, None), *map(self._failures.get, by_address)]
            has_waits = any(each is not None and each.number >= FREE for each in found)
            for each in filter(None, found[1:]):
                each.number -= 1
                each.until = 0.0
            self._failures.pop(_pair(name, address), None)
        if has_waits:
            self._keep()

    def _wait(self, key: str, now: float, longest: float) -> float:
        """Seconds to wait, at most `longest`, even if the clock was set back.

        It adds no entry, because that could push out those of others.
        """
        found = self._failures.get(key)
        return 0.0 if found is None else min(found.until - now, longest)

    def _is_known(self, name: str, address: str, now: float) -> bool:
        """Whether an address has failed under a name before; notes that it has now."""
        pair = self._entry(_pair(name, address), now)
        pair.number, pair.last, is_known = 1, now, pair.number == 1
        return is_known

    def _entry(self, key: str, now: float) -> _Failures:
        found = self._failures.get(key)
        if found is None or now - found.last > FORGOTTEN_SECONDS:
            found = self._failures[key] = _Failures()
        self._failures.move_to_end(key)
        while len(self._failures) > MOST:
            self._failures.popitem(last=False)
        return found

    def _keep(self) -> None:
        with unavailable_if_refused():
            self._file.change(lambda _: self._waits())

    def _waits(self) -> _Kept:
        """The entries that wait or have waited: another failure makes their wait longer."""
        with self._lock:
            waits = [item for item in self._failures.items() if item[1].number >= FREE]
            return {key: astuple(each) for key, each in waits[-MOST_KEPT:]}


def _keys(name: str, address: str, device: str) -> dict[str, float]:
    """The keys that an attempt is counted by, with the longest wait of each.

    They are hashes: a user may have typed the password instead of the name.
    """
    if device:
        return {_key(f"device {device}"): ADDRESS_SECONDS}
    return {
        _key(f"name {name}"): NAME_SECONDS,
        _key(f"address {network_of(address)}"): ADDRESS_SECONDS,
    }


def _pair(name: str, address: str) -> str:
    return _key(f"name {name} from {network_of(address)}")


def _key(text: str) -> str:
    return digest(text)[:32]


def _decode(found: Any) -> _Kept:
    return {
        str(key): (int(number), float(until), float(last))
        for key, (number, until, last) in found["failures"].items()
    }


def _encode(kept: _Kept) -> Any:
    return {"failures": kept}
