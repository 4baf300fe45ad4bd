"""The identity of a process, which no other process ever has.

A pid alone does not identify a process: it is reused, and a zombie keeps it. Boot id, pid and start
time in clock ticks do; an *incarnation* adds a random word, so that it is unique across machines.
"""

from __future__ import annotations

import os
import socket
import uuid
from dataclasses import dataclass
from functools import cache
from pathlib import Path


@cache
def boot_id() -> str:
    """The kernel's id of this boot of this machine."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def start_time(pid: int) -> int | None:
    """When the pid's process started, in clock ticks since boot; None if it is gone or a zombie."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = text[text.rindex(")") + 2 :].split()
    return None if fields[0] in "ZX" else int(fields[19])


@dataclass(frozen=True, slots=True)
class Incarnation:
    """One run of one operating system process."""

    host: str
    boot: str
    pid: int
    started: int
    word: str

    def __str__(self) -> str:
        return f"{self.host}/{self.boot}/{self.pid}/{self.started}/{self.word}"

    @property
    def is_local(self) -> bool:
        """Whether it is of this boot of this machine, so that its pid can be checked.

        Containers share the boot id of their machine but not its pids; they differ by host.
        """
        return (self.host, self.boot) == (socket.gethostname(), boot_id())

    @property
    def is_provably_dead(self) -> bool:
        """Whether it is local and has ended."""
        return self.is_local and start_time(self.pid) != self.started


def parse(text: str) -> Incarnation | None:
    """The incarnation that `str` wrote; None for anything else."""
    parts = text.split("/")
    if len(parts) != 5 or not (parts[2].isdigit() and parts[3].isdigit()):
        return None
    return Incarnation(parts[0], parts[1], int(parts[2]), int(parts[3]), parts[4])


def short_name(author: str) -> str:
    """The author of a change for display: incarnations are shortened to host and pid."""
    before, _, last = author.rpartition(" ")
    found = parse(last)
    if found is None:
        return author
    place = f"{found.host}, pid {found.pid}"
    return f"{before} on {place}" if before else place


def incarnation() -> Incarnation:
    """A new incarnation for the calling process; to be made once, at its start."""
    started = start_time(os.getpid())
    return Incarnation(
        socket.gethostname(), boot_id(), os.getpid(), started or 0, uuid.uuid4().hex[:12]
    )
