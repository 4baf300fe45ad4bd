"""The last audit, a fact of the store: all readers see the same result.

`commands.audits` writes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import orjson

from synergy.names import LAST_AUDIT
from synergy.queries.timetable.audit import Unexplained
from synergy.runtime.fact_text import fact_text
from synergy.storage.protocol import StoreView

EVERY = 600.0  # seconds after which a result is old
SOON = 30.0  # the same for a result with unexplained or late periods
PAUSE = 50.0  # the least time between two audits, in durations of the last one
LONGEST = timedelta(minutes=6)  # the longest quiet time during writes, plus the reprocessing
RECENT = 6  # the age, in intervals between audits, up to which a result is used


@dataclass(frozen=True, slots=True)
class LastAudit:
    """The time of an audit, its duration in seconds, and its findings.

    `unexplained` counts the periods that are not accounted for; `first` is one of them. `late`
    counts other periods, whose source was written to after they were finished: the scheduler
    reprocesses them after a quiet time. `late_since` maps some of them to the time of the audit
    that found them first.
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
        """Whether late data should have been reprocessed by now."""
        return any(self.at - since > LONGEST for since in self.late_since.values())

    def is_recent(self, now: datetime) -> bool:
        """Whether the result is new enough to be used."""
        return now - self.at <= timedelta(seconds=RECENT * max(EVERY, PAUSE * self.took))

    def is_due(self, now: datetime) -> bool:
        """Whether another audit is to be made."""
        every = SOON if self.unexplained or self.late else EVERY
        return now - self.at > timedelta(seconds=max(every, PAUSE * self.took))


def last_audit(store: StoreView) -> LastAudit | None:
    """The last audit; None if there was none, or the stored result cannot be read."""
    try:
        data = orjson.loads(fact_text(store.facts, LAST_AUDIT))
        first = data["first"] and Unexplained(**data["first"])
        late = {name: datetime.fromisoformat(at) for name, at in data["late_since"].items()}
        at = datetime.fromisoformat(data["at"])
        return LastAudit(**{**data, "at": at, "late_since": late, "first": first or None})
    except (AttributeError, KeyError, TypeError, ValueError):
        return None
