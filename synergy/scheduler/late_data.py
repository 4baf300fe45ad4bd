"""Late data: a write into a finished period of some process's source.

Every change of a source has a number in the store's own order. The scheduler reads them in
that order and keeps its place; a change of a finished period whose number is above what the
job's last unit covered was not in the job's result, so it is late. That comparison, not the
notice, is what counts, so a restart that reads some changes twice finds nothing that is not
there, and one that missed the notice finds it.

After a quiet time, the job is started over with its cascade, as an operator would do it, or
only marked as stale, or left, as the process says. What a person skipped is only marked: a person
decided about it, and brings what came since in by a reprocess.

Each tree has a place of its own, up to which all changes were dealt with, so that whoever
comes to hold the tree goes on from there.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

import orjson

from synergy.clock import Clock
from synergy.commands.jobs import make_moves, start_over_moves
from synergy.commands.sources import covered, source_bounds
from synergy.lifecycle.moves import move_job
from synergy.lifecycle.transitions import Move
from synergy.messaging.protocol import Bus
from synergy.model.actor import Actor
from synergy.model.job import JobMove
from synergy.model.process import LateData as Policy
from synergy.scheduler.known_state import KnownState
from synergy.scheduler.process_state import ProcessState
from synergy.storage.protocol import SourceChange, Store
from synergy.timetable.cascade import Node, late_cascade

QUIET = 10.0  # seconds without further writes before a job is started over
LONGEST = 300.0  # seconds after which it is, even if writes never pause
TOGETHER = 2.0  # seconds: jobs whose quiet ends within the same ones are started over as one
KEEP_PLACE = 5.0  # seconds between two notes of how far the changes were read
PAGE = 5000  # changes read at a time
_PLACES = "late_data.places"
_WHO = "late data"


@dataclass(slots=True)
class _Suspect:
    """A finished period that was written to; times are monotonic seconds."""

    first: float
    newest: float
    seq: int
    oldest_seq: int


class LateData:
    """Follows the changes of the sources of the trees that are held, and starts jobs over."""

    def __init__(self, store: Store, bus: Bus, clock: Clock, memory: KnownState) -> None:
        self._store = store
        self._bus = bus
        self._clock = clock
        self._memory = memory
        self._noted: dict[str, int] = {}
        self._seen = max(self._places().values(), default=0)
        self._noted_at = clock.monotonic()
        self._suspects: dict[Node, _Suspect] = {}

    # What was written

    def follow(self) -> bool:
        """Takes in what changed; whether more may have changed than was read."""
        changes = self._store.documents.changed_since(self._seen, PAGE)
        if changes:
            self._take(changes, self._memory.held)
            self._seen = changes[-1].seq
        return len(changes) == PAGE

    def hold(self, trees: Iterable[str]) -> None:
        """Takes in what changed since somebody last looked at the sources of these trees."""
        places = self._places()
        self._noted |= {tree: places.get(tree, 0) for tree in trees}
        for place in {self._noted[tree] for tree in trees}:
            self._catch_up(place, {tree for tree in trees if self._noted[tree] == place})

    def drop(self, tree: str) -> None:
        """Somebody else goes on, from the place that was noted last."""
        self._noted.pop(tree, None)
        self._suspects = {n: s for n, s in self._suspects.items() if n[0].tree != tree}

    def look_again(self, lane: ProcessState, ordinal: int) -> None:
        """It is not known whether the source of a job changed: if it is finished, that is asked."""
        if lane.is_held and lane.level.holds(ordinal) and lane.level.state(ordinal).is_finished:
            bounds = source_bounds(self._store, lane.level, ordinal)
            if bounds is not None:
                self._suspect(lane, ordinal, bounds.high)

    def _catch_up(self, place: int, trees: set[str]) -> None:
        while place < self._seen:
            changes = self._store.documents.changed_since(place, PAGE)
            self._take(changes, trees)
            place = changes[-1].seq if changes else self._seen

    def _take(self, changes: Sequence[SourceChange], trees: set[str]) -> None:
        for change in changes:
            for lane in self._memory.by_source.get(change.collection, ()):
                if not lane.is_held or lane.place.tree not in trees:
                    continue
                for ordinal in lane.level.readers_of(change.timeperiod):
                    if not lane.level.holds(ordinal):
                        continue
                    if lane.level.state(ordinal).is_finished:
                        self._suspect(lane, ordinal, change.seq)
                    else:
                        lane.wake(ordinal)

    def _suspect(self, lane: ProcessState, ordinal: int, seq: int) -> None:
        """A finished period's source changed; whether that is late is asked once it is quiet."""
        if lane.process.late_data is Policy.IGNORE:
            return
        now = self._clock.monotonic()
        node = (lane.place, ordinal)
        known = self._suspects.setdefault(node, _Suspect(now, now, seq, seq))
        known.newest, known.seq = now, max(known.seq, seq)

    # What to do about it

    def due(self) -> list[str]:
        """The trees in which something is late, or may be, and has been quiet long enough."""
        monotonic = self._clock.monotonic()
        due = [node for node, known in self._suspects.items() if _due(known) <= monotonic]
        return list(dict.fromkeys(place.tree for place, _ in due))

    def act(self, trees: set[str], now: datetime) -> None:
        """Starts over, or marks, what is late in these trees."""
        monotonic = self._clock.monotonic()
        due = [
            node
            for node, known in self._suspects.items()
            if node[0].tree in trees and _due(known) <= monotonic
        ]
        actor = Actor(_WHO, "its source changed after it was finished")
        moves = self._moves([node for node in due if self._is_late(node)], actor)
        refused = make_moves(self._store, self._bus, moves, actor, now)[1] if moves else []
        for node in due:
            if not any((m.process, m.first) == (node[0].process.name, node[1]) for m in refused):
                del self._suspects[node]
            else:  # somebody else moved it; once the journal has said how, it is asked again
                self._suspects[node].newest = monotonic

    def _moves(self, late: Sequence[Node], actor: Actor) -> list[JobMove]:
        again = [node for node in late if not _is_only_marked(node)]
        marks = [
            move_job(place, ordinal, Move.MARK, actor.why, actor.who)
            for place, ordinal in late
            if _is_only_marked((place, ordinal)) and not place.level.is_stale(ordinal)
        ]
        return [*start_over_moves(late_cascade(again), actor), *marks]

    def due_in(self) -> float:
        """Seconds until there is something to do."""
        now = self._clock.monotonic()
        waits = [_due(known) - now for known in self._suspects.values()]
        if self._is_ahead():
            waits.append(self._noted_at + KEEP_PLACE - now)
        return max(0.0, min(waits, default=3600.0))

    def _is_late(self, node: Node) -> bool:
        place, ordinal = node
        if place.level.state(ordinal).is_active:
            return False
        return self._suspects[node].seq > covered(self._store, place, ordinal)

    # How far it was read

    def note(self, *, at_once: bool = False) -> None:
        """Keeps the places of the trees that are held, now and then.

        Of two who write at the same time, one's places may be lost; then some changes are
        read twice.
        """
        monotonic = self._clock.monotonic()
        is_due = at_once or monotonic - self._noted_at >= KEEP_PLACE
        if is_due and self._is_ahead():
            places = self._present()
            self._store.facts.set(_PLACES, orjson.dumps(self._places() | places).decode())
            self._noted = places
            self._noted_at = monotonic

    def _is_ahead(self) -> bool:
        return any(place > self._noted[tree] for tree, place in self._present().items())

    def _present(self) -> dict[str, int]:
        """Up to where every change was dealt with; what is still to be quiet is read again."""
        places = dict.fromkeys(self._noted, self._seen)
        for (place, _), known in self._suspects.items():
            if place.tree in places:
                places[place.tree] = min(places[place.tree], known.oldest_seq - 1)
        return places

    def _places(self) -> dict[str, int]:
        found: dict[str, int] = orjson.loads(self._store.facts.get(_PLACES) or "{}")
        return found


def _is_only_marked(node: Node) -> bool:
    place, ordinal = node
    return place.level.is_held(ordinal) or place.process.late_data is Policy.MARK


def _due(known: _Suspect) -> float:
    """When its quiet time is over, rounded up so that a common ancestor is started over once."""
    return math.ceil(min(known.newest + QUIET, known.first + LONGEST) / TOGETHER) * TOGETHER
