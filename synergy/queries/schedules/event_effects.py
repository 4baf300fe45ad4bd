"""The effects of events from outside: the schedules that listen, and the runs they caused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from synergy.model.schedule import Event, Run
from synergy.names import DECIDED_EVENT
from synergy.schedule.progress.event_keys import event_keys
from synergy.storage.protocol import StoreView

WAIT_SECONDS = 1.0  # the longest time that `effects` waits for an agent

_READS = 20  # how often the fact is read in that time
_RECENT = 50  # the newest runs of each listening schedule that are searched


@dataclass(frozen=True, slots=True)
class RecordedEvent:
    """A stored event; `is_new` is False if its id was stored before."""

    event: Event
    is_new: bool


@dataclass(frozen=True, slots=True)
class Effects:
    """The effects of events: the schedules that listen, and the runs that they caused.

    `is_decided` is False while no agent has processed them; there may be more runs then.
    """

    schedules: tuple[str, ...]
    runs: tuple[Run, ...]
    is_decided: bool


def effects(
    store: StoreView,
    recorded: Sequence[RecordedEvent],
    wait: Callable[[float], object] = lambda seconds: None,
) -> Effects:
    """The effects of these events.

    If schedules listen, waits until an agent has processed the events, `WAIT_SECONDS` at most.
    `wait` returns after at most the given number of seconds.
    """
    newest = max((one.event.seq for one in recorded), default=0)
    keys = {key for one in recorded for key in event_keys(one.event.type, one.event.resource)}
    names = sorted(schedule.name for schedule in store.schedules.listening(sorted(keys)))
    is_decided = _is_processed(store, newest)
    for _ in range(_READS if names else 0):
        if is_decided:
            break
        wait(WAIT_SECONDS / _READS)
        is_decided = _is_processed(store, newest)
    ids = {one.event.id for one in recorded}
    return Effects(tuple(names), tuple(_caused(store, names, ids)), is_decided)


def _is_processed(store: StoreView, seq: int) -> bool:
    return int(store.facts.get(DECIDED_EVENT) or 0) >= seq


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
