"""Reports of the start of a supervisor to its caller.

A detached supervisor reports through a pipe, a line of JSON for each change, until every process
either runs or has died once. A process *runs* when it has reported that it is ready (see `ready`),
or has lived for `Timing.ready_after` seconds without a report.
"""

from __future__ import annotations

import json
import os
import select
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from synergy.clock import Clock
from synergy.model.box import ObservedProcess
from synergy.supervisor import output
from synergy.supervisor.config import SupervisorConfig
from synergy.supervisor.states import SlotState
from synergy.supervisor.supervisor import Supervisor


class Outcome(Enum):
    """The result of starting a supervisor."""

    STARTED = "started"  # every process runs
    INCOMPLETE = "incomplete"  # the supervisor runs, but not every process does
    ALREADY_RUNNING = "already running"  # nothing was changed
    STOPPED = "stopped"  # it ran in the foreground, and was stopped
    REFUSED = "refused"  # the box has a supervisor on another machine
    UNREACHABLE = "unreachable"  # store or bus do not answer; nothing runs
    MISCONFIGURED = "misconfigured"  # store or bus are not set up correctly; nothing runs
    FAILED = "failed"  # it ended unexpectedly


@dataclass(frozen=True, slots=True)
class Progress:
    """A change of a slot during the start."""

    process: str
    instance: int
    state: str
    pid: int | None


@dataclass(frozen=True, slots=True)
class StartReport:
    """The result of the start; `reason` is a text for people, if useful the last lines of a log.

    `missing` are the processes that do not run yet.
    """

    outcome: Outcome
    pid: int | None = None
    reason: str = ""
    missing: tuple[Progress, ...] = ()


Watcher = Callable[[Progress], None]


class StartReporter:
    """Reports each change of a slot, and once that all slots have settled."""

    def __init__(
        self, supervisor: Supervisor, watcher: Watcher, settled: Callable[[], None]
    ) -> None:
        self._supervisor = supervisor
        self._watcher: Watcher | None = watcher
        self._settled: Callable[[], None] | None = settled
        self._reported: frozenset[Progress] = frozenset()

    def report(self) -> None:
        now = frozenset(_progress(observed) for observed in self._supervisor.view())
        for progress in sorted(now - self._reported, key=lambda p: (p.process, p.instance)):
            self._show(progress)
        self._reported = now
        if self._settled is not None and self._supervisor.is_settled:
            self._settled()
            self._settled = None

    def _show(self, progress: Progress) -> None:
        if self._watcher is None:
            return
        try:
            self._watcher(progress)
        except OSError:  # the terminal is gone
            self._watcher = None


def _progress(observed: ObservedProcess) -> Progress:
    return Progress(observed.process, observed.instance, observed.state, observed.pid)


class Pipe:
    """Writes lines of JSON to the caller; does nothing once the caller is gone."""

    def __init__(self, fd: int) -> None:
        self._fd: int | None = fd

    def began(self, pid: int) -> None:
        self._write({"pid": pid})

    def changed(self, progress: Progress) -> None:
        self._write({"slot": [progress.process, progress.instance, progress.state, progress.pid]})

    def ended(self, report: StartReport) -> None:
        self._write({"outcome": report.outcome.value, "pid": report.pid, "reason": report.reason})
        self._close()

    def settled(self) -> None:
        self._write({"settled": True})
        self._close()

    def _write(self, line: dict[str, object]) -> None:
        if self._fd is None:
            return
        try:
            os.write(self._fd, json.dumps(line).encode() + b"\n")
        except BrokenPipeError:
            self._close()

    def _close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


def follow(reader: int, config: SupervisorConfig, watcher: Watcher, timeout: float) -> StartReport:
    """The result of the start of a detached supervisor, from its reports."""
    pid: int | None = None
    slots: dict[tuple[str, int], Progress] = {}
    for line in _lines(reader, config.clock, timeout):
        match line:
            case {"outcome": str(outcome), "pid": int() | None as other, "reason": str(reason)}:
                return StartReport(Outcome(outcome), other, reason)
            case {"pid": int(pid)}:
                pass
            case {"slot": [str(process), int(instance), str(state), int() | None as leader]}:
                progress = Progress(process, instance, state, leader)
                slots[process, instance] = progress
                watcher(progress)
            case {"settled": True}:
                return _settled(pid, slots, "")
            case {"late": True}:
                return _settled(pid, slots, f"not all processes are up after {timeout:g} s")
    return StartReport(Outcome.FAILED, reason=_last_words(config.home))


def _settled(pid: int | None, slots: dict[tuple[str, int], Progress], reason: str) -> StartReport:
    up = {SlotState.RUNNING.value, SlotState.STOPPED.value}
    missing = tuple(slot for slot in slots.values() if slot.state not in up)
    outcome = Outcome.INCOMPLETE if missing or reason else Outcome.STARTED
    return StartReport(outcome, pid, reason, missing)


def _last_words(home: Path) -> str:
    logs = (home / "logs" / name for name in ("supervisor.out", "supervisor.log"))
    return "\n".join(filter(None, (output.tail(log) for log in logs)))


def _lines(reader: int, clock: Clock, timeout: float) -> Iterator[dict[str, object]]:
    """The daemon's reports until it closes the pipe; `{"late": True}` after the timeout."""
    poll = select.poll()
    poll.register(reader, select.POLLIN)
    deadline = clock.monotonic() + timeout
    rest = b""
    while poll.poll(max(0.0, deadline - clock.monotonic()) * 1000):
        data = os.read(reader, 65_536)
        if not data:
            return
        *lines, rest = (rest + data).split(b"\n")
        yield from (json.loads(line) for line in lines)
    yield {"late": True}
