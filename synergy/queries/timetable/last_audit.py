"""The last audit as a fact of the store, so that all who look agree on it, whoever made it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta

import orjson

from synergy.clock import Clock
from synergy.names import LAST_AUDIT
from synergy.queries.timetable.audit import LATE, Audit, Unexplained
from synergy.storage.protocol import Store

Progress = Callable[[int, int], None]

EVERY = 600.0  # seconds after which a result is old
SOON = 30.0  # the same of one that could not account for everything
PAUSE = 50.0  # times as long as it took, an audit is not made again
LONGEST = timedelta(minutes=6)  # of a quiet time, if writes never pause, and of what follows
REMEMBERED = 200  # late periods of which it is known since when they are
RECENT = 6  # times as old as that it may be and still tell something


@dataclass(frozen=True, slots=True)
class LastAudit:
    """When an audit was done, how many seconds it took, and what it found.

    `unexplained` counts the periods that are not accounted for, of which `first` is one. `late`
    counts those beside them whose source was written to since they were finished: the scheduler
    starts them over after a quiet time. `late_since` says for some of them which audit found them
    first.
    """

    at: datetime
    took: float
    expected: int
    unexplained: int
    first: Unexplained | None
    late: int = 0
    late_since: Mapping[str, datetime] = field(default_factory=dict)

    @property
    def is_late_for_long(self) -> bool:
        """Whether data that came late should have been taken in by now."""
        return any(self.at - since > LONGEST for since in self.late_since.values())

    def is_recent(self, now: datetime) -> bool:
        """Whether it still tells how things are."""
        return now - self.at <= timedelta(seconds=RECENT * max(EVERY, PAUSE * self.took))

    def is_due(self, now: datetime) -> bool:
        """Whether who wants to know makes another one."""
        every = SOON if self.unexplained or self.late else EVERY
        return now - self.at > timedelta(seconds=max(every, PAUSE * self.took))


def keep(store: Store, found: Audit, at: datetime, took: float) -> None:
    """Notes the result of an audit."""
    late = [one for one in found.unexplained if one.text == LATE]
    lost = [one for one in found.unexplained if one.text != LATE]
    number = min(found.late, _missing(found))
    before = last_audit(store)
    known = {} if before is None else before.late_since
    names = [f"{one.process} {one.timeperiod}" for one in late[:REMEMBERED]]
    since = {name: known.get(name, at) for name in names}
    first = next(iter([*lost, *late]), None)
    last = LastAudit(at, took, found.expected, _missing(found) - number, first, number, since)
    store.facts.set(LAST_AUDIT, orjson.dumps(asdict(last)).decode())


def _missing(found: Audit) -> int:
    return found.expected - found.accounted


def audited(
    store: Store, make: Callable[[Progress], Audit], clock: Clock, progress: Progress
) -> Audit:
    """Makes an audit and notes its result."""
    began = clock.monotonic()
    found = make(progress)
    keep(store, found, clock.now(), clock.monotonic() - began)
    return found


def last_audit(store: Store) -> LastAudit | None:
    """The last one; None if there was none, or what is kept of it cannot be read."""
    try:
        data = orjson.loads(store.facts.get(LAST_AUDIT) or "")
        first = data["first"] and Unexplained(**data["first"])
        late = {name: datetime.fromisoformat(at) for name, at in data["late_since"].items()}
        at = datetime.fromisoformat(data["at"])
        return LastAudit(**{**data, "at": at, "late_since": late, "first": first or None})
    except (AttributeError, KeyError, TypeError, ValueError):
        return None
