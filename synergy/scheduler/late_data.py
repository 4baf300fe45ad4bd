"""Late data: writes into the source of a finished period.

Every change of a source has a number in the store's own order. The scheduler reads changes in that
order and stores its position. A change of a finished period is late if its number is above the
one up to which the job covers its source. Only that comparison decides: reading a change twice does
no harm, and a missed change is found when the job is next compared with its source.

After a quiet time the job is started over with its cascade, as by an operator, or only marked as
stale, or left alone, as the process declares. A job that an operator skipped is only marked, until
the operator reprocesses it.

Each tree has its own position: all changes up to it were handled, and the next holder of the tree
continues there.
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
from synergy.lifecycle.legal_moves import JobMove
from synergy.lifecycle.state_changes import move_job
from synergy.messaging.protocol import Bus
from synergy.model.actor import Actor
from synergy.model.job import JobChange
from synergy.model.process import LateData as Policy
from synergy.scheduler.known_state import KnownState
from synergy.scheduler.process_state import ProcessState
from synergy.storage.protocol import SourceChange, Store
from synergy.timetable.cascade import Node, late_cascade

QUIET_SECONDS = 10.0  # the time without further writes after which a job is started over
LONGEST_SECONDS = 300.0  # the time after which a job is started over even if writes go on
TOGETHER_SECONDS = 2.0  # jobs whose quiet time ends in the same interval share one cascade
SAVE_SECONDS = 5.0  # the time between two regular writes of the positions
PAGE = 5000  # changes read at a time
_POSITIONS = "late_data.places"
_ACTOR = Actor("late data", "its source changed after it was finished")


@dataclass(slots=True)
class _Suspect:
    """A finished period that was written to; times are monotonic seconds."""

    first: float
    newest: float
    seq: int
    oldest_seq: int


class LateData:
    """Follows the changes of the sources of the trees that are held, and starts jobs over."""

    def __init__(self, store: Store, bus: Bus, clock: Clock, known_state: KnownState) -> None:
        self._store = store
        self._bus = bus
        self._clock = clock
        self._known = known_state
        self._saved: dict[str, int] = {}  # positions by tree
        self._seen = max(self._stored_positions().values(), default=0)
        self._saved_at = clock.monotonic()
        self._suspects: dict[Node, _Suspect] = {}

    # Changes of sources

    def follow(self) -> bool:
        """Reads a page of changes; returns whether there may be more."""
        changes = self._store.documents.changed_since(self._seen, PAGE)
        if changes:
            self._handle(changes, self._known.held)
            self._seen = changes[-1].seq
        return len(changes) == PAGE

    def hold(self, trees: Iterable[str]) -> None:
        """Reads the changes since the stored positions of these trees."""
        stored = self._stored_positions()
        self._saved |= {tree: stored.get(tree, 0) for tree in trees}
        for position in {self._saved[tree] for tree in trees}:
            self._catch_up(position, {tree for tree in trees if self._saved[tree] == position})

    def drop(self, tree: str) -> None:
        """Stops following the sources of a tree; its next holder continues."""
        self._saved.pop(tree, None)
        self._suspects = {n: s for n, s in self._suspects.items() if n[0].tree != tree}

    def recheck(self, state: ProcessState, ordinal: int) -> None:
        """Compares a finished job with its source, which may have changed unnoticed."""
        if state.is_held and state.level.holds(ordinal) and state.level.state(ordinal).is_finished:
            bounds = source_bounds(self._store, state.level, ordinal)
            if bounds is not None:
                self._suspect(state, ordinal, bounds.high)

    def _catch_up(self, position: int, trees: set[str]) -> None:
        while position < self._seen:
            changes = self._store.documents.changed_since(position, PAGE)
            self._handle(changes, trees)
            position = changes[-1].seq if changes else self._seen

    def _handle(self, changes: Sequence[SourceChange], trees: set[str]) -> None:
        for change in changes:
            for state in self._known.by_source.get(change.collection, ()):
                if not state.is_held or state.place.tree not in trees:
                    continue
                for ordinal in state.level.readers_of(change.timeperiod):
                    if not state.level.holds(ordinal):
                        continue
                    if state.level.state(ordinal).is_finished:
                        self._suspect(state, ordinal, change.seq)
                    else:
                        state.wake(ordinal)

    def _suspect(self, state: ProcessState, ordinal: int, seq: int) -> None:
        """Notes a change of a finished period, to be checked after a quiet time."""
        if state.process.late_data is Policy.IGNORE:
            return
        now = self._clock.monotonic()
        node = (state.place, ordinal)
        known = self._suspects.setdefault(node, _Suspect(now, now, seq, seq))
        known.newest, known.seq = now, max(known.seq, seq)

    # Acting on late data

    def due(self) -> list[str]:
        """The trees with suspected late data whose quiet time is over."""
        monotonic = self._clock.monotonic()
        due = [node for node, known in self._suspects.items() if _due(known) <= monotonic]
        return list(dict.fromkeys(place.tree for place, _ in due))

    def act(self, trees: set[str], now: datetime) -> None:
        """Starts over, or marks, the late jobs of these trees."""
        monotonic = self._clock.monotonic()
        due = [
            node
            for node, known in self._suspects.items()
            if node[0].tree in trees and _due(known) <= monotonic
        ]
        moves = self._moves([node for node in due if self._is_late(node)])
        refused = make_moves(self._store, self._bus, moves, _ACTOR, now)[1] if moves else []
        for node in due:
            if not any((m.process, m.first) == (node[0].process.name, node[1]) for m in refused):
                del self._suspects[node]
            else:  # another process moved it; its journal entry is read before it is checked again
                self._suspects[node].newest = monotonic

    def _moves(self, late: Sequence[Node]) -> list[JobChange]:
        again = [node for node in late if not _is_only_marked(node)]
        marks = [
            move_job(place, ordinal, JobMove.MARK, _ACTOR.why, _ACTOR.who)
            for place, ordinal in late
            if _is_only_marked((place, ordinal)) and not place.level.is_stale(ordinal)
        ]
        return [*start_over_moves(late_cascade(again), _ACTOR), *marks]

    def due_in(self) -> float:
        """Seconds until something is due."""
        now = self._clock.monotonic()
        waits = [_due(known) - now for known in self._suspects.values()]
        if self._is_ahead():
            waits.append(self._saved_at + SAVE_SECONDS - now)
        return max(0.0, min(waits, default=3600.0))

    def _is_late(self, node: Node) -> bool:
        place, ordinal = node
        if place.level.state(ordinal).is_active:
            return False
        return self._suspects[node].seq > covered(self._store, place, ordinal)

    # Positions

    def save_positions(self, *, at_once: bool = False) -> None:
        """Stores the positions of the trees that are held, at intervals or at once.

        If two schedulers write at the same time, the positions of one may be lost; then some
        changes are read twice.
        """
        monotonic = self._clock.monotonic()
        is_due = at_once or monotonic - self._saved_at >= SAVE_SECONDS
        if is_due and self._is_ahead():
            current = self._positions()
            both = self._stored_positions() | current
            self._store.facts.set(_POSITIONS, orjson.dumps(both).decode())
            self._saved = current
            self._saved_at = monotonic

    def _is_ahead(self) -> bool:
        return any(seq > self._saved[tree] for tree, seq in self._positions().items())

    def _positions(self) -> dict[str, int]:
        """By tree, the number up to which every change was handled: below those of suspects."""
        positions = dict.fromkeys(self._saved, self._seen)
        for (place, _), known in self._suspects.items():
            if place.tree in positions:
                positions[place.tree] = min(positions[place.tree], known.oldest_seq - 1)
        return positions

    def _stored_positions(self) -> dict[str, int]:
        found: dict[str, int] = orjson.loads(self._store.facts.get(_POSITIONS) or "{}")
        return found


def _is_only_marked(node: Node) -> bool:
    place, ordinal = node
    return place.level.is_held(ordinal) or place.process.late_data is Policy.MARK


def _due(known: _Suspect) -> float:
    """When the quiet time is over, rounded up so that a common ancestor is started over once."""
    ends_at = min(known.newest + QUIET_SECONDS, known.first + LONGEST_SECONDS)
    return math.ceil(ends_at / TOGETHER_SECONDS) * TOGETHER_SECONDS
