"""The kernel's table of processes, and which of them belong to a start.

A process belongs to a start if it carries the start's marker in its environment, if it is in the
session of the start's leader (while that leader provably holds its pid), or if its parent belongs
to it. So neither `setsid` nor a cleared environment alone hides a grandchild.

A pid may be reused: `pin` compares the time at which the process started before a signal is sent.
"""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from synergy.runtime.identity import start_time

MARKER = "SYNERGY_RUN"
KILL_ROUNDS = 25
_MARKER_BYTES = f"{MARKER}=".encode()


@dataclass(frozen=True, slots=True)
class Entry:
    """A living process; `started` in clock ticks since boot, `marker` "" if it has none."""

    pid: int
    parent: int
    session: int
    started: int
    marker: str = ""

    @property
    def identity(self) -> tuple[int, int]:
        """A pair that no other process of this boot has."""
        return self.pid, self.started


def read_table() -> dict[int, Entry]:
    """All living processes except the calling one, by pid; zombies do not count."""
    own = os.getpid()
    entries = (_entry(int(name)) for name in os.listdir("/proc") if name.isdigit())
    return {entry.pid: entry for entry in entries if entry is not None and entry.pid != own}


def family(table: Mapping[int, Entry], is_ours: Callable[[Entry], bool]) -> set[Entry]:
    """The processes that are ours, and all their descendants."""
    members = {entry.pid for entry in table.values() if is_ours(entry)}
    while True:
        children = {e.pid for e in table.values() if e.parent in members} - members
        if not children:
            return {table[pid] for pid in members}
        members |= children


def marker_of(pid: int) -> str:
    """The marker in the environment that the process was started with; "" if none is seen."""
    try:
        environment = Path(f"/proc/{pid}/environ").read_bytes()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return ""
    for item in environment.split(b"\0"):
        if item.startswith(_MARKER_BYTES):
            return os.fsdecode(item[len(_MARKER_BYTES) :])
    return ""


def send(entry: Entry, number: signal.Signals) -> bool:
    """Signals the process, and never another one that has its pid; False if it is gone.

    The entry was read before its pid was pinned; if the pinned pid still started when the entry
    says, no other process can have had the pid in between.
    """
    pidfd = pin(entry)
    if pidfd is None:
        return False
    try:
        signal.pidfd_send_signal(pidfd, number)
    except (ProcessLookupError, PermissionError):
        return False
    finally:
        os.close(pidfd)
    return True


def pin(entry: Entry) -> int | None:
    """A pidfd for the process, to be closed by the caller; None if it is gone."""
    try:
        pidfd = os.pidfd_open(entry.pid)
    except ProcessLookupError:
        return None
    if start_time(entry.pid) == entry.started:
        return pidfd
    os.close(pidfd)
    return None


def has_ended(pidfd: int, timeout: float = 0.0) -> bool:
    """Whether the pinned process ends within `timeout` seconds."""
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    return bool(poll.poll(timeout * 1000))


def await_end(entries: Iterable[Entry], timeout: float) -> None:
    """Waits until all have ended, at most `timeout` seconds for each."""
    for entry in entries:
        pidfd = pin(entry)
        if pidfd is not None:
            has_ended(pidfd, timeout)
            os.close(pidfd)


def kill_all(find: Callable[[], set[Entry]]) -> set[Entry]:
    """Kills what is found until nothing is; returns survivors."""
    left = find()
    for _ in range(KILL_ROUNDS):
        if not left:
            break
        for entry in left:
            send(entry, signal.SIGKILL)
        await_end(left, 0.2)
        left = find()
    return left


def _entry(pid: int) -> Entry | None:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = stat[stat.rindex(")") + 2 :].split()
    if fields[0] in "ZX":
        return None
    return Entry(pid, int(fields[1]), int(fields[3]), int(fields[19]), marker_of(pid))
