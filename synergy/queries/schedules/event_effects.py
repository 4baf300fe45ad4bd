"""What came of events from outside: which schedules listen, and which runs they caused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from synergy.model.schedule import Event, Run
from synergy.schedule.progress.event_lifetime import event_keys
from synergy.storage.protocol import StoreView

LOOKED_AT = "agent.events"  # the fact that holds the number of the newest event decided about
PATIENCE = 1.0  # seconds that `effects` waits for an agent

_GLANCES = 20  # so often the fact is looked at within that time
_RECENT = 50  # runs of a listening schedule among which those of an event are looked for


@dataclass(frozen=True, slots=True)
class RecordedEvent:
    """A stored event; `is_new` is False if its id was stored before."""

    event: Event
    is_new: bool


@dataclass(frozen=True, slots=True)
class Effects:
    """What came of events: who listens, and the runs that they caused, or helped to cause.

    `is_decided` is False while no agent has looked at them; there may be more runs then.
    """

    schedules: tuple[str, ...]
    runs: tuple[Run, ...]
    is_decided: bool


def effects(
    store: StoreView,
    recorded: Sequence[RecordedEvent],
    wait: Callable[[float], object] = lambda seconds: None,
) -> Effects:
    """What these events did, once an agent has looked, or `PATIENCE` is over.

    `wait` lets at most so many seconds pass.
    """
    newest = max((one.event.seq for one in recorded), default=0)
    keys = {key for one in recorded for key in event_keys(one.event.type, one.event.resource)}
    names = sorted(schedule.name for schedule in store.schedules.listening(sorted(keys)))
    is_decided = _is_looked_at(store, newest)
    for _ in range(_GLANCES if names else 0):
        if is_decided:
            break
        wait(PATIENCE / _GLANCES)
        is_decided = _is_looked_at(store, newest)
    ids = {one.event.id for one in recorded}
    return Effects(tuple(names), tuple(_caused(store, names, ids)), is_decided)


def _is_looked_at(store: StoreView, seq: int) -> bool:
    return int(store.facts.get(LOOKED_AT) or 0) >= seq


def _caused(store: StoreView, schedules: Sequence[str], ids: set[str]) -> list[Run]:
    return [
        run
        for name in schedules
        for run in store.runs.find(schedule=name, limit=_RECENT)[0]
        if ids & causes(run)
    ]


def causes(run: Run) -> frozenset[str]:
    """The ids of the events that caused a run."""
    events = run.detail.cause.get("events")
    return frozenset(map(str, events)) if isinstance(events, list | tuple) else frozenset()
