"""The supervisor's side of a fork server: starts it, asks it for processes, and ends it.

The server is helpful, not necessary: where it cannot be had, processes are started without it. So
every wait is bounded, and a server that does not do what it was asked is killed, together with
what it may have forked for this request.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from synergy.supervisor import fork_server, proctable

SECONDS = 20.0  # how long an answer may take, on a busy machine
_END_SECONDS = 2.0


class ForkFailed(Exception):
    """The server did not start the process; the message says why."""


class ForkServer:
    """A fork server that runs; it is a child of this process."""

    def __init__(
        self, command: Sequence[str], directory: Path, environment: Mapping[str, str]
    ) -> None:
        """Starts the server; raises ForkFailed or OSError if it is not ready in time.

        Its messages go where those of this process go.
        """
        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._channel.settimeout(SECONDS)
        try:
            with theirs:
                child = subprocess.Popen(
                    list(command),
                    cwd=directory,
                    env=environment,
                    stdin=theirs.fileno(),
                    start_new_session=True,
                )
        except OSError:
            self._channel.close()
            raise
        child.returncode = 0  # the orphans' reaper takes it off the process table
        self.pid = child.pid
        self._pidfd = os.pidfd_open(child.pid)
        try:
            self._answer()
        except ForkFailed:
            self.close()
            raise

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
