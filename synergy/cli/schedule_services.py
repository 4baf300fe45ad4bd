"""The open project that commands about schedules work with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from synergy.cli import output
from synergy.cli.services import START, Services, services

if TYPE_CHECKING:
    from synergy.commands.schedules import ScheduleCommands
    from synergy.model.schedule import Schedule
    from synergy.queries.schedules.reads import ScheduleReads

NO_AGENT = "no agent is at work, so nothing is triggered or sent"


@dataclass(frozen=True, slots=True)
class ScheduleServices:
    """An open project, with the queries and commands of its schedules."""

    services: Services

    @property
    def now(self) -> datetime:
        return self.services.now

    @property
    def reads(self) -> ScheduleReads:
        from synergy.queries.schedules.reads import ScheduleReads

        project = self.services.project
        return ScheduleReads(self.services.store, project.deployment, project.settings.clock)

    @property
    def commands(self) -> ScheduleCommands:
        from synergy.commands.schedules import ScheduleCommands

        store, bus, project = self.services.store, self.services.bus, self.services.project
        return ScheduleCommands(store, bus, project.deployment, project.settings.webhook_networks)


@contextmanager
def schedule_services() -> Iterator[ScheduleServices]:
    """Opens store and bus; raises Unreachable, and creates nothing, if there is no store."""
    with services() as at:
        yield ScheduleServices(at)


def note_if_no_agent(at: ScheduleServices) -> None:
    """Prints a note if no agent is at work, as far as this machine can tell."""
    from synergy.runtime.leaders import DECIDER, is_lease_led

    if not is_lease_led(at.services.store, DECIDER):
        output.note(f"{NO_AGENT}: {START}, or launch.py box start Agent")


def note_if_run_nowhere(at: ScheduleServices, schedules: Sequence[Schedule]) -> None:
    """Names the processes of these schedules that run on no known box."""
    from synergy.commands.store_usage import run_nowhere

    programs = {one.process for one in schedules if one.process is not None}
    for process in run_nowhere(at.services.store, programs) if programs else ():
        output.note(
            f"no box that ever reported runs {process}, so its runs will wait: launch.py process "
            f"show {process}; launch.py supervisor restart has a box read context.py again"
        )
