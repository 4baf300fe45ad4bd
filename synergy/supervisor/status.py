"""The processes that run on a box, for `supervisor status`. Changes nothing."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from synergy.model.box import ObservedProcess
from synergy.model.process import Deployment
from synergy.runtime.identity import boot_id, start_time
from synergy.runtime.shared_parts import PartView, leaders
from synergy.storage.protocol import Store
from synergy.supervisor import home_lock
from synergy.supervisor.memory_report import resident

LOST = "lost"


@dataclass(frozen=True, slots=True)
class ProcessStatus:
    """One instance of a process; `rss` in bytes, 0 if it does not run.

    `state` is that of the supervisor's last report, or `lost` if the process has ended since.
    """

    name: str
    instance: int
    pid: int | None
    state: str
    since: datetime | None
    restarts: int
    rss: int


@dataclass(frozen=True, slots=True)
class SupervisorStatus:
    """A box, whether its supervisor runs here (`pid`), and its processes.

    `leaders` are the schedulers that lead the trees and the collector, on any box.
    """

    box: str
    running: bool
    pid: int | None
    processes: tuple[ProcessStatus, ...]
    leaders: tuple[PartView, ...] = ()


def status(home: Path, store: Store, box: str, deployment: Deployment) -> SupervisorStatus:
    """The supervisor's last report, compared with the running processes.

    Raises StorageUnavailable. The processes of another machine are shown as reported.
    """
    running = home_lock.holder(home)
    if home_lock.holder_box(home) not in {"", box}:
        running = None  # the supervisor of another box
    processes = tuple(_process(observed) for observed in store.boxes.observed(box))
    return SupervisorStatus(
        box=box,
        running=running is not None,
        pid=running.pid if running is not None else None,
        processes=tuple(sorted(processes, key=lambda p: (p.name, p.instance))),
        leaders=tuple(leaders(store, deployment)),
    )


def _process(observed: ObservedProcess) -> ProcessStatus:
    is_here = observed.boot_id in {"", boot_id()}
    is_alive = is_here and observed.pid is not None and start_time(observed.pid) == observed.started
    is_lost = is_here and observed.pid is not None and not is_alive
    return ProcessStatus(
        name=observed.process,
        instance=observed.instance,
        pid=None if is_lost else observed.pid,
        state=LOST if is_lost else observed.state,
        since=observed.since,
        restarts=observed.restarts,
        rss=resident(observed.pid) if is_alive and observed.pid is not None else 0,
    )
