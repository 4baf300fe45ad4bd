"""Launches processes: by a fork server where there is one, otherwise by a new interpreter."""

from __future__ import annotations

import logging
import os
import subprocess
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TypeVar

from synergy.supervisor import proctable
from synergy.supervisor.fork_client import ForkFailed, ForkServer
from synergy.supervisor.proctable import MARKER, family, read_table
from synergy.supervisor.ready import READY_FD

_MOST_FAILURES = 3  # in succession; then the fork server is not tried again

_Answer = TypeVar("_Answer")

logger = logging.getLogger(__name__)


class Launcher:
    """Launches processes, and holds the fork server from the first launch on.

    `may_fork` is set in a subreaper: only there does a forked process become a child of its own.
    """

    def __init__(
        self, directory: Path, fork_server: Sequence[str], marker: str, server: ForkServer | None
    ) -> None:
        """`fork_server` is its command, () for none; its markers begin with `marker`.

        `server` is one that runs already.
        """
        self.may_fork = False
        self._directory = directory
        self._command = fork_server
        self._prefix = marker
        self._marker = "" if server is None else server.marker
        self._server = server
        self._failures = 0

    @property
    def server_pid(self) -> int | None:
        """The pid of the fork server, if it runs."""
        return None if self._server is None else self._server.pid

    @contextmanager
    def together(self) -> Iterator[None]:
        """Processes launched within it share what they read of the project at their start."""
        self._ask(lambda server: server.prepare())
        yield
        if self._server is not None:
            self._ask(lambda server: server.done())

    def launch(self, command: Sequence[str], marker: str, output: BinaryIO, ready: int) -> int:
        """The pid of a new child in a session of its own; raises OSError if it cannot be had."""
        pid = self._ask(lambda server: server.fork(command, marker, output.fileno(), ready), marker)
        return pid or self._spawn(command, marker, output, ready)

    def _ask(self, request: Callable[[ForkServer], _Answer], marker: str = "") -> _Answer | None:
        """The answer of the fork server, which is started if need be; None if it fails."""
        if not (self._command and self.may_fork and self._failures < _MOST_FAILURES):
            return None
        try:
            self._server = self._server or self._new_server()
            answer = request(self._server)
        except (ForkFailed, OSError) as error:
            self._failures += 1
            self._give_up(error, {self._marker, marker} - {""})
            return None
        self._failures = 0
        return answer

    def close(self) -> None:
        """Ends the fork server; the next launch starts another."""
        if self._server is not None:
            self._server.close()
            self._server = None

    def _new_server(self) -> ForkServer:
        self._marker = self._prefix + uuid.uuid4().hex
        return ForkServer.started(self._command, self._directory, self._marker)

    def _give_up(self, error: Exception, markers: set[str]) -> None:
        """Ends the server and all that it may have forked; raises OSError if something is left."""
        logger.warning(
            "The fork server is not used: %s",
            error,
            extra={"event": "supervisor.fork_server_failed"},
        )
        self.close()
        if proctable.kill_all(lambda: family(read_table(), lambda e: e.marker in markers)):
            raise BlockingIOError("what the fork server has forked survives KILL") from error

    def _spawn(self, command: Sequence[str], marker: str, output: BinaryIO, ready: int) -> int:
        child = subprocess.Popen(
            list(command),
            cwd=self._directory,
            env={**os.environ, MARKER: marker, READY_FD: str(ready)},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=(ready,),
        )
        child.returncode = 0  # the caller reaps it
        return child.pid
