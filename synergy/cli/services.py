"""The open project that commands work with: its store, its bus, and the queries and commands on it.

Nothing is imported, opened or created before it is used: `-h` answers at once, and a command
that reads does not create a store.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from synergy.errors import NotFound, Refused, Unreachable
from synergy.program import PROGRAM

if TYPE_CHECKING:
    from synergy.commands.audits import Progress
    from synergy.commands.bulk import Bulk
    from synergy.commands.maintenance import Maintenance
    from synergy.commands.processes import ProcessCommands
    from synergy.commands.schedules import ScheduleCommands
    from synergy.commands.timetable import TimetableCommands
    from synergy.commands.units import UnitCommands
    from synergy.compose import Project
    from synergy.messaging.protocol import Bus
    from synergy.model.actor import Actor
    from synergy.model.process import ManagedProcess, WorkingProcess
    from synergy.model.time_range import TimeRange
    from synergy.queries.reads import Reads
    from synergy.queries.schedules.reads import ScheduleReads
    from synergy.queries.timetable.audit import Audit
    from synergy.storage.protocol import Store

START = f"{PROGRAM} supervisor start"


@dataclass(frozen=True, slots=True)
class Services:
    """An open project, with its queries and commands."""

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
    def schedule_reads(self) -> ScheduleReads:
        from synergy.queries.schedules.reads import ScheduleReads

        return ScheduleReads(self.store, self.project.deployment, self.project.settings.clock)

    @property
    def schedule_commands(self) -> ScheduleCommands:
        from synergy.commands.schedules import ScheduleCommands
        from synergy.delivery.addresses import AddressRules

        settings = self.project.settings
        rules = AddressRules(settings.webhook_networks, settings.webhook_plaintext)
        return ScheduleCommands(self.store, self.bus, self.project.deployment, rules)

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
        """Accounts for every closed period; stores the result for verdicts."""
        from synergy.cli import output
        from synergy.commands.audits import audited

        clock = self.project.settings.clock
        return audited(self.store, self.reads.audit, clock, progress, output.warn)

    def managed(self, name: str) -> ManagedProcess:
        """A process of the timetable; raises NotFound."""
        from synergy.model.process import FreerunProcess, ManagedProcess

        found = self.project.process(name)
        if not isinstance(found, ManagedProcess):
            kind = "free-run process" if isinstance(found, FreerunProcess) else "daemon"
            raise NotFound("managed process", name, f"it is a {kind}, which has no timetable")
        return found

    def working(self, name: str) -> WorkingProcess:
        """A process that carries out units of work; raises NotFound."""
        return self.project.deployment.working(self.project.process(name).name)


@contextmanager
def services() -> Iterator[Services]:
    """Opens store and bus; raises Unreachable, and creates nothing, if there is no store."""
    from synergy import compose

    project = compose.open_project()
    if not compose.has_store(project.settings):
        raise Unreachable(f"there is no store yet: {START} makes one (or {PROGRAM} store init)")
    with (
        closing(compose.open_store(project.settings)) as store,
        closing(compose.open_bus(project, store)) as bus,
    ):
        yield Services(project, store, bus)


def times(arguments: argparse.Namespace, at: Services) -> TimeRange:
    """The range of time that `options.TIMES` give; raises InvalidValue."""
    from synergy.queries.written_times import parse_times

    return parse_times(arguments.begin, arguments.end, arguments.zone, at.now)


def actor(reason: str = "") -> Actor:
    """The user of the operating system, on this host, with the reason given."""
    import getpass
    import socket

    from synergy.model.actor import Actor

    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = str(os.getuid())
    return Actor(f"{user}@{socket.gethostname()}", reason)


def confirm(question: str, word: str, *, is_sure: bool) -> None:
    """Asks the person to type `word`; raises Refused without a terminal or for another word."""
    if is_sure:
        return
    if not sys.stdin.isatty():
        raise Refused(f"{question} There is no terminal to ask on: add --yes to do it")
    from synergy.visible_text import visible

    sys.stderr.write(visible(f"{question} Type {word} to do it: "))
    sys.stderr.flush()
    if sys.stdin.readline().strip() != word:
        raise Refused("nothing was done")
