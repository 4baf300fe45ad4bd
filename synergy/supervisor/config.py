"""The configuration of a supervisor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from synergy.clock import Clock, SystemClock
from synergy.messaging.protocol import Bus
from synergy.model.process import Deployment
from synergy.storage.protocol import Store
from synergy.supervisor.fork_client import ForkServer
from synergy.supervisor.plan import Timing


@dataclass(frozen=True, slots=True, kw_only=True)
class SupervisorConfig:
    """The configuration; it holds no open connection or file.

    `command(process, instance)` is what to run for a slot, in `directory`; `fork_server` is the
    command of a server that forks such processes, () for none, and `server` one that runs already.
    `program` is the command of a detached supervisor, which gets the file for its reports as
    another argument; with (), the supervisor is a copy of its caller. `connect` opens store and
    bus, and `open_logs` the log, both in the process that will supervise. `read_again` returns the
    deployment that `context.py` declares now; it raises ConfigurationError. The clock measures
    waits, so it must be one that moves.
    """

    box: str
    home: Path
    directory: Path
    deployment: Deployment
    command: Callable[[str, int], Sequence[str]]
    connect: Callable[[], tuple[Store, Bus]]
    open_logs: Callable[[], object]
    read_again: Callable[[], Deployment]
    fork_server: Sequence[str] = ()
    server: ForkServer | None = None
    program: Sequence[str] = ()
    clock: Clock = field(default_factory=SystemClock)
    timing: Timing = field(default_factory=Timing)
