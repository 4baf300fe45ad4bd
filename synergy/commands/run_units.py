"""The units of work that carry out runs.

A run whose program is a worker gets one unit, with the run's own id. The unit belongs to no job:
its timeperiod is the run's due time to the second, and several units of a process may be carried
out at the same time. Creating the units of the same runs again returns the stored ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial

from synergy.messaging.message import UnitMessage
from synergy.messaging.protocol import Bus
from synergy.model.process import FreerunProcess
from synergy.model.schedule import Run
from synergy.model.unit_of_work import Hint, UnitOfWork, UnitState
from synergy.storage.protocol import Batch, Store

KEY_DIGITS = 14  # the hexadecimal digits of a run's id that make its unit's key unique


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
    """Creates the units of these runs and sends their messages; returns the stored units.

    To be called in the batch that launches the runs, or later for a launched run without a unit.
    The message of a unit is sent once; if it is lost, the collector repeats it.
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
