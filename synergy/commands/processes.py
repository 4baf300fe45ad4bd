"""Commands about processes: switch on or off, set the trigger, trigger now.

They concern the jobs of a managed process, and the runs of a free-run process. A daemon can only be
switched: supervisors do not run it while it is off.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from synergy.commands.schedules import ScheduleCommands
from synergy.errors import Refused
from synergy.messaging.protocol import Bus
from synergy.model import journal
from synergy.model.actor import Actor
from synergy.model.process import Deployment, FreerunProcess, Process, WorkingProcess
from synergy.model.schedule import Schedule
from synergy.model.switches import is_switched_on
from synergy.names import AGENT_TOPIC, SCHEDULER_TOPIC, SUPERVISOR_TOPIC
from synergy.program import PROGRAM
from synergy.queries.processes.states import trigger_of
from synergy.queries.schedules.listing import own_schedules
from synergy.runtime.shared_parts import is_process_led
from synergy.schedule.trigger import parse
from synergy.storage.protocol import Batch, Store

START = f"{PROGRAM} supervisor start"


@dataclass(frozen=True, slots=True)
class ProcessChange:
    """A change of a process; `what` is `is_on` or `trigger_frequency`.

    `remark` is something else that the operator should know, "" for nothing.
    """

    process: str
    what: str
    before: bool | str | None
    after: bool | str
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Triggered:
    """A managed process whose jobs are checked now, or a free-run process that runs now.

    `run` is the id of the run; None for a managed process and in a dry run.
    """

    process: str
    run: str | None
    remark: str = ""


class ProcessCommands:
    """Changes processes; raises NotFound for a process that is not declared."""

    def __init__(self, store: Store, bus: Bus, deployment: Deployment) -> None:
        self._store = store
        self._bus = bus
        self._deployment = deployment
        self._schedules = ScheduleCommands(store, bus, deployment)

    def switch(
        self, name: str, is_on: bool, actor: Actor, now: datetime, *, dry_run: bool = False
    ) -> ProcessChange | None:
        """Switches a process on or off everywhere; None if nothing changes.

        Units and runs that are being carried out continue.
        """
        process = self._deployment.process(name)
        was_on = is_switched_on(process, self._store.controls.all().get(name))
        if was_on is is_on:
            return None
        if not dry_run:
            with self._store.batch() as batch:
                self._store.controls.set_on(name, is_on, actor.who, actor.why, now)
                self._wake_for(process, batch)
        return ProcessChange(name, "is_on", was_on, is_on)

    def set_trigger(
        self, name: str, trigger: str, actor: Actor, now: datetime, *, dry_run: bool = False
    ) -> ProcessChange | None:
        """Sets the trigger of a process; None if nothing changes.

        Raises NotFound also for daemons, InvalidValue for an invalid trigger, and Refused if a
        schedule of the same name runs something else.
        """
        process, after = self._deployment.working(name), str(parse(trigger))
        schedule = own_schedules(self._store, [name]).get(name)
        before = trigger_of(process, self._store.controls.all().get(name), schedule)
        if after == before:
            return None
        remark = ""
        if isinstance(process, FreerunProcess):
            changed = self._set_schedule(schedule, name, after, actor, now, dry_run=dry_run)
            if not changed.is_enabled:
                remark = (
                    "its schedule is disabled, so it does not run by itself: "
                    f"{PROGRAM} schedule enable {name}"
                )
        elif not dry_run:
            with self._store.batch() as batch:
                self._store.controls.set_trigger(name, after, actor.who, actor.why, now)
                self._wake_for(process, batch)
        return ProcessChange(name, "trigger_frequency", before, after, remark)

    def trigger(
        self, name: str, actor: Actor, now: datetime, *, dry_run: bool = False
    ) -> Triggered:
        """Has the jobs of a managed process checked now; runs a free-run process now.

        Raises NotFound also for daemons, and Refused for a process that cannot run now.
        """
        process = self._deployment.working(name)
        if isinstance(process, FreerunProcess):
            run = self._schedules.trigger_process(process, actor, now, dry_run=dry_run)
            return Triggered(name, None if dry_run else run.id)
        remark = ""
        if not is_process_led(self._store, self._deployment, name):
            remark = (
                f"no scheduler leads the tree of {name}; the next one that starts checks all jobs "
                f"({START})"
            )
        if not dry_run:
            with self._store.batch() as batch:
                entry = journal.look_requested(name, actor.who, actor.why, now)
                self._store.journal.append([entry])
                self._wake_for(process, batch)
        return Triggered(name, None, remark)

    def _set_schedule(
        self,
        own: Schedule | None,
        name: str,
        trigger: str,
        actor: Actor,
        now: datetime,
        *,
        dry_run: bool,
    ) -> Schedule:
        """Changes the trigger of a free-run process's own schedule; creates it, if missing.

        A disabled schedule stays disabled. Raises Refused if the schedule of the process's name
        runs something else.
        """
        if own is not None:
            data = {**own.definition, "trigger": trigger}
            return self._schedules.replace(name, data, actor, now, dry_run=dry_run)
        if self._store.schedules.get([name]):
            raise Refused(f"schedule {name} runs something else: {PROGRAM} schedule show {name}")
        declared: Mapping[str, object] = self._deployment.schedules.get(
            name, {"name": name, "process": name}
        )
        data = {**declared, "trigger": trigger}
        return self._schedules.create(data, actor, now, enable=True, dry_run=dry_run)

    def _wake_for(self, process: Process, batch: Batch) -> None:
        """Wakes the services that act on a change of the process, after the commit."""
        is_working = isinstance(process, WorkingProcess)
        for topic in (SCHEDULER_TOPIC, AGENT_TOPIC) if is_working else (SUPERVISOR_TOPIC,):
            batch.after_commit(partial(self._bus.notify, topic))
