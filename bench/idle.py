"""The CPU time and memory of the default deployment without work."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bench import procfs
from bench.figures import BenchFailed, Figure
from bench.machine import MIB
from bench.stage import Lab, Stage, pause
from bench.start import stopped
from synergy.clock import SystemClock
from synergy.runtime.identity import start_time
from synergy.supervisor.proctable import Entry, family, read_table
from synergy.supervisor.status import status

CONTEXT = "context"  # the default deployment
QUIET = 5.0  # seconds without a change, after which the deployment is at rest
TIMEOUT = 300.0
_STEP = 1.0

_clock = SystemClock()


def measure(lab: Lab, size: int) -> list[Figure]:
    """CPU over `size` seconds, then memory, in all and for each process."""
    with lab.stage(CONTEXT) as stage:
        stage.command("supervisor", "start")
        _come_to_rest(stage)
        usages = _watch(stage, size)
        stopped(stage)
        left = [usage.entry.pid for usage in usages if _is_alive(usage.entry)]
        if left:
            raise BenchFailed(f"processes are left after the stop: {left}")
    cpu, pss = (sum(column) for column in zip(*((u.cpu, u.pss) for u in usages), strict=True))
    return [
        Figure("CPU of one core, all processes", cpu, "%", at_most=3),
        Figure("memory (PSS), all processes", pss, "MiB", at_most=250),
        Figure("processes", len(usages), ""),
        *(Figure(f"CPU of {usage.name}", usage.cpu, "%") for usage in usages),
        *(Figure(f"memory (PSS) of {usage.name}", usage.pss, "MiB") for usage in usages),
    ]


@dataclass(frozen=True, slots=True)
class _Usage:
    """The usage of a process: per cent of one core, and MiB."""

    name: str
    entry: Entry
    cpu: float
    pss: float


def _come_to_rest(stage: Stage) -> None:
    """Waits until no work is left and the journal has not changed for a while."""
    seq, since = -1, _clock.monotonic()

    def is_at_rest() -> bool:
        nonlocal seq, since
        now = _clock.monotonic()
        last, busy = (
            stage.store.journal.last_seq(),
            stage.bus.depths() or stage.store.units.counts(),
        )
        if busy or last != seq:
            seq, since = last, now
        return now - since >= QUIET

    stage.until(is_at_rest, "coming to rest", TIMEOUT, every=_STEP)


def _watch(stage: Stage, seconds: int) -> list[_Usage]:
    names = _names(stage)
    supervisor = next(pid for pid, name in names.items() if name == "supervisor")
    before = {
        entry: procfs.scheduled_seconds(entry.pid)
        for entry in family(read_table(), lambda entry: entry.pid == supervisor)
    }
    began = _clock.monotonic()
    for second in range(seconds):
        stage.tell(second, seconds)
        pause(_STEP)
    elapsed = _clock.monotonic() - began
    return sorted(
        (
            _Usage(
                names.get(entry.pid) or _comm(entry.pid),
                entry,
                (procfs.scheduled_seconds(entry.pid) - cpu) / elapsed * 100,
                procfs.pss_bytes(entry.pid) / MIB,
            )
            for entry, cpu in before.items()
        ),
        key=lambda usage: usage.name,
    )


def _names(stage: Stage) -> dict[int, str]:
    found = status(stage.home, stage.store, stage.project.settings.box_id, stage.project.deployment)
    if found.pid is None:
        raise BenchFailed("no supervisor is running")
    slots = {
        process.pid: process.name if process.instance == 1 else f"{process.name}/{process.instance}"
        for process in found.processes
        if process.pid is not None
    }
    return {found.pid: "supervisor", **slots}


def _comm(pid: int) -> str:
    return Path(f"/proc/{pid}/comm").read_text().strip()


def _is_alive(entry: Entry) -> bool:
    return start_time(entry.pid) == entry.started
