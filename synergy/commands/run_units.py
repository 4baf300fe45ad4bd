"""From a run to the unit of work that carries it out, and from the unit's end to the run's.

A run whose program is a worker becomes one unit of the run's own id. It is of no job: its
timeperiod is the run's due time to the second, and several of a process may be worked on side
by side. Making the units of the same runs again finds those that are there.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial

from synergy.commands.schedule_versions import put_off
from synergy.errors import MessagingUnavailable, Refused
from synergy.lifecycle.moves import advance
from synergy.lifecycle.transitions import RunMove
from synergy.messaging.message import UnitMessage
from synergy.messaging.protocol import Bus
from synergy.model.process import FreerunProcess
from synergy.model.run_detail import RunDetail
from synergy.model.schedule import Run, RunKind, Schedule, run_id
from synergy.model.switches import is_switched_on
from synergy.model.unit_of_work import Hint, UnitOfWork, UnitState
from synergy.names import AGENT_TOPIC
from synergy.queries.schedules.listing import own_schedules
from synergy.storage.protocol import Batch, Store

KEY_DIGITS = 14  # of a run's id, hexadecimal, that make its unit's key unique


def unit_of(run: Run, now: datetime) -> UnitOfWork:
    """The unit that carries out a run whose program is a worker process."""
    timeperiod = run.due_at.astimezone(UTC).strftime("%Y%m%d%H%M%S")
    number = int(run.id[:KEY_DIGITS], 16)  # two runs that are due in one second are two units
    return UnitOfWork(
        id=run.id,
        process=run.program,
        timeperiod=timeperiod,
        generation=1,
        start_timeperiod=timeperiod,
        end_timeperiod=timeperiod,
        start_id=number,
        end_id=number,
        created_at=now,
    )


def launch_worker(
    store: Store,
    bus: Bus,
    runs: Sequence[Run],
    process: FreerunProcess,
    now: datetime,
    who: str,
    batch: Batch,
) -> list[UnitOfWork]:
    """Makes the units of these runs of a process, and tells its workers; returns the stored ones.

    To be called in the batch that launches the runs, or later, by whoever finds one that was
    launched and has no unit. Nobody is told again of a unit that was told of before: whether its
    message was lost is for the collector to find out.
    """
    units = store.units.create([unit_of(run, now) for run in runs], who)
    hints = [
        Hint(unit.id, unit.attempt)
        for unit in units
        if unit.state is UnitState.REQUESTED and unit.published_at is None
    ]
    if hints:
        messages = [UnitMessage(hint.unit, hint.attempt) for hint in hints]
        bus.publish(process.queue, messages, batch, partial(store.units.published, hints, now))
    return units


def trigger_run(
    store: Store,
    bus: Bus,
    process: FreerunProcess,
    now: datetime,
    *,
    who: str,
    why: str,
    dry_run: bool = False,
) -> Run:
    """Runs a process now, whatever else of it runs; returns the run, one of its own each time.

    It counts as a run of the schedule of the process's own name, if there is one. Raises Refused
    while the process is switched off. With `dry_run` the run is only made up.
    """
    name = process.name
    control = store.controls.all().get(name)
    if not is_switched_on(process, control):
        raise Refused(f"{name} is switched off: launch.py process on {name}")
    schedule = own_schedules(store, [name]).get(name)
    run = _run_by_hand(process, schedule, now, f"by hand, {who}" + (f": {why}" if why else ""))
    if dry_run:
        return run
    try:
        with store.batch() as batch:
            batch.after_commit(lambda: bus.notify(AGENT_TOPIC))
            store.runs.create([run], who)
            if schedule is not None:
                put_off(store, schedule, now)
            launch_worker(store, bus, [run], process, now, who, batch)
    except MessagingUnavailable:
        if not store.runs.get([run.id]):
            raise
        # It is launched, and it would be a mistake to ask again: the collector tells the worker.
    return run


def _run_by_hand(
    process: FreerunProcess, schedule: Schedule | None, now: datetime, remark: str
) -> Run:
    of = "" if schedule is None else schedule.name
    definition = schedule.definition if schedule is not None else {}
    key = RunKind.TRIGGER.key(secrets.token_hex(8))
    run = Run(
        id=run_id(of, key),
        schedule=of,
        key=key,
        due_at=now,
        version=0 if schedule is None else schedule.version,
        program=process.name,
        created_at=now,
        group=str(definition.get("group", "")),
        request={"process": process.name, "arguments": definition.get("arguments", {})},
        detail=RunDetail(cause={"remark": remark}),
    )
    return advance(run, RunMove.LAUNCH, now)
