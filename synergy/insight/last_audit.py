"""The last audit as a fact of the store, so that all who look agree on it, whoever made it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta

import orjson

from synergy.clock import Clock
from synergy.insight.audit import Audit, Unexplained
from synergy.storage.protocol import Store

Progress = Callable[[int, int], None]

FACT = "audit/last"
EVERY = 600.0  # seconds after which a result is old
SOON = 30.0  # the same of one that could not account for everything
PAUSE = 50.0  # times as long as it took, an audit is not made again
RECENT = 6  # times as old as that it may be and still tell something


@dataclass(frozen=True, slots=True)
class LastAudit:
    """When an audit was done, how many seconds it took, and what it found.

    `unexplained` counts the periods that are not accounted for, of which `first` is one.
    """

    at: datetime
    took: float
    expected: int
    unexplained: int
    first: Unexplained | None

    def is_recent(self, now: datetime) -> bool:
        """Whether it still tells how things are."""
        return now - self.at <= timedelta(seconds=RECENT * max(EVERY, PAUSE * self.took))

    def is_due(self, now: datetime) -> bool:
        """Whether who wants to know makes another one."""
        every = SOON if self.unexplained else EVERY
        return now - self.at > timedelta(seconds=max(every, PAUSE * self.took))


def keep(store: Store, found: Audit, at: datetime, took: float) -> None:
    """Notes the result of an audit."""
    first = found.unexplained[0] if found.unexplained else None
    last = LastAudit(at, took, found.expected, found.expected - found.accounted, first)
    store.facts.set(FACT, orjson.dumps(asdict(last)).decode())


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
        data = orjson.loads(store.facts.get(FACT) or "")
        first = data["first"] and Unexplained(**data["first"])
        at = datetime.fromisoformat(data["at"])
        return LastAudit(at, data["took"], data["expected"], data["unexplained"], first or None)
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError):
        return None
