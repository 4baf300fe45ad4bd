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
    STOPPED = "stopped"  # it was stopped: in the foreground, or before all processes had started
    REFUSED = "refused"  # another supervisor has this box id, or the store may not be opened
    UNREACHABLE = "unreachable"  # store or bus do not answer; nothing was started
    MISCONFIGURED = "misconfigured"  # store or bus are not set up correctly; nothing was started
    FAILED = "failed"  # it ended unexpectedly


@dataclass(frozen=True, slots=True)
class SlotReport:
    """The state of a slot, as reported during the start."""

    process: str
    instance: int
    state: str
    pid: int | None


@dataclass(frozen=True, slots=True)
class StartReport:
    """The result of the start; `reason` explains it, for FAILED usually by the last lines of logs.

    `missing` are the processes that do not run yet.
    """

    outcome: Outcome
    pid: int | None = None
    reason: str = ""
    missing: tuple[SlotReport, ...] = ()


Watcher = Callable[[SlotReport], None]


class StartReporter:
    """Reports each change of a slot, and the moment at which all slots have settled."""

    def __init__(
        self, supervisor: Supervisor, watcher: Watcher, settled: Callable[[], None]
    ) -> None:
        self._supervisor = supervisor
        self._watcher: Watcher | None = watcher
        self._settled: Callable[[], None] | None = settled
        self._reported: frozenset[SlotReport] = frozenset()

    def report(self) -> None:
        now = frozenset(_progress(observed) for observed in self._supervisor.view())
        for progress in sorted(now - self._reported, key=lambda p: (p.process, p.instance)):
            self._show(progress)
        self._reported = now
        if self._settled is not None and self._supervisor.is_settled:
            self._settled()
            self._settled = None

    def _show(self, progress: SlotReport) -> None:
        if self._watcher is None:
            return
        try:
            self._watcher(progress)
        except OSError:  # the terminal is gone
            self._watcher = None


def _progress(observed: ObservedProcess) -> SlotReport:
    return SlotReport(observed.process, observed.instance, observed.state, observed.pid)


class Pipe:
    """Writes lines of JSON to the caller; does nothing once the caller is gone."""

    def __init__(self, fd: int) -> None:
        self._fd: int | None = fd

    def began(self, pid: int) -> None:
        self._write({"pid": pid})

    def changed(self, progress: SlotReport) -> None:
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
    slots: dict[tuple[str, int], SlotReport] = {}
    for line in _lines(reader, config.clock, timeout):
        match line:
            case {"outcome": str(outcome), "pid": int() | None as ended, "reason": str(reason)}:
                return StartReport(Outcome(outcome), ended, reason)
            case {"pid": int(pid)}:
                pass
            case {"slot": [str(process), int(instance), str(state), int() | None as slot_pid]}:
                progress = SlotReport(process, instance, state, slot_pid)
                slots[process, instance] = progress
                watcher(progress)
            case {"settled": True}:
                return _settled(pid, slots, "")
            case {"late": True}:
                return _settled(pid, slots, f"not all processes are up after {timeout:g} s")
    return StartReport(Outcome.FAILED, reason=_log_tails(config.home))


def _settled(pid: int | None, slots: dict[tuple[str, int], SlotReport], reason: str) -> StartReport:
    as_intended = {SlotState.RUNNING.value, SlotState.STOPPED.value}
    missing = tuple(slot for slot in slots.values() if slot.state not in as_intended)
    outcome = Outcome.INCOMPLETE if missing or reason else Outcome.STARTED
    return StartReport(outcome, pid, reason, missing)


def _log_tails(home: Path) -> str:
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
