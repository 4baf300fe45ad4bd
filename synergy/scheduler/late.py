"""Late data: a write into a finished period of some process's source.

Every change of a source has a number in the store's own order. The scheduler reads them in
that order and keeps its place; a change of a finished period whose number is above what the
job's last unit covered was not in the job's result, so it is late. That comparison, not the
notice, is what counts, so a restart that reads some changes twice finds nothing that is not
there, and one that missed the notice finds it.

After a quiet time, the job is started over with its cascade, as an operator would do it, or
only marked as stale, or left, as the process says.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from synergy.clock import Clock
from synergy.insight.actions import Actor, cascade_moves, job_move, make_moves
from synergy.insight.coverage import covered
from synergy.lifecycle.transitions import Move
from synergy.messaging.protocol import Bus
from synergy.model.process import LateData as Policy
from synergy.storage.protocol import SourceChange, Store
from synergy.timetable.cascade import Node
from synergy.timetable.timetable import Place, Timetable

QUIET = 10.0  # seconds without further writes before a job is started over
LONGEST = 300.0  # seconds after which it is, even if writes never pause
TOGETHER = 2.0  # seconds: jobs whose quiet ends within the same ones are started over as one
KEEP_PLACE = 5.0  # seconds between two notes of how far the changes were read
_PLACE = "late_data.seen"
_WHO = "late data"


@dataclass(slots=True)
class _Suspect:
    """A finished period that was written to; times are monotonic seconds."""

    first: float
    newest: float
    seq: int
    oldest_seq: int


class LateData:
    """Follows the changes of sources and starts finished jobs over."""

    def __init__(self, store: Store, bus: Bus, clock: Clock, timetable: Timetable) -> None:
        self._store = store
        self._bus = bus
        self._clock = clock
        self._timetable = timetable
        self._seen = self._noted = int(store.facts.get(_PLACE) or 0)
        self._noted_at = clock.monotonic()
        self._suspects: dict[Node, _Suspect] = {}

    def changes(self, limit: int) -> Sequence[SourceChange]:
        """The changes since the last call, each timeperiod once."""
        found = self._store.documents.changed_since(self._seen, limit)
        if found:
            self._seen = found[-1].seq
        return found

    def suspect(self, place: Place, ordinal: int, seq: int) -> None:
        """A finished period's source changed; whether that is late is asked once it is quiet."""
        if place.process.late_data is Policy.IGNORE:
            return
        now = self._clock.monotonic()
        known = self._suspects.setdefault((place, ordinal), _Suspect(now, now, seq, seq))
        known.newest, known.seq = now, max(known.seq, seq)

    def act(self, now: datetime) -> None:
        """Starts over, or marks, what is late and has been quiet long enough."""
        monotonic = self._clock.monotonic()
        due = [node for node, known in self._suspects.items() if _due(known) <= monotonic]
        late = [node for node in due if self._is_late(node)]
        actor = Actor(_WHO, "its source changed after it was finished")
        moves = cascade_moves(
            self._store,
            [node for node in late if node[0].process.late_data is Policy.REPROCESS],
            Move.START_OVER,
            actor,
        )
        moves += [
            job_move(place, ordinal, Move.MARK, actor)
            for place, ordinal in late
            if place.process.late_data is Policy.MARK and not place.level.is_stale(ordinal)
        ]
        refused = make_moves(self._store, self._bus, moves, actor, now)[1] if moves else []
        for node in due:
            if not any((m.process, m.first) == (node[0].process.name, node[1]) for m in refused):
                del self._suspects[node]
            else:  # somebody else moved it; once the journal has said how, it is asked again
                self._suspects[node].newest = monotonic
        self._note(monotonic)

    def due_in(self) -> float:
        """Seconds until `act` has something to do."""
        now = self._clock.monotonic()
        waits = [_due(known) - now for known in self._suspects.values()]
        if self._place > self._noted:
            waits.append(self._noted_at + KEEP_PLACE - now)
        return max(0.0, min(waits, default=3600.0))

    def _is_late(self, node: Node) -> bool:
        place, ordinal = node
        if place.level.state(ordinal).is_active:
            return False
        return self._suspects[node].seq > covered(self._store, place, ordinal)

    @property
    def _place(self) -> int:
        """How far every change was dealt with; what is still to be quiet is read again."""
        oldest = (known.oldest_seq - 1 for known in self._suspects.values())
        return min(oldest, default=self._seen)

    def _note(self, monotonic: float) -> None:
        place = self._place
        if place > self._noted and monotonic - self._noted_at >= KEEP_PLACE:
            self._store.facts.set(_PLACE, str(place))
            self._noted = place
            self._noted_at = monotonic


def _due(known: _Suspect) -> float:
    """When its quiet time is over, rounded up so that a common ancestor is started over once."""
    return math.ceil(min(known.newest + QUIET, known.first + LONGEST) / TOGETHER) * TOGETHER
