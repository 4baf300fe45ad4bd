"""Starts, adopts, signals and finds the processes of one home.

Every process that is started carries a marker in its environment. It begins with a digest of the
home, so that two deployments on one machine never affect each other. A start is one *group*: its
leader and all descendants. The leader is held by a pidfd from its start to its end, so a signal
through the pidfd can reach no other process.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import signal
import uuid
from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path

from synergy.supervisor import output, proctable
from synergy.supervisor.fork_client import ForkServer
from synergy.supervisor.launcher import Launcher
from synergy.supervisor.proctable import Entry, family, read_table, send
from synergy.supervisor.states import Slot

_PR_SET_CHILD_SUBREAPER = 36


class Group:
    """One start: its leader, and its members, which are the other processes that came from it."""

    def __init__(
        self,
        entry: Entry,
        pidfd: int,
        ready: int | None = None,
        *,
        is_child: bool = False,
    ) -> None:
        self.leader = entry
        self.pidfd = pidfd
        self.ready = ready
        self._is_child = is_child
        self._known: set[tuple[int, int]] = set()
        self._signalled: set[tuple[tuple[int, int], signal.Signals]] = set()

    @property
    def has_exited(self) -> bool:
        """Whether the leader has ended; members may still run."""
        return proctable.has_ended(self.pidfd)

    def take_ready(self) -> bool:
        """Whether the leader has reported that it is ready; call it when `ready` is readable."""
        if self.ready is None:
            return False
        is_ready = os.read(self.ready, 16) != b""
        os.close(self.ready)
        self.ready = None
        return is_ready

    def signal_leader(self, number: signal.Signals) -> None:
        """Signals the leader alone, so that it can end its own children in good order.

        The members are noted before, because their descent cannot be seen after its end.
        """
        self._members()
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.pidfd, number)

    def signal_members(self, number: signal.Signals) -> int:
        """Sends this signal to each member once; returns how many members run."""
        members = self._members()
        for entry in members:
            if (entry.identity, number) not in self._signalled:
                self._signalled.add((entry.identity, number))
                send(entry, number)
        return len(members)

    def kill_members(self) -> None:
        """Kills all members, including those that are started meanwhile."""
        for _ in range(proctable.KILL_ROUNDS):
            before = len(self._signalled)
            if not self.signal_members(signal.SIGKILL) or len(self._signalled) == before:
                return

    def close(self) -> int | None:
        """Closes the handles, and reaps the leader if it has ended; its exit code if known."""
        code = _reaped(self.leader.pid) if self._is_child else None
        if self.ready is not None:
            os.close(self.ready)
            self.ready = None
        os.close(self.pidfd)
        return code

    def _members(self) -> set[Entry]:
        table = read_table()
        # A leader that is not reaped, or is alive after the table was read, holds its pid, so
        # the session of that number is its own.
        holds_pid = self._is_child or not self.has_exited

        def is_ours(entry: Entry) -> bool:
            return (
                entry.marker == self.leader.marker
                or (holds_pid and entry.session == self.leader.pid)
                or entry.identity in self._known
            )

        members = {entry for entry in family(table, is_ours) if entry.pid != self.leader.pid}
        self._known |= {entry.identity for entry in members}
        return members


class ProcessHost:
    """The processes of one home on this machine. Not thread-safe."""

    def __init__(
        self,
        home: Path,
        directory: Path,
        fork_server: Sequence[str] = (),
        server: ForkServer | None = None,
    ) -> None:
        """`fork_server` is the command of the fork server; without it, none is used.

        `server` is one that runs already.
        """
        self._logs = home / "logs"
        self._directory = directory
        self._prefix = home_digest(home) + "/"
        self._is_subreaper = False
        marker = fork_server_marker(home)
        self._launcher = Launcher(directory, fork_server, marker, server)

    def marker(self, box: str, slot: Slot) -> str:
        """A new marker, never used before."""
        return f"{self._prefix}{box}/{slot}/{uuid.uuid4().hex}"

    def together(self) -> AbstractContextManager[None]:
        """Processes spawned within it share memory, as far as that is possible."""
        return self._launcher.together()

    def spawn(self, slot: Slot, command: Sequence[str], marker: str) -> Group:
        """Starts the command in a session of its own; raises OSError if that is impossible.

        Its output is appended to `<home>/logs/<process>.out`.
        """
        ready, tell = os.pipe()
        try:
            with output.appending(self._logs / f"{slot.process}.out") as log:
                pid = self._launcher.launch(command, marker, log, tell)
        except OSError:
            os.close(ready)
            raise
        finally:
            os.close(tell)
        entry = Entry(pid, os.getpid(), pid, _started(pid), marker)
        return Group(entry, os.pidfd_open(pid), ready, is_child=True)

    def adopt(self, pid: int, started: int, marker: str) -> Group | None:
        """Takes over a process of an earlier supervisor; None if it is not provably that one."""
        entry = Entry(pid, 0, pid, started, marker)
        if not marker.startswith(self._prefix):
            return None
        pidfd = proctable.pin(entry)
        if pidfd is None:
            return None
        if proctable.marker_of(pid) == marker:
            return Group(entry, pidfd)
        os.close(pidfd)
        return None

    def leftovers(self, known: Collection[str] = ()) -> set[Entry]:
        """The processes with a marker of this home that is not `known`, and their descendants.

        The fork server of this supervisor is none of them. Call it only while no group of this
        supervisor is a child of its own process.
        """
        # The orphans of a subreaper came from its own processes, with or without a marker.
        own = os.getpid() if self._is_subreaper else None
        server = self._launcher.server_pid

        def is_left(entry: Entry) -> bool:
            if entry.pid == server:
                return False
            is_marked = entry.marker.startswith(self._prefix) and entry.marker not in known
            return is_marked or entry.parent == own

        return family(read_table(), is_left)

    def sweep(self, known: Collection[str] = (), grace: float = 0.0) -> set[Entry]:
        """Ends all leftovers, by TERM and `grace` seconds, if any, then KILL; returns survivors.

        Only a process that the kernel blocks (a hung disk) survives KILL; it runs no code again.
        """
        left = self.leftovers(known)
        if grace:
            for entry in left:
                send(entry, signal.SIGTERM)
            proctable.await_end(left, grace)
        return proctable.kill_all(lambda: self.leftovers(known))

    def become_subreaper(self) -> None:
        """Makes orphaned grandchildren the children of this process."""
        libc = ctypes.CDLL(None, use_errno=True)
        self._is_subreaper = libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
        self._launcher.may_fork = self._is_subreaper

    def reap_orphans(self, leaders: Collection[int]) -> None:
        """Takes dead orphans off the process table; leaders are left to their groups."""
        while self._is_subreaper:
            try:
                dead = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                return
            if dead is None or dead.si_pid in leaders:
                return
            os.waitpid(dead.si_pid, os.WNOHANG)

    def close(self) -> None:
        """Ends the fork server; the processes keep running."""
        self._launcher.close()

    def trim_output(self) -> None:
        """Keeps the files with the output of processes within their bound."""
        for path in self._logs.glob("*.out"):
            output.trim(path)


def fork_server_marker(home: Path) -> str:
    """The beginning of the markers of fork servers of this home."""
    return f"{home_digest(home)}/fork-server/"


def home_digest(home: Path) -> str:
    """A digest of the home, the same for every way to write its path."""
    return hashlib.sha256(os.fsencode(home.resolve())).hexdigest()[:12]


def _reaped(pid: int) -> int | None:
    """The exit code of a child that has ended, which is reaped; None if it runs or is not known."""
    try:
        reaped, status = os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return None
    return os.waitstatus_to_exitcode(status) if reaped else None


def _started(pid: int) -> int:
    """The start time of a child that is not reaped; it may be a zombie already."""
    fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    return int(fields[19])
