"""The supervisor's side of a fork server: starts it, asks it for processes, and ends it.

The server is helpful, not necessary: where it cannot be had, processes are started without it. So
every wait is bounded, and a server that does not do what it was asked is killed, together with
what it may have forked for this request.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from synergy.supervisor import fork_server, proctable
from synergy.supervisor.proctable import MARKER

SECONDS = 20.0  # how long an answer may take, on a busy machine
_END_SECONDS = 2.0
_FIRST_FILE = 3  # after standard input and output


class ForkFailed(Exception):
    """The server did not start the process; the message says why."""


class ForkServer:
    """A fork server that runs; it is a child of this process."""

    def __init__(self, channel: socket.socket, pid: int, marker: str) -> None:
        """Waits for the server; raises ForkFailed if it is not ready in time."""
        self.pid = pid
        self.marker = marker
        self._channel = channel
        self._channel.settimeout(SECONDS)
        self._pidfd = os.pidfd_open(pid)
        try:
            self._answer()
        except ForkFailed:
            self.close()
            raise

    @classmethod
    def started(cls, command: Sequence[str], directory: Path, marker: str) -> ForkServer:
        """A server by a new interpreter; raises ForkFailed or OSError.

        Its messages go where those of this process go.
        """
        ours, theirs = _channel()
        try:
            with theirs:
                child = subprocess.Popen(
                    list(command),
                    cwd=directory,
                    env={**os.environ, MARKER: marker},
                    stdin=theirs.fileno(),
                    start_new_session=True,
                )
        except OSError:
            ours.close()
            raise
        child.returncode = 0  # the orphans' reaper takes it off the process table
        return cls(ours, child.pid, marker)

    @classmethod
    def forked(cls, command: Sequence[str], marker: str) -> ForkServer | None:
        """A server forked from this process, which it shares its memory with; raises ForkFailed.

        None in the server itself, which has to call `serve` now. It looks like `command`.
        """
        gc.collect()
        gc.freeze()  # no collection writes to what is shared
        ours, theirs = _channel()
        pid = os.fork()
        if pid:
            theirs.close()
            return cls(ours, pid, marker)
        os.setsid()
        os.dup2(theirs.detach(), sys.stdin.fileno())
        ours.detach()
        os.closerange(_FIRST_FILE, max(map(int, os.listdir("/proc/self/fd"))) + 1)
        os.environ[MARKER] = marker
        sys.orig_argv = list(command)
        return None

    def prepare(self) -> None:
        """Prepares what the processes share that are forked until `done`; raises ForkFailed."""
        self._send({"prepare": True})
        self._answer()

    def done(self) -> None:
        """Ends what `prepare` began; raises ForkFailed."""
        self._send({"done": True})

    def fork(self, command: Sequence[str], marker: str, output: int, ready: int) -> int:
        """The pid of a new process, a child of this one; raises ForkFailed."""
        self._send({"command": list(command), "marker": marker}, [output, ready])
        answer = self._answer()
        if "pid" not in answer:
            raise ForkFailed(answer["error"])
        return int(answer["pid"])

    def close(self) -> None:
        """Ends the server; the processes that it has forked keep running."""
        self._channel.close()
        if not proctable.has_ended(self._pidfd, _END_SECONDS):
            signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
            proctable.has_ended(self._pidfd, _END_SECONDS)
        os.close(self._pidfd)
        try:
            os.waitpid(self.pid, os.WNOHANG)
        except ChildProcessError:
            return

    def _send(self, message: dict[str, Any], files: Sequence[int] = ()) -> None:
        try:
            socket.send_fds(self._channel, [json.dumps(message).encode()], files)
        except OSError as error:
            raise ForkFailed(f"it cannot be asked: {error}") from error

    def _answer(self) -> dict[str, Any]:
        try:
            answer = self._channel.recv(fork_server.MOST)
        except TimeoutError:
            raise ForkFailed(
                f"it does not answer within {self._channel.gettimeout():g} s"
            ) from None
        except OSError as error:
            raise ForkFailed(str(error)) from error
        if not answer:
            raise ForkFailed("it has ended")
        return dict(json.loads(answer))


def _channel() -> tuple[socket.socket, socket.socket]:
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
