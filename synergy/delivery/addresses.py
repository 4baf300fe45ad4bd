"""Which addresses requests may be sent to.

The author of a target may not be allowed to reach what this machine can reach: its own services,
the private network, a cloud's metadata. So all addresses of a name are checked, and only those of
the public internet pass. The lists are IANA's registers of special addresses, copied here because
the standard library's view of them changes between versions.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)

IpAddress = IPv4Address | IPv6Address
IpNetwork = IPv4Network | IPv6Network


def _named(networks: dict[str, str]) -> tuple[tuple[IpNetwork, str], ...]:
    return tuple((ip_network(network), what) for network, what in networks.items())


_REFUSED = _named(
    {
        "0.0.0.0/8": "unspecified",
        "10.0.0.0/8": "private",
        "100.64.0.0/10": "shared by a provider",
        "127.0.0.0/8": "loopback",
        "168.63.129.16/32": "for services of a cloud",
        "169.254.0.0/16": "link-local",
        "172.16.0.0/12": "private",
        "192.0.0.0/24": "reserved",
        "192.0.2.0/24": "for documentation",
        "192.88.99.0/24": "reserved",
        "192.168.0.0/16": "private",
        "198.18.0.0/15": "for measurements",
        "198.51.100.0/24": "for documentation",
        "203.0.113.0/24": "for documentation",
        "224.0.0.0/4": "multicast",
        "240.0.0.0/4": "reserved",
        "::/128": "unspecified",
        "::1/128": "loopback",
        "2001::/23": "reserved",
        "2001:db8::/32": "for documentation",
        "3fff::/20": "for documentation",
        "fc00::/7": "private",
        "fe80::/10": "link-local",
        "fec0::/10": "private",
        "ff00::/8": "multicast",
    }
)
_LOOPBACK = (IPv4Network("127.0.0.0/8"), IPv6Network("::1/128"))
_PUBLIC_6 = IPv6Network("2000::/3")
_LAST_32_BITS = (IPv6Network("::ffff:0:0/96"), IPv6Network("::/96"), IPv6Network("64:ff9b::/96"))


def resolve(host: str, port: int) -> list[IpAddress]:
    """The addresses of a host, best first; raises OSError or UnicodeError.

    Numeric forms (`127.1`, `0x7f000001`) are understood as the system does. The call may take as
    long as the system allows.
    """
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(ip_address(where[0]) for *_, where in found))


def literal(host: str) -> IpAddress | None:
    """The address that a host stands for without a look-up, in any notation; None for a name."""
    try:
        return ip_address(host)
    except ValueError:
        pass
    try:
        return IPv4Address(socket.inet_aton(host))
    except OSError:
        return None


@dataclass(frozen=True, slots=True)
class AddressRules:
    """Where requests may be sent, and where without TLS; the settings of a deployment.

    `networks` are allowed outside of the public internet. `plaintext` are hosts, in lower case, and
    networks that webhooks may be sent to by `http`; loopback needs no TLS.
    """

    networks: tuple[IpNetwork, ...] = ()
    plaintext: tuple[str | IpNetwork, ...] = ()

    def refusal(self, addresses: Sequence[IpAddress]) -> str:
        """Why nothing may be sent to a host with these addresses; empty if it may."""
        for address in addresses:
            for facet in _facets(address):
                what = _refused(facet)
                if what and not any(facet in one or address in one for one in self.networks):
                    shown = str(address) if facet == address else f"{address} (that is {facet})"
                    return f"{shown} is {what}: the setting webhook_networks does not allow it"
        return ""

    def plaintext_refusal(self, host: str, addresses: Sequence[IpAddress]) -> str:
        """Why nothing may be sent to this host by `http`; empty if it may.

        Without addresses, a name that was not looked up yet is not refused if any network is
        allowed, as its addresses may lie in it.
        """
        networks = [one for one in self.plaintext if not isinstance(one, str)]
        if host in self.plaintext:
            return ""
        if addresses:
            is_allowed = all(_is_in(address, (*_LOOPBACK, *networks)) for address in addresses)
        else:
            is_allowed = bool(networks) or host == "localhost" or host.endswith(".localhost")
        if is_allowed:
            return ""
        return f"http sends in clear text to {host}: use https, or the setting webhook_plaintext"


def _is_in(address: IpAddress, networks: Iterable[IpNetwork]) -> bool:
    return any(facet in one for facet in _facets(address) for one in networks)


def _facets(address: IpAddress) -> Iterator[IpAddress]:
    """The address that is reached: the IPv4 address within an IPv6 one, else itself."""
    if isinstance(address, IPv6Address):
        within = _embedded(address)
        if within is not None:
            yield within
            return
    yield address


def _embedded(address: IPv6Address) -> IPv4Address | None:
    """The IPv4 address within an IPv4-mapped, IPv4-compatible, NAT64 or 6to4 address."""
    if address.sixtofour is not None:
        return address.sixtofour
    if int(address) > 1 and any(address in network for network in _LAST_32_BITS):
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    return None


def _refused(address: IpAddress) -> str:
    for network, what in _REFUSED:
        if address in network:
            return what
    if isinstance(address, IPv6Address) and address not in _PUBLIC_6:
        return "reserved"
    return ""
