"""Which user of this machine is at the other end of a connection.

Linux lists both ends of a connection within the machine in /proc/net/tcp, each with the user that
opened its socket (proc(5), "/proc/net/tcp").
"""

from __future__ import annotations

import ipaddress
import os
import struct
from functools import cached_property
from pathlib import Path
from typing import cast

from starlette.requests import HTTPConnection

Address = tuple[str, int | None]

_TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_TRIES = 3  # a row may be missed while the kernel's table changes
_UID, _INODE = 7, 9  # columns


class Peer:
    """The other end of a connection; `client` and `server` are the addresses of both ends."""

    def __init__(self, client: Address, server: Address) -> None:
        self._client = client
        self._server = server

    @cached_property
    def user(self) -> int | None:
        """The id of the user that opened it; None if it is not on this machine, or unknown."""
        for _ in range(_TRIES):
            for table in _TABLES:
                if (user := _user(table, self._client, self._server)) is not None:
                    return user
        return None


def is_own_user(request: HTTPConnection) -> bool:
    """Whether the request comes from a process of the user that MX runs as, or of root."""
    peer = cast("Peer | None", getattr(request.state, "peer", None))
    return peer is not None and peer.user in (os.geteuid(), 0)


def _user(table: Path, client: Address, server: Address) -> int | None:
    is_long = table.name.endswith("6")
    ends = f" {_as_listed(client, is_long)} {_as_listed(server, is_long)} ".encode()
    try:
        listed = table.read_bytes()
    except OSError:
        return None
    at = listed.find(ends)
    if at < 0:
        return None
    columns = listed[listed.rfind(b"\n", 0, at) + 1 : listed.find(b"\n", at)].split()
    # A socket that its process has closed has no inode, and is listed as root's.
    return int(columns[_UID]) if int(columns[_INODE]) else None


def _as_listed(address: Address, is_long: bool) -> str:
    """An address as the tables write it: words in the order of the machine, in hexadecimal."""
    found = ipaddress.ip_address(address[0].partition("%")[0])
    short = getattr(found, "ipv4_mapped", None) or found
    if is_long and short.version == 4:
        packed = ipaddress.IPv6Address(f"::ffff:{short}").packed
    else:
        packed = short.packed
    words = struct.unpack(f"={len(packed) // 4}I", packed)
    return "".join(f"{word:08X}" for word in words) + f":{address[1] or 0:04X}"
