"""Where a request comes from: an address, or a user of this machine."""

from __future__ import annotations

import ipaddress

from starlette.requests import HTTPConnection

from synergy.mx.access import Role, person_of
from synergy.mx.protection.hosts import is_loopback
from synergy.mx.protection.peers import Peer
from synergy.mx.protection.proxy import address_of, is_claimed, peer_of

THIS_MACHINE = "this machine"


def network_of(address: str) -> str:
    """An IPv4 address, or the /64 network of an IPv6 address, since its owner has all of it."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if found.version == 6:
        short = found.ipv4_mapped
        return str(short or ipaddress.ip_network((found, 64), strict=False))
    return str(found)


def origin(address: str, peer: Peer | None) -> str:
    """The network of a client; for one on this machine, where users share addresses, its user."""
    if not is_loopback(address):
        return network_of(address)
    user = None if peer is None else peer.user
    return THIS_MACHINE if user is None else f"{THIS_MACHINE}, user {user}"


def origin_of(request: HTTPConnection) -> str:
    """The origin of a request: behind a proxy that of its client, see `proxy`."""
    peer, address = peer_of(request), address_of(request)
    if peer is not None and is_claimed(request):
        address = peer.address
    return origin(address, peer)


def user_of(request: HTTPConnection) -> str | None:
    """A key for the user of a request; None if it has no name, as in an MX without users.

    Tokens for events have a key of their own: a program that holds one must not use up what the
    user needs to log out, or to revoke it.
    """
    person = person_of(request)
    if person is None or not person.name:
        return None
    return f"user {person.name}{', events' if person.role is Role.EVENTS else ''}"


def holders_of(request: HTTPConnection) -> tuple[str, ...]:
    """The holders whose shares a request counts for: its origin, and its user if it has one."""
    return tuple(filter(None, (origin_of(request), user_of(request))))
