"""A temporary home with real processes; both are removed after the measurement."""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from bench import procfs
from bench.figures import BenchFailed
from bench.programs import output_of
from synergy import compose
from synergy.clock import SystemClock
from synergy.compose import Project
from synergy.messaging.protocol import Bus
from synergy.names import SCHEDULER_TOPIC
from synergy.runtime import logs
from synergy.storage.protocol import Store
from synergy.supervisor.proctable import await_end, read_table, send

READY_SECONDS = 30.0  # how long a process may take to start up
STOP_SECONDS = 15.0  # how long a process may take to end before it is killed
_TAIL = 2000  # characters of a log that an error shows
_SWEEPS = 20
_INTERRUPTS = (signal.SIGINT, signal.SIGTERM)

T = TypeVar("T")
Tell = Callable[[int, "int | None"], None]
"""Shows progress: how much is done, and of how much, if known."""

_clock = SystemClock()


@dataclass(frozen=True, slots=True)
class Lab:
    """The folder of the benches' homes; `tell` shows progress, `say` prints a message.

    `bus` and `store` are the URLs of servers to measure with, if any; `with_others` is whether
    other software is measured for comparison.
    """

    path: Path
    folder: Path
    tell: Tell
    say: Callable[[str], None] = field(default=lambda text: None)
    bus: str = ""
    store: str = ""
    with_others: bool = True

    @contextmanager
    def stage(self, context: str = "context", **settings: str) -> Iterator[Stage]:
        """A home with the deployment `context`, and these settings, in lower case."""
        self.folder.mkdir(parents=True, exist_ok=True)
        home = Path(tempfile.mkdtemp(prefix="bench-", dir=self.folder))
        stage = Stage(self.path, home, _environ(home, context, settings), self.tell)
        try:
            yield stage
        finally:
            with _undisturbed():
                stage.close()


class Stage:
    """One home, with the store and the bus of its processes."""

    def __init__(self, path: Path, home: Path, environ: Mapping[str, str], tell: Tell) -> None:
        self.path = path
        self.home = home
        self.environ = dict(environ)
        self.tell = tell
        self._started: list[_Started] = []

    @cached_property
    def project(self) -> Project:
        return compose.open_project(self.path, self.environ)

    @cached_property
    def store(self) -> Store:
        return compose.open_store(self.project.settings)

    @cached_property
    def bus(self) -> Bus:
        return compose.open_bus(self.project, self.store)

    def start(self, process: str, instances: int = 1) -> None:
        """Starts instances of a process as the supervisor would; returns when they are ready."""
        compose.prepare_store(self.project.settings)
        new = [self._launch(process, number + 1) for number in range(instances)]
        for started in new:
            started.await_ready()

    def _launch(self, process: str, instance: int) -> _Started:
        config = compose.supervisor_config(self.project)
        log = logs.log_path(self.home, process, instance)
        log.parent.mkdir(exist_ok=True)
        reader, writer = os.pipe()
        with log.with_suffix(".out").open("wb") as out:
            child = subprocess.Popen(
                config.command(process, instance),
                cwd=config.directory,
                env={
                    **self.environ,
                    "SYNERGY_RUN": f"bench/{process}/{instance}",  # as if supervised
                    "SYNERGY_READY_FD": str(writer),
                },
                pass_fds=(writer,),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C goes to the bench, which stops its processes
            )
        os.close(writer)
        started = _Started(process, child, reader, log)
        self._started.append(started)
        return started

    def command(self, *words: str, timeout: float = 120.0) -> Any:
        """The JSON output of a command of `launch.py`; raises BenchFailed."""
        command = [sys.executable, str(self.path / "launch.py"), *words, "--json"]
        name = " ".join(words)
        return json.loads(output_of(command, name, timeout, environ=self.environ, folder=self.path))

    def until(
        self, is_done: Callable[[], bool], what: str, timeout: float, every: float = 0.25
    ) -> None:
        """Waits until `is_done`, called at intervals; raises BenchFailed after the timeout.

        It is also raised if a process that was started here has ended.
        """
        deadline = _clock.monotonic() + timeout
        while not is_done():
            for started in self._started:
                started.check()
            if _clock.monotonic() >= deadline:
                raise BenchFailed(f"{what}: not done after {timeout:g} s")
            pause(every)

    def woken_until(self, find: Callable[[], T | None], what: str, timeout: float) -> T:
        """The result of `find`, which is called at each wake-up of the scheduler, until found."""
        deadline = _clock.monotonic() + timeout
        with closing(self.bus.listener(SCHEDULER_TOPIC)) as listener:
            while (left := deadline - _clock.monotonic()) > 0:
                found = find()
                if found is not None:
                    return found
                listener.wait(left)
        raise BenchFailed(f"{what}: not done after {timeout:g} s")

    def cpu_seconds(self, process: str) -> float:
        """CPU seconds of all instances of a process that were started here."""
        return sum(procfs.cpu_seconds(child.pid) for child in self.children(process))

    def children(self, process: str) -> list[subprocess.Popen[bytes]]:
        """The instances of a process that were started here."""
        return [started.child for started in self._started if started.process == process]

    def stop(self) -> None:
        """Ends all processes that were started here, with their children."""
        for started in self._started:
            started.child.terminate()
        for started in self._started:
            started.end()
        self._started.clear()

    def close(self) -> None:
        """Ends all processes, including a supervisor, and removes the home."""
        self.stop()
        _sweep(self.home)
        for part in ("bus", "store"):  # if it was opened
            if part in vars(self):
                vars(self).pop(part).close()
        shutil.rmtree(self.home, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class _Started:
    """A process; it reports through the pipe `ready` that it is ready."""

    process: str
    child: subprocess.Popen[bytes]
    ready: int
    log: Path

    def await_ready(self) -> None:
        poll = select.poll()
        poll.register(self.ready, select.POLLIN)
        if poll.poll(READY_SECONDS * 1000) and os.read(self.ready, 1):
            return
        with suppress(subprocess.TimeoutExpired):
            self.child.wait(1.0)  # a process that closed the pipe without a report is ending
        self.check()
        raise BenchFailed(f"{self.process} is not ready after {READY_SECONDS:g} s: {self._output}")

    def check(self) -> None:
        """Raises BenchFailed if it has ended by itself."""
        code = self.child.poll()
        if code is not None:
            raise BenchFailed(f"{self.process} ended with {code}: {self._output}")

    def end(self) -> None:
        try:
            self.child.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(self.child.pid, signal.SIGKILL)
            self.child.wait()
        os.close(self.ready)

    @property
    def _output(self) -> str:
        """The end of its output and of its log."""
        files = (self.log.with_suffix(".out"), self.log)
        texts = [path.read_text(errors="replace")[-_TAIL:] for path in files if path.exists()]
        return "\n".join(texts).strip()


def pause(seconds: float) -> None:
    """Lets time pass."""
    threading.Event().wait(seconds)


def _environ(home: Path, context: str, settings: Mapping[str, str]) -> dict[str, str]:
    """The environment of a stage, without the settings of the real deployment."""
    own = {
        "home": str(home),
        "store": f"sqlite:///{home}/synergy.db",
        "bus": "store:",
        "box_id": "bench",
        "context": context,
        "demo_stream": "off",
        "mx_port": str(_free_port()),
        **settings,
    }
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("SYNERGY_") or name == "SYNERGY_NO_VENV"
    }
    return kept | {f"SYNERGY_{name.upper()}": value for name, value in own.items()}


def _free_port() -> int:
    """A free port, so that MX does not conflict with a running one."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
        return port


def _sweep(home: Path) -> None:
    """Kills all processes with this home in their environment, also those just being started."""
    mark = f"SYNERGY_HOME={home}".encode()
    for _ in range(_SWEEPS):
        left = [entry for entry in read_table().values() if mark in _environ_of(entry.pid)]
        if not left:
            return
        for entry in left:
            send(entry, signal.SIGKILL)
        await_end(left, 1.0)


def _environ_of(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:  # it has ended, or belongs to another user
        return []


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Ignores further interrupts while cleaning up."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, signal.SIG_IGN) for number in _INTERRUPTS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
