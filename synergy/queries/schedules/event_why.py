"""What the newest events did for a schedule, or why they did nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from synergy.model.schedule import Event, Run, Schedule
from synergy.names import DECIDED_EVENT
from synergy.queries.schedules.event_effects import causes
from synergy.queries.schedules.next_due import ALL_RUNS_MADE
from synergy.queries.schedules.views import LegView
from synergy.schedule.definition import Definition, EventTrigger, Leaf, Partition, leaves
from synergy.schedule.format.literals import readable_instant as readable
from synergy.schedule.progress import event_lifetime
from synergy.schedule.progress.due_times import is_spent
from synergy.schedule.progress.event_keys import event_keys, key_of
from synergy.schedule.progress.state import ProgressState
from synergy.storage.protocol import StoreView

SEARCHED = 200  # the newest events that are read
SHOWN = 10  # of those that may concern the schedule
RUNS = 50  # the newest runs of the schedule that are searched for the event


@dataclass(frozen=True, slots=True, kw_only=True)
class EventEffect:
    """An event, and its `effect` on a schedule; `run` is the newest run that it counts in."""

    id: str
    type: str
    resource: str
    timestamp: datetime
    at: datetime
    effect: str
    run: str | None = None


class EventEffects:
    """The effects of events on one schedule; `legs` are those of its trigger, by path."""

    def __init__(
        self,
        store: StoreView,
        schedule: Schedule,
        definition: Definition,
        progress: ProgressState | None,
        legs: Sequence[LegView],
    ) -> None:
        self._progress = progress
        self._definition = definition
        self._listening = {
            path: leaf
            for path, leaf in leaves(definition.trigger)
            if isinstance(leaf, EventTrigger | Partition)
        }
        self._types = {key_of(leaf).partition("|")[0] for leaf in self._listening.values()}
        self._legs = {leg.path: leg for leg in legs}
        self._decided = int(store.facts.get(DECIDED_EVENT) or 0)
        self._runs, _ = store.runs.find(schedule.name, limit=RUNS)
        self._events = store.events.find(SEARCHED)[0] if self._types else []
        caused = frozenset[str]().union(*map(causes, self._runs))
        self._last = max((event.seq for event in self._events if event.id in caused), default=0)

    def newest(self) -> tuple[EventEffect, ...]:
        """The newest events of the types that the trigger listens to, newest first."""
        if not self._types:
            return ()
        return tuple(map(self._of, [e for e in self._events if e.type in self._types][:SHOWN]))

    def _of(self, event: Event) -> EventEffect:
        run = next((run for run in self._runs if event.id in causes(run)), None)
        return EventEffect(
            id=event.id,
            type=event.type,
            resource=event.resource,
            timestamp=event.timestamp,
            at=event.at,
            effect=self._effect(event, run),
            run=None if run is None else run.id,
        )

    def _effect(self, event: Event, run: Run | None) -> str:
        keys = event_keys(event.type, event.resource)
        concerned = {path: leaf for path, leaf in self._listening.items() if key_of(leaf) in keys}
        if not concerned:
            return f"no leg waits for {event.type} {event.resource}"
        if run is not None:
            return f"counts in run {run.id}, which is {run.state.value}"
        if self._progress is None:
            return "nothing: the schedule is not enabled, or cannot be read"
        if event.at < self._progress.begun:
            return f"nothing: it came before the schedule began, {readable(self._progress.begun)}"
        if event.seq > self._decided:
            return "nothing yet: no agent has processed it"
        return self._counted(event, concerned, self._progress)

    def _counted(self, event: Event, concerned: Mapping[str, Leaf], progress: ProgressState) -> str:
        """The effect of an event that an agent has processed, and that started no run."""
        end = self._definition.end
        if end is not None and event.at > end:
            return f"nothing: it came after the end of the schedule, {readable(end)}"
        if is_spent(self._definition, progress) and event.seq > self._last:
            return f"nothing: {ALL_RUNS_MADE}"
        last = progress.last_execution
        is_by_lifetimes = event_lifetime.has_lifetimes_only(self._definition.trigger)
        if is_by_lifetimes and last is not None and event.timestamp <= last:
            return f"nothing: its timestamp is not later than the last execution, {readable(last)}"
        kept = {path: progress.met.get(path) for path in concerned}
        if any(met is not None and met.event == event.id for met in kept.values()):
            return f"it counts for {self._named(concerned)}; {self._others(concerned)}"
        newer = [met.at for met in kept.values() if met is not None and met.event]
        if newer:
            return f"another one counts for {self._named(concerned)}, {readable(max(newer))}"
        collecting = progress.collecting
        events = collecting.cause.get("events") if collecting is not None else None
        if isinstance(events, list) and event.id in events:
            return f"it counts for {self._named(concerned)}; {self._others(concerned)}"
        return "counted, and dropped since by a run or a timeout"

    def _named(self, concerned: Mapping[str, Leaf]) -> str:
        return " and ".join(map(_worded, (self._legs[path] for path in concerned)))

    def _others(self, concerned: Mapping[str, Leaf]) -> str:
        """The other legs that are not met now."""
        others = [leg for path, leg in self._legs.items() if path not in concerned]
        unmet = [_worded(leg) for leg in others if not leg.is_met]
        return f"not met now: {', '.join(unmet)}" if unmet else "all other legs are met now"


def _worded(leg: LegView) -> str:
    return f"{leg.words} ({leg.how})"
