"""Takes an older deployment over into the store of this one, which must not be in use.

Everything is read and checked before anything is written. Only what the store does not know is
written, so that a repeated or interrupted takeover does no harm.
"""

from __future__ import annotations

import re
from datetime import datetime

from synergy.commands.older.reading import KNOWN, TAKEN, Older, Read, TakenOver, older
from synergy.commands.older.records import OlderProcess, OlderSwitch
from synergy.commands.older.timetable import TimetableTakeover
from synergy.commands.schedules import ScheduleCommands
from synergy.model.actor import Actor
from synergy.model.process import Deployment, FreerunProcess, ManagedProcess
from synergy.model.switches import is_switched_on
from synergy.schedule.trigger import parse
from synergy.storage.protocol import Store

_UNNAMEABLE = re.compile(r"[^A-Za-z0-9_.-]", re.ASCII)


class Takeover:
    """Takes over what `read` returns; `schedules` stores the entries of free-run processes."""

    def __init__(
        self, store: Store, deployment: Deployment, schedules: ScheduleCommands, actor: Actor
    ) -> None:
        self._store = store
        self._deployment = deployment
        self._schedules = schedules
        self._actor = actor
        self._result = TakenOver()

    def carry_out(
        self, read: Read, now: datetime, first_hour: str | None = None, *, dry_run: bool = False
    ) -> TakenOver:
        """Takes everything over; raises InvalidDocuments before anything is written.

        `first_hour` is that of the timetable if the store has none; by default it follows from the
        jobs.
        """
        found = older(read)
        new = self._new_schedules(found)
        self._schedules.create_all(new, self._actor, now, dry_run=True)  # raises InvalidDefinition
        timetable = TimetableTakeover(
            self._store, self._deployment, found, self._result, self._actor
        )
        timetable.carry_out(first_hour, now, dry_run=dry_run)
        self._take_switches(found, now, dry_run=dry_run)
        self._take_processes(found, now, dry_run=dry_run)
        if not dry_run:
            self._schedules.create_all(new, self._actor, now)
        return self._result

    def _take_switches(self, found: Older, now: datetime, *, dry_run: bool) -> None:
        known = {(each.box, each.process) for each in self._store.boxes.assignments()}
        for switch in found.switches:
            if switch.process not in self._deployment.processes:
                self._result.count_unknown("switches", switch.process)
            elif (switch.box, switch.process) in known:
                self._result.count("switches", KNOWN)
            else:
                self._result.count("switches", TAKEN)
                if not dry_run:
                    self._switch(switch, now)

    def _switch(self, switch: OlderSwitch, now: datetime) -> None:
        who, why = self._actor.who, self._actor.why
        with self._store.batch():
            self._store.boxes.assign(switch.box, [switch.process])
            if not switch.is_on:
                self._store.boxes.switch(switch.box, switch.process, False, who, now, why)

    def _take_processes(self, found: Older, now: datetime, *, dry_run: bool) -> None:
        """Sets the switches and triggers that differ from the declared ones."""
        known, managed = self._store.controls.all(), self._deployment.managed()
        for older_ in found.processes:
            process = managed.get(older_.name)
            if process is None:
                self._result.count_unknown("processes", older_.name)
            elif older_.name in known:
                self._result.count("processes", KNOWN)
            elif _is_as_declared(older_, process):
                self._result.count("processes", "as declared")
            else:
                self._result.count("processes", TAKEN)
                if not dry_run:
                    self._control(older_, process, now)

    def _control(self, older_: OlderProcess, process: ManagedProcess, now: datetime) -> None:
        controls, who, why = self._store.controls, self._actor.who, self._actor.why
        trigger = _trigger(older_, process)
        with self._store.batch():
            if older_.is_on is not is_switched_on(process, None):
                controls.set_on(older_.name, older_.is_on, who, why, now)
            if trigger != process.trigger_frequency:
                controls.set_trigger(older_.name, trigger, who, why, now)

    def _new_schedules(self, found: Older) -> list[dict[str, object]]:
        """The fields of schedules for the entries that have none yet."""
        new = []
        for entry in found.entries:
            name = _UNNAMEABLE.sub("-", f"{entry.process}.{entry.name}")[:100]
            if not isinstance(self._deployment.processes.get(entry.process), FreerunProcess):
                self._result.count_unknown("schedules", entry.process)
            elif self._store.schedules.get([name]):
                self._result.count("schedules", KNOWN)
            else:
                self._result.count("schedules", TAKEN)
                new.append(
                    {
                        "name": name,
                        "process": entry.process,
                        "arguments": entry.arguments,
                        "trigger": entry.trigger,
                        "enabled": entry.is_on,
                    }
                )
        return new


def _is_as_declared(older_: OlderProcess, process: ManagedProcess) -> bool:
    is_on = is_switched_on(process, None)
    return older_.is_on is is_on and _trigger(older_, process) == process.trigger_frequency


def _trigger(older_: OlderProcess, process: ManagedProcess) -> str:
    return str(parse(older_.trigger)) if older_.trigger else process.trigger_frequency
