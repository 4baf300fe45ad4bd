"""Changing when a free-run process runs by itself: the trigger of the schedule of its name."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from synergy.commands.jobs import Actor
from synergy.commands.schedules import ScheduleCommands
from synergy.errors import Refused
from synergy.model.process import Deployment, FreerunProcess
from synergy.model.schedule import Schedule
from synergy.queries.schedules.listing import own_schedules
from synergy.schedule.trigger import parse
from synergy.storage.protocol import Store


def set_interval(
    store: Store,
    actions: ScheduleCommands,
    deployment: Deployment,
    process: FreerunProcess,
    trigger: str,
    actor: Actor,
    now: datetime,
    *,
    dry_run: bool = False,
) -> Schedule:
    """Has a process run by this trigger; returns its schedule.

    A schedule that is disabled stays so. One that is not there yet is made, and begins. Raises
    InvalidValue for what is no trigger, and Refused if the schedule of its name runs something
    else.
    """
    name, canonical = process.name, str(parse(trigger))
    own = own_schedules(store, [name]).get(name)
    if own is not None:
        data = {**own.definition, "trigger": canonical}
        return actions.replace(name, data, actor, now, dry_run=dry_run)
    if store.schedules.get([name]):
        raise Refused(f"schedule {name} runs something else: launch.py schedule show {name}")
    declared: Mapping[str, object] = deployment.schedules.get(name, {"name": name, "process": name})
    data = {**declared, "trigger": canonical}
    return actions.create(data, actor, now, enable=True, dry_run=dry_run)
