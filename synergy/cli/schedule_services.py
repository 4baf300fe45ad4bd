"""What commands about schedules work with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from synergy.cli import output
from synergy.cli.services import START, Services, services
from synergy.commands.schedules import ScheduleCommands
from synergy.commands.store_usage import run_nowhere
from synergy.model.schedule import Schedule
from synergy.queries.schedules.reads import ScheduleReads
from synergy.runtime import identity
from synergy.runtime.leaders import DECIDER

AWAY = "no agent is at work, so nothing is due, and nothing sent, until one is"


@dataclass(frozen=True, slots=True)
class ScheduleServices:
    """An open project, from the side of its schedules."""

    services: Services

    @property
    def now(self) -> datetime:
        return self.services.now

    @property
    def reads(self) -> ScheduleReads:
        project = self.services.project
        return ScheduleReads(self.services.store, project.deployment, project.settings.clock)

    @property
    def commands(self) -> ScheduleCommands:
        project = self.services.project
        networks = project.settings.webhook_networks
        return ScheduleCommands(
            self.services.store, self.services.bus, project.deployment, networks
        )


@contextmanager
def schedule_services() -> Iterator[ScheduleServices]:
    """Opens store and bus; raises Unreachable, and makes nothing, where there is no store."""
    with services() as at:
        yield ScheduleServices(at)


def note_if_nobody_decides(at: ScheduleServices) -> None:
    """Says so, beside the result, where no agent is at work as far as can be seen from here."""
    lease = at.services.store.leases.read(DECIDER)
    holder = None if lease is None else identity.parse(lease.holder)
    if lease is None or lease.released or (holder is not None and holder.is_provably_dead):
        output.note(f"{AWAY}: {START}, or launch.py box start Agent")


def note_if_run_nowhere(at: ScheduleServices, schedules: Sequence[Schedule]) -> None:
    """Names the worker programs of these whose runs would wait for a box that carries them out."""
    programs = {str(one.definition["process"]) for one in schedules if "process" in one.definition}
    for process in run_nowhere(at.services.store, programs) if programs else ():
        output.note(
            f"no box that ever reported runs {process}, so its runs will wait: launch.py process "
            f"show {process}; launch.py supervisor restart has a box read context.py again"
        )
