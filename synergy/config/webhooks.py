"""Parses the settings of webhooks."""

from __future__ import annotations

import re
from ipaddress import IPv4Network, IPv6Network, ip_interface, ip_network

from synergy.errors import InvalidValue

_HOST = re.compile(r"(?=.*[A-Za-z])[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*", re.ASCII)

IpNetwork = IPv4Network | IPv6Network


def networks(text: str) -> tuple[IpNetwork, ...]:
    """Parses networks, separated by commas; raises InvalidValue for a wrong one."""
    return tuple(_network(word) for word in _words(text))


def plaintext(text: str) -> tuple[str | IpNetwork, ...]:
    """Parses host names, in lower case, and networks, separated by commas."""
    return tuple(word.lower() if _HOST.fullmatch(word) else _network(word) for word in _words(text))


def secrets(text: str) -> tuple[str, ...]:
    """Parses up to two secrets, separated by a comma; the InvalidValue quotes none."""
    if not text.strip():
        return ()
    from synergy.delivery.signature import secrets_in

    return secrets_in(text)


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _network(word: str) -> IpNetwork:
    try:
        return ip_network(word)
    except ValueError:
        pass
    try:
        whole = ip_interface(word).network
    except ValueError:
        raise InvalidValue(f"{word!r}: expected a network such as 10.1.0.0/16") from None
    raise InvalidValue(f"{word!r} is an address within a network: did you mean {whole}?")
