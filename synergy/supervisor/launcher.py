"""Launches processes: by a fork server where there is one, otherwise by a new interpreter."""

from __future__ import annotations

import logging
import os
import subprocess
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from synergy.supervisor import proctable
from synergy.supervisor.fork_client import ForkFailed, ForkServer
from synergy.supervisor.proctable import MARKER, family, read_table
from synergy.supervisor.ready import READY_FD

_MOST_FAILURES = 3  # in succession; then the fork server is not tried again

logger = logging.getLogger(__name__)


class Launcher:
    """Launches processes, and holds the fork server from the first launch on.

    `may_fork` is set in a subreaper: only there does a forked process become a child of its own.
    """

    def __init__(self, directory: Path, fork_server: Sequence[str], marker: str) -> None:
        """`fork_server` is its command, () for none; its markers begin with `marker`."""
        self.may_fork = False
        self._directory = directory
        self._command = fork_server
        self._prefix = marker
        self._marker = ""
        self._server: ForkServer | None = None
        self._failures = 0

    def launch(self, command: Sequence[str], marker: str, output: BinaryIO, ready: int) -> int:
        """The pid of a new child in a session of its own; raises OSError if it cannot be had."""
        if not (self._command and self.may_fork and self._failures < _MOST_FAILURES):
            return self._spawn(command, marker, output, ready)
        try:
            if self._server is None:
                self._marker = self._prefix + uuid.uuid4().hex
                self._server = self._new_server()
            pid = self._server.fork(command, marker, output.fileno(), ready)
        except (ForkFailed, OSError) as error:
            self._failures += 1
            self._give_up(error, marker)
            return self._spawn(command, marker, output, ready)
        self._failures = 0
        return pid

    def close(self) -> None:
        """Ends the fork server; the next launch starts another."""
        if self._server is not None:
            self._server.close()
            self._server = None

    def _new_server(self) -> ForkServer:
        return ForkServer(self._command, self._directory, {**os.environ, MARKER: self._marker})

    def _give_up(self, error: Exception, marker: str) -> None:
        """Ends the server and all that it may have forked for this marker; raises OSError."""
        logger.warning(
            "The fork server is not used: %s",
            error,
            extra={"event": "supervisor.fork_server_failed"},
        )
        self.close()
        markers = {self._marker, marker}
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
