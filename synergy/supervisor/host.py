"""Starting, adopting, signalling and finding the processes of one home.

Everything that is started carries a marker in its environment, which begins with a word for
the home, so that two deployments on one machine never touch each other. A start is one
*group*: its leader and whatever came from it. The leader is held by a pidfd from its first to
its last moment, so a signal through it can reach nobody else.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import signal
import subprocess
import uuid
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path

from synergy.supervisor import output, proctable
from synergy.supervisor.proctable import MARKER, Entry, family, read_table, send
from synergy.supervisor.ready import READY_FD
from synergy.supervisor.states import Slot

_PR_SET_CHILD_SUBREAPER = 36
_KILL_ROUNDS = 25


class Group:
    """One start: its leader, and all that came from it."""

    def __init__(
        self,
        entry: Entry,
        pidfd: int,
        child: subprocess.Popen[bytes] | None = None,
        ready: int | None = None,
    ) -> None:
        self.leader = entry
        self.pidfd = pidfd
        self.ready = ready
        self._child = child
        self._known: set[tuple[int, int]] = set()
        self._told: set[tuple[tuple[int, int], signal.Signals]] = set()

    @property
    def has_exited(self) -> bool:
        """Whether the leader has ended; the rest of the group may live on."""
        return proctable.has_ended(self.pidfd)

    def said_ready(self) -> bool:
        """Whether the leader has said that it is at work; to be asked when `ready` is readable."""
        if self.ready is None:
            return False
        said = os.read(self.ready, 16) != b""
        os.close(self.ready)
        self.ready = None
        return said

    def signal_leader(self, number: signal.Signals) -> None:
        """Signals the leader alone, so that it can end its own children in good order.

        Its kin is taken note of before, because descent cannot be seen any more after it.
        """
        self._kin()
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.pidfd, number)

    def signal_kin(self, number: signal.Signals) -> int:
        """Sends this signal, once each, to all of the group but the leader; how many live."""
        kin = self._kin()
        for entry in kin:
            if (entry.identity, number) not in self._told:
                self._told.add((entry.identity, number))
                send(entry, number)
        return len(kin)

    def kill_kin(self) -> None:
        """Kills all of the group but the leader, those included that are born meanwhile."""
        for _ in range(_KILL_ROUNDS):
            told = len(self._told)
            if not self.signal_kin(signal.SIGKILL) or len(self._told) == told:
                return

    def close(self) -> int | None:
        """Lets go of the leader, reaping it if it has ended; its exit code if that is known."""
        code = None if self._child is None else self._child.poll()
        if self._child is not None and code is None:
            self._child.returncode = 0  # left alone on purpose: no complaint when it is forgotten
        if self.ready is not None:
            os.close(self.ready)
            self.ready = None
        os.close(self.pidfd)
        return code

    def _kin(self) -> set[Entry]:
        table = read_table()
        # A leader that is not reaped, or is alive after the table was read, holds its pid, so
        # the session of that number is its own.
        holds_pid = self._child is not None or not self.has_exited

        def is_ours(entry: Entry) -> bool:
            return (
                entry.marker == self.leader.marker
                or (holds_pid and entry.session == self.leader.pid)
                or entry.identity in self._known
            )

        kin = {entry for entry in family(table, is_ours) if entry.pid != self.leader.pid}
        self._known |= {entry.identity for entry in kin}
        return kin


class ProcessHost:
    """The processes of one home on this machine. Not thread-safe."""

    def __init__(self, home: Path, directory: Path) -> None:
        self._logs = home / "logs"
        self._directory = directory
        self._prefix = home_word(home) + "/"
        self._is_subreaper = False

    def marker(self, box: str, slot: Slot) -> str:
        """A new marker, never used before."""
        return f"{self._prefix}{box}/{slot}/{uuid.uuid4().hex}"

    def spawn(self, slot: Slot, command: Sequence[str], marker: str) -> Group:
        """Starts the command in a session of its own; OSError if that is impossible.

        Its output is appended to `<home>/logs/<process>.out`.
        """
        ready, tell = os.pipe()
        environment = {**os.environ, MARKER: marker, READY_FD: str(tell)}
        try:
            with output.appending(self._logs / f"{slot.process}.out") as log:
                child = subprocess.Popen(
                    list(command),
                    cwd=self._directory,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                    pass_fds=(tell,),
                )
        except OSError:
            os.close(ready)
            raise
        finally:
            os.close(tell)
        pidfd = os.pidfd_open(child.pid)
        entry = Entry(child.pid, os.getpid(), child.pid, _started(child.pid), marker)
        return Group(entry, pidfd, child, ready)

    def adopt(self, pid: int, started: int, marker: str) -> Group | None:
        """Takes charge of a process of an earlier supervisor; None if it is not provably that."""
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

    def strangers(self, known: Collection[str] = ()) -> set[Entry]:
        """What runs with a marker of this home but not one that is known, and its offspring.

        To be asked only while no group of this supervisor is a child of its own process.
        """
        # An orphan came to a subreaper from one of its own processes, whatever it hides.
        own = os.getpid() if self._is_subreaper else None

        def is_strange(entry: Entry) -> bool:
            is_marked = entry.marker.startswith(self._prefix) and entry.marker not in known
            return is_marked or entry.parent == own

        return family(read_table(), is_strange)

    def sweep(self, known: Collection[str] = (), grace: float = 0.0) -> set[Entry]:
        """Ends all strangers, first gently if there is `grace` (seconds); those it could not.

        Only what the kernel itself holds (a hung disk) survives KILL; it runs none of its code
        again.
        """
        left = self.strangers(known)
        if grace:
            for entry in left:
                send(entry, signal.SIGTERM)
            proctable.await_end(left, grace)
        for _ in range(_KILL_ROUNDS):
            left = self.strangers(known)
            if not left:
                break
            for entry in left:
                send(entry, signal.SIGKILL)
            proctable.await_end(left, 0.2)
        return left

    def become_subreaper(self) -> None:
        """Makes orphaned grandchildren the children of this process."""
        libc = ctypes.CDLL(None, use_errno=True)
        self._is_subreaper = libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0

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

    def trim_output(self) -> None:
        """Keeps the files with the output of processes within their bound."""
        for path in self._logs.glob("*.out"):
            output.trim(path)


def home_word(home: Path) -> str:
    """A word for the home, the same for every way to write its path."""
    return hashlib.sha256(os.fsencode(home.resolve())).hexdigest()[:12]


def _started(pid: int) -> int:
    """The start time of a child that is not reaped; it may be a zombie already."""
    fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    return int(fields[19])
