"""Splits the URLs of MongoDB, which may name several hosts.

`urllib.parse.urlsplit` is for one host: newer versions of Python refuse an IPv6 address that
follows another host. The driver's own parser would look up the hosts of `mongodb+srv://`, and
importing it takes long.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self
from urllib.parse import unquote

from synergy.loopback import is_loopback

_PARTS = re.compile(r"([^:/?#]*)://([^/?#]*)([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.DOTALL)
_HOST = re.compile(r"(\[[^]]*\]|[^:]*)(:.*)?", re.DOTALL)
_SRV = "mongodb+srv"
_IMPLY_TLS = ("tlscafile", "tlscertificatekeyfile", "tlscertificatekeyfilepassword", "tlscrlfile")
_UNVERIFIED = ("tlsInsecure", "tlsAllowInvalidCertificates", "tlsAllowInvalidHostnames")


@dataclass(frozen=True, slots=True)
class MongoUrl:
    """The parts of a URL as they are written; nothing is checked.

    `hosts` are with their ports, in lower case; `path` begins with `/`, unless it is empty.
    """

    scheme: str
    user: str = field(repr=False)
    hosts: tuple[str, ...]
    path: str
    query: str = field(repr=False)
    fragment: str = field(repr=False)

    @classmethod
    def parse(cls, url: str) -> Self:
        """The parts; empty ones for a text that is no URL."""
        found = _PARTS.fullmatch(url)
        scheme, place, path, query, fragment = found.groups("") if found else ("",) * 5
        user, _, hosts = place.rpartition("@")
        return cls(scheme, user, tuple(hosts.lower().split(",")), path, query, fragment)

    @property
    def database(self) -> str:
        return self.path.removeprefix("/")

    @property
    def options(self) -> Mapping[str, str]:
        """The options, with their names in lower case; of several values the last one."""
        pairs = (pair.partition("=") for pair in re.split("[&;]", self.query) if pair)
        return {name.lower(): unquote(value) for name, _, value in pairs}

    @property
    def has_tls(self) -> bool:
        options = self.options
        asked = options.get("tls", options.get("ssl"))
        if asked is not None:
            return asked.lower() == "true"
        return self.scheme == _SRV or any(options.get(name) for name in _IMPLY_TLS)

    @property
    def unverified(self) -> list[str]:
        """The options that let a server show any certificate."""
        options = self.options
        return [name for name in _UNVERIFIED if options.get(name.lower(), "").lower() == "true"]

    @property
    def remote(self) -> list[str]:
        """The hosts that are not this machine."""
        return [host for host in self.hosts if not _is_local(host)]


def _is_local(host: str) -> bool:
    """Whether a host, which may have a port, is loopback or the file of a socket."""
    found = _HOST.fullmatch(host)
    return host.endswith(".sock") or (found is not None and is_loopback(found[1]))
