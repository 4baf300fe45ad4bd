"""Which user of this machine is at the other end of a connection.

Linux lists both ends of a connection within the machine in /proc/net/tcp, each with the user that
opened its socket (proc(5), "/proc/net/tcp").

The other end is known by its address alone. Its user may reset the connection after a request, so
that a process of another user gets the same port: then the row is that of another connection. While
MX's own end is open, nobody else can have both addresses, so it is checked after the row was read.
"""

from __future__ import annotations

import ipaddress
import os
import socket
import struct
from functools import cached_property
from pathlib import Path
from typing import Protocol, cast

from starlette.requests import HTTPConnection

Address = tuple[str, int | None]

_TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_TRIES = 3  # a row may be missed while the kernel's table changes
_STATE, _UID, _INODE = 3, 7, 9  # columns
_OPENING = b"02"  # SYN_SENT: not connected to anything yet
_OPEN = (1, 8)  # ESTABLISHED, CLOSE_WAIT (`include/net/tcp_states.h` of Linux)


class Line(Protocol):
    """The socket of a connection at this end."""

    def getsockopt(self, level: int, name: int, size: int, /) -> bytes: ...


class Peer:
    """The other end of a connection; `line` is the socket of this end.

    `client` and `server` are the addresses of both ends.
    """

    def __init__(self, client: Address, server: Address, line: Line) -> None:
        self._client = client
        self._server = server
        self._line = line

    @property
    def address(self) -> str:
        """The address of the other end: that of a proxy, if the request came through one."""
        return self._client[0]

    @cached_property
    def user(self) -> int | None:
        """The id of the user that opened it; None if it is not on this machine, or unknown."""
        for _ in range(_TRIES):
            for table in _TABLES:
                if (user := _user(table, self._client, self._server)) is not None:
                    return user if self._is_open() else None
        return None

    def _is_open(self) -> bool:
        """Whether this end is still connected; once it is not, it never is again."""
        try:
            (state,) = self._line.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)
        except OSError:
            return False
        return state in _OPEN


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
    is_real = int(columns[_INODE]) and columns[_STATE] != _OPENING
    return int(columns[_UID]) if is_real else None


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
