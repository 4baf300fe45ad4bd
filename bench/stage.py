"""A temporary home, and real processes in it, which are gone when the measurement is over."""

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
from synergy import compose
from synergy.clock import SystemClock
from synergy.compose import Project
from synergy.messaging.protocol import Bus
from synergy.names import SCHEDULER_TOPIC
from synergy.runtime import logs
from synergy.storage.protocol import Store
from synergy.supervisor.proctable import await_end, read_table, send

READY_IN = 30.0  # seconds that a process may take to start up
STOPPED_IN = 15.0  # seconds that it may take to end before it is killed
_TAIL = 2000  # characters of a log that an error shows
_SWEEPS = 20
_INTERRUPTS = (signal.SIGINT, signal.SIGTERM)

T = TypeVar("T")
Tell = Callable[[int, "int | None"], None]
"""Takes how much is done, and of how much if that is known."""

_clock = SystemClock()


@dataclass(frozen=True, slots=True)
class Lab:
    """Where benches make their homes; `tell` hears how far they are, `say` what takes a while.

    `bus` and `store` are the servers to measure with, if they were named; `with_others` is
    whether others than Synergy are measured, too.
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
        """A home with the deployment `context`, and these settings by their small names."""
        self.folder.mkdir(parents=True, exist_ok=True)
        home = Path(tempfile.mkdtemp(prefix="bench-", dir=self.folder))
        stage = Stage(self.path, home, _environ(home, context, settings), self.tell)
        try:
            yield stage
        finally:
            with _undisturbed():
                stage.close()


class Stage:
    """One home. Store and bus are those of the processes that are started here."""

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
        """Starts instances of a process as the supervisor would; returns when they are at work."""
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
                    "SYNERGY_RUN": f"bench/{process}/{instance}",  # it is looked after
                    "SYNERGY_READY_FD": str(writer),
                },
                pass_fds=(writer,),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C is for us, who then stop them
            )
        os.close(writer)
        started = _Started(process, child, reader, log)
        self._started.append(started)
        return started

    def command(self, *words: str, timeout: float = 120.0) -> Any:
        """Runs a command of `launch.py` with `--json`; what it printed. Raises BenchFailed."""
        command = [sys.executable, str(self.path / "launch.py"), *words, "--json"]
        try:
            done = subprocess.run(
                command, cwd=self.path, env=self.environ, stdin=subprocess.DEVNULL,
                capture_output=True, timeout=timeout, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise BenchFailed(f"{' '.join(words)} took more than {timeout:g} s") from None
        if done.returncode != 0:
            said = (done.stderr or done.stdout).decode(errors="replace")
            raise BenchFailed(f"{' '.join(words)} ended with {done.returncode}: {said[-_TAIL:]}")
        return json.loads(done.stdout)

    def until(
        self, is_done: Callable[[], bool], what: str, timeout: float, every: float = 0.25
    ) -> None:
        """Looks every some seconds whether something is done; raises BenchFailed if it fails."""
        deadline = _clock.monotonic() + timeout
        while not is_done():
            for started in self._started:
                started.check()
            if _clock.monotonic() >= deadline:
                raise BenchFailed(f"{what}: not done after {timeout:g} s")
            pause(every)

    def woken_until(self, find: Callable[[], T | None], what: str, timeout: float) -> T:
        """What `find` finds; it looks when somebody tells the scheduler something, and waits."""
        deadline = _clock.monotonic() + timeout
        with closing(self.bus.listener(SCHEDULER_TOPIC)) as listener:
            while (left := deadline - _clock.monotonic()) > 0:
                found = find()
                if found is not None:
                    return found
                listener.wait(left)
        raise BenchFailed(f"{what}: not done after {timeout:g} s")

    def cpu_seconds(self, process: str) -> float:
        """Seconds on the CPU of all instances of a process that were started here."""
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
        """Ends everything, a supervisor included, and removes the home."""
        self.stop()
        _sweep(self.home)
        for part in ("bus", "store"):  # if it was ever opened
            if part in vars(self):
                vars(self).pop(part).close()
        shutil.rmtree(self.home, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class _Started:
    """A process; it says through the pipe `ready` that it is at work."""

    process: str
    child: subprocess.Popen[bytes]
    ready: int
    log: Path

    def await_ready(self) -> None:
        poll = select.poll()
        poll.register(self.ready, select.POLLIN)
        if poll.poll(READY_IN * 1000) and os.read(self.ready, 1):
            return
        with suppress(subprocess.TimeoutExpired):
            self.child.wait(1.0)  # who closed the pipe without a word is about to end
        self.check()
        raise BenchFailed(f"{self.process} is not at work after {READY_IN:g} s: {self._said()}")

    def check(self) -> None:
        """Raises BenchFailed if it has ended by itself."""
        code = self.child.poll()
        if code is not None:
            raise BenchFailed(f"{self.process} ended with {code}: {self._said()}")

    def end(self) -> None:
        try:
            self.child.wait(STOPPED_IN)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(self.child.pid, signal.SIGKILL)
            self.child.wait()
        os.close(self.ready)

    def _said(self) -> str:
        """The end of its output and of its log."""
        said = (self.log.with_suffix(".out"), self.log)
        texts = [path.read_text(errors="replace")[-_TAIL:] for path in said if path.exists()]
        return "\n".join(texts).strip()


def pause(seconds: float) -> None:
    """Lets time pass."""
    threading.Event().wait(seconds)


def _environ(home: Path, context: str, settings: Mapping[str, str]) -> dict[str, str]:
    """The environment of a stage: nothing that is set for the real deployment reaches it."""
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
    """A port that nobody listens at, so that no other dashboard is met."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
        return port


def _sweep(home: Path) -> None:
    """Kills whatever was started with this home in its environment, children included.

    So nobody is overlooked whom an interrupt caught while he was being started.
    """
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
    except OSError:  # it has ended, or is not ours to look at
        return []


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Who is impatient and interrupts the cleaning up as well is not heard."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard = {number: signal.signal(number, signal.SIG_IGN) for number in _INTERRUPTS}
    try:
        yield
    finally:
        for number, handler in heard.items():
            signal.signal(number, handler)
