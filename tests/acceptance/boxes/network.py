"""Machines on a cable: network namespaces, and a switch between them.

Each machine has its own host name, so that its processes can be told from those of the others.
The switch is a bridge in its own namespace: there are no connections to or from the outside.
Needs root and iproute2.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

_NEW_NET = 0x4000_0000
_NEW_UTS = 0x0400_0000
_OWN = Path("/proc/thread-self/ns")
_NAMED = Path("/run/netns")
_libc = ctypes.CDLL(None, use_errno=True)


def hindrance() -> str:
    """Why network namespaces cannot be used here; "" if they can."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    if shutil.which("ip") is None:
        return "network namespaces need iproute2 (Debian: apt install iproute2)"
    try:
        with network("box"):
            return ""
    except subprocess.CalledProcessError as error:
        return f"this kernel or container allows no network namespaces: {error.stderr.strip()}"


class Machine:
    """A machine by the name `name`, with the address `address`, whose cable can be pulled."""

    def __init__(self, name: str, address: str, space: str, switch: str) -> None:
        self.name = name
        self.address = address
        self._space = space
        self._switch = switch
        self._net = os.open(_NAMED / space, os.O_RDONLY)
        self._uts = _named_host(name)

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Within the block, this thread starts processes and connects on the machine."""
        before = [os.open(_OWN / kind, os.O_RDONLY) for kind in ("net", "uts")]
        try:
            _enter(self._net, self._uts)
            yield
        finally:
            _enter(*before)
            for fd in before:
                os.close(fd)

    def cut(self) -> None:
        """Pulls the cable: packets are lost without an error."""
        _ip("-n", self._switch, "link", "set", "dev", self.name, "down")

    def join(self) -> None:
        """Puts the cable back."""
        _ip("-n", self._switch, "link", "set", "dev", self.name, "up")

    def pids(self) -> set[int]:
        """The pids of all processes on the machine."""
        return {int(pid) for pid in _ip("netns", "pids", self._space).split()}

    def close(self) -> None:
        """Kills all processes that still run and deletes the machine."""
        for pid in self.pids():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        os.close(self._net)
        os.close(self._uts)
        _ip("netns", "delete", self._space)


@contextmanager
def network(*names: str) -> Iterator[list[Machine]]:
    """Machines of these names, joined by a switch; all of it is gone at the end."""
    word = f"synergy-{uuid4().hex[:8]}"
    switch = f"{word}-switch"
    machines: list[Machine] = []
    _ip("netns", "add", switch)
    try:
        _ip("-n", switch, "link", "add", "name", "bridge", "type", "bridge")
        _ip("-n", switch, "link", "set", "dev", "bridge", "up")
        for number, name in enumerate(names, 1):
            machines.append(_machine(f"{word}-{name}", name, f"10.0.0.{number}", switch))
        yield machines
    finally:
        for machine in machines:
            machine.close()
        _ip("netns", "delete", switch)


def _machine(space: str, name: str, address: str, switch: str) -> Machine:
    _ip("netns", "add", space)
    try:
        plug = ("type", "veth", "peer", "name", "eth0", "netns", space)
        _ip("-n", switch, "link", "add", "name", name, *plug)
        _ip("-n", switch, "link", "set", "dev", name, "master", "bridge", "up")
        _ip("-n", space, "address", "add", f"{address}/24", "dev", "eth0")
        for device in ("lo", "eth0"):
            _ip("-n", space, "link", "set", "dev", device, "up")
        return Machine(name, address, space, switch)
    except BaseException:
        _ip("netns", "delete", space)
        raise


def _ip(*argv: str) -> str:
    done = subprocess.run(["ip", *argv], capture_output=True, text=True, check=True)
    return done.stdout


def _named_host(name: str) -> int:
    """A namespace in which the host has this name; it lives as long as the descriptor."""
    before = os.open(_OWN / "uts", os.O_RDONLY)
    try:
        _done(_libc.unshare(_NEW_UTS))
        socket.sethostname(name)
        return os.open(_OWN / "uts", os.O_RDONLY)
    finally:
        _done(_libc.setns(before, _NEW_UTS))
        os.close(before)


def _enter(net: int, uts: int) -> None:
    _done(_libc.setns(net, _NEW_NET))
    _done(_libc.setns(uts, _NEW_UTS))


def _done(result: int) -> None:
    if result != 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
