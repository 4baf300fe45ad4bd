"""What commands work with: the project, its store and bus, and who sits there.

Looking makes nothing: where there is no store yet, a command says so and ends. What a command asks
of the desk is imported then, so that each imports only what it needs.
"""

from __future__ import annotations

import getpass
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from synergy import compose
from synergy.compose import Project
from synergy.errors import NotFound, Refused, Unreachable
from synergy.model.process import FreerunProcess, ManagedProcess, WorkingProcess

if TYPE_CHECKING:
    from synergy.commands.audits import Progress
    from synergy.commands.bulk import Bulk
    from synergy.commands.maintenance import Maintenance
    from synergy.commands.processes import ProcessCommands
    from synergy.commands.timetable import TimetableCommands
    from synergy.commands.units import UnitCommands
    from synergy.messaging.protocol import Bus
    from synergy.model.actor import Actor
    from synergy.queries.reads import Reads
    from synergy.queries.timetable.audit import Audit
    from synergy.storage.protocol import Store

START = "launch.py supervisor start"


@dataclass(frozen=True, slots=True)
class Services:
    """An open project."""

    project: Project
    store: Store
    bus: Bus

    @property
    def now(self) -> datetime:
        return self.project.settings.clock.now()

    @property
    def reads(self) -> Reads:
        from synergy.queries.reads import Reads

        return Reads(self.store, self.bus, self.project.deployment, self.project.settings.clock)

    @property
    def unit_commands(self) -> UnitCommands:
        from synergy.commands.units import UnitCommands

        return UnitCommands(self.store, self.bus, self.project.deployment)

    @property
    def timetable_commands(self) -> TimetableCommands:
        from synergy.commands.timetable import TimetableCommands

        return TimetableCommands(self.store, self.bus, self.project.deployment)

    @property
    def bulk(self) -> Bulk:
        from synergy.commands.bulk import Bulk

        return Bulk(self.store, self.bus, self.project.deployment, self.reads.timetable)

    @property
    def maintenance(self) -> Maintenance:
        from synergy.commands.maintenance import Maintenance

        return Maintenance(self.store, self.bus, self.project.deployment)

    @property
    def process_commands(self) -> ProcessCommands:
        from synergy.commands.processes import ProcessCommands

        return ProcessCommands(self.store, self.bus, self.project.deployment)

    def audit(self, progress: Progress) -> Audit:
        """Accounts for every closed period, and stores the result, which verdicts use."""
        from synergy.commands.audits import audited

        return audited(self.store, self.reads.audit, self.project.settings.clock, progress)

    def managed(self, name: str) -> ManagedProcess:
        """A process of the timetable; raises NotFound."""
        found = self.project.process(name)
        if not isinstance(found, ManagedProcess):
            kind = "free-run process" if isinstance(found, FreerunProcess) else "daemon"
            raise NotFound("managed process", name, f"it is a {kind}, which has no timetable")
        return found

    def working(self, name: str) -> WorkingProcess:
        """A process that carries out units, of jobs or of runs; raises NotFound."""
        found = self.project.process(name)
        if not isinstance(found, WorkingProcess):
            raise NotFound("managed or free-run process", name, "it is a daemon: it has no units")
        return found


@contextmanager
def services() -> Iterator[Services]:
    """Opens store and bus; raises Unreachable, and makes nothing, where there is no store."""
    project = compose.open_project()
    if not compose.has_store(project.settings):
        raise Unreachable(f"there is no store yet: {START} makes one (or launch.py store init)")
    store = compose.open_store(project.settings)
    try:
        bus = compose.open_bus(project, store)
        try:
            yield Services(project, store, bus)
        finally:
            bus.close()
    finally:
        store.close()


def actor(reason: str = "") -> Actor:
    """Who asks, by the login of the operating system, and why."""
    from synergy.model.actor import Actor

    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = str(os.getuid())
    return Actor(f"{user}@{socket.gethostname()}", reason)


def confirm(question: str, word: str, *, is_sure: bool) -> None:
    """Has the person type `word`; raises Refused for anything else, and where nobody can."""
    if is_sure:
        return
    if not sys.stdin.isatty():
        raise Refused(f"{question} Nobody is there to ask: add --yes to do it")
    sys.stderr.write(f"{question} Type {word} to do it: ")
    sys.stderr.flush()
    if sys.stdin.readline().strip() != word:
        raise Refused("nothing was done")
