"""The addresses that a request may be sent to, found and judged at the time of sending.

For each attempt the name of the receiver is resolved once, and all of its addresses are judged. The
connection is then made to one of exactly these, so a name that resolves to another address a moment
later gains nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from ipaddress import ip_address

from synergy.delivery.addresses import AddressRules, IpAddress
from synergy.delivery.thread_pool import ThreadPool

Resolve = Callable[[str, int], Sequence[IpAddress]]

MOST_ADDRESSES = 4
RESOLVERS = 64


class AddressNotFound(Exception):
    """The host has no address."""


class Blocked(Exception):
    """The host may not be sent to."""


class Resolver:
    """Finds the allowed addresses of hosts, best first; the async part is for one event loop.

    `resolve` finds the addresses of a host and port, and may block.
    """

    def __init__(self, rules: AddressRules, resolve: Resolve) -> None:
        self._rules = rules
        self._resolve = resolve
        self._threads = ThreadPool("delivery-names", RESOLVERS)
        self._lookups: dict[tuple[str, int], asyncio.Future[Sequence[IpAddress]]] = {}

    async def allowed(
        self, host: str, port: int, *, is_plaintext: bool = False
    ) -> Sequence[IpAddress]:
        """The addresses to try; raises AddressNotFound or Blocked.

        `is_plaintext`: whether the request has no TLS although the kind of receiver wants it.
        """
        try:
            found = _literal(host) or await self._shared_lookup(host, port)
        except (OSError, UnicodeError) as error:
            raise _not_found(error) from error
        return self._judged(host, found, is_plaintext=is_plaintext)

    def allowed_now(self, host: str, port: int) -> Sequence[IpAddress]:
        """The same, blocking, for transports that work in threads of their own."""
        try:
            found = _literal(host) or self._resolve(host, port)
        except (OSError, UnicodeError) as error:
            raise _not_found(error) from error
        return self._judged(host, found, is_plaintext=False)

    def close(self) -> None:
        self._threads.close()

    def _judged(
        self, host: str, found: Sequence[IpAddress], *, is_plaintext: bool
    ) -> Sequence[IpAddress]:
        if not found:
            raise AddressNotFound("its name has no address")
        if what := self._rules.refusal(found):
            raise Blocked(what)
        if is_plaintext and (what := self._rules.plaintext_refusal(host, found)):
            raise Blocked(what)
        return found[:MOST_ADDRESSES]

    async def _shared_lookup(self, host: str, port: int) -> Sequence[IpAddress]:
        """The addresses of a name; concurrent requests share a look-up."""
        key = (host, port)
        lookup = self._lookups.get(key)
        if lookup is None:
            lookup = self._lookups[key] = self._threads.run(lambda: self._resolve(*key))
            lookup.add_done_callback(lambda done: self._looked_up(key, done))
        return await asyncio.shield(lookup)

    def _looked_up(self, key: tuple[str, int], done: asyncio.Future[Sequence[IpAddress]]) -> None:
        del self._lookups[key]
        if not done.cancelled():
            done.exception()  # marks it as retrieved, in case no request waits for it any more


def _literal(host: str) -> list[IpAddress]:
    try:
        return [ip_address(host)]
    except ValueError:
        return []


def _not_found(error: Exception) -> AddressNotFound:
    why = getattr(error, "strerror", None) or error  # without its number
    return AddressNotFound(f"its name is not found: {why}")
