"""Asking for something of a process, of whatever kind: on, off, when it runs, run now.

What is asked of a managed process concerns its jobs, of a free-run process its runs, and of a
daemon whether its supervisors keep it running.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from synergy.commands.jobs import Actor, JobCommands
from synergy.commands.maintenance import Maintenance
from synergy.commands.process_interval import set_interval
from synergy.commands.run_units import trigger_run
from synergy.commands.schedules import ScheduleCommands
from synergy.errors import NotFound
from synergy.messaging.protocol import Bus
from synergy.model.process import Deployment, FreerunProcess, Process, WorkingProcess
from synergy.model.switches import is_switched_on
from synergy.queries.processes.states import trigger_of
from synergy.queries.schedules.listing import own_schedules
from synergy.runtime.leaders import is_process_led
from synergy.schedule.trigger import parse
from synergy.storage.protocol import Store

START = "launch.py supervisor start"


@dataclass(frozen=True, slots=True)
class ProcessChange:
    """What becomes of a process: `what` is `is_on` or `trigger_frequency`.

    `remark` says what the person should know besides, "" for nothing.
    """

    process: str
    what: str
    before: bool | str | None
    after: bool | str
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Triggered:
    """A process that looks at its jobs now, or, with a `run`, runs now. `run` is its id.

    In a dry run there is none yet.
    """

    process: str
    run: str | None
    remark: str = ""


class ProcessCommands:
    """What may be asked of processes."""

    def __init__(self, store: Store, bus: Bus, deployment: Deployment) -> None:
        self._store = store
        self._bus = bus
        self._deployment = deployment
        self._actions = JobCommands(store, bus, deployment)
        self._upkeep = Maintenance(store, bus, deployment)
        self._schedules = ScheduleCommands(store, bus, deployment)

    def switch(
        self, name: str, is_on: bool, actor: Actor, now: datetime, *, dry_run: bool = False
    ) -> ProcessChange | None:
        """Switches a process on or off everywhere; None if it is so already. Raises NotFound."""
        process = self._process(name)
        was_on = is_switched_on(process, self._store.controls.all().get(name))
        if was_on is is_on:
            return None
        if not dry_run:
            act = (
                self._actions.switch_process
                if isinstance(process, WorkingProcess)
                else self._upkeep.switch_daemon
            )
            act(name, is_on, actor, now)
        return ProcessChange(name, "is_on", was_on, is_on)

    def set_trigger(
        self, name: str, trigger: str, actor: Actor, now: datetime, *, dry_run: bool = False
    ) -> ProcessChange | None:
        """Changes when a process looks at its jobs, or runs, by itself; None if it is so already.

        Raises NotFound, for daemons as well, and InvalidValue for what is no trigger.
        """
        process, after = self._working(name), str(parse(trigger))
        schedule = own_schedules(self._store, [name]).get(name)
        before = trigger_of(process, self._store.controls.all().get(name), schedule)
        if after == before:
            return None
        remark = ""
        if isinstance(process, FreerunProcess):
            schedule = set_interval(
                self._store, self._schedules, self._deployment, process, after, actor, now,
                dry_run=dry_run,
            )  # fmt: skip
            if not schedule.is_enabled:
                remark = (
                    "its schedule is disabled, so it does not run by itself: "
                    f"launch.py schedule enable {name}"
                )
        elif not dry_run:
            self._actions.set_trigger(name, after, actor, now)
        return ProcessChange(name, "trigger_frequency", before, after, remark)

    def trigger(
        self, name: str, actor: Actor, now: datetime, *, dry_run: bool = False
    ) -> Triggered:
        """Has a managed process look at its jobs now; runs a free-run process now.

        Raises NotFound, for daemons as well, and Refused for what cannot run now.
        """
        process = self._working(name)
        if isinstance(process, FreerunProcess):
            run = trigger_run(
                self._store, self._bus, process, now, who=actor.who, why=actor.why, dry_run=dry_run
            )
            return Triggered(name, None if dry_run else run.id)
        remark = ""
        if not is_process_led(self._store, self._deployment, name):
            remark = (
                f"no scheduler leads the tree of {name}: one that does looks at everything "
                f"({START})"
            )
        if not dry_run:
            self._actions.trigger(name, actor, now)
        return Triggered(name, None, remark)

    def _process(self, name: str) -> Process:
        found = self._deployment.processes.get(name)
        if found is None:
            raise NotFound("process", name, f"there are: {', '.join(self._deployment.processes)}")
        return found

    def _working(self, name: str) -> WorkingProcess:
        found = self._process(name)
        if not isinstance(found, WorkingProcess):
            raise NotFound("managed or free-run process", name, "it is a daemon: it has no units")
        return found
