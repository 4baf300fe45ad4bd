"""The journal: every state change, in the order in which the store took it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """When, what, from, to, why, who.

    `event` is one of the names that log, metrics and journal share (`job.skipped`,
    `unit.requested`, `process.on`). `first` and `last` are timeperiods, equal for one job and
    apart (inclusive) for neighbouring jobs that changed in one step; both are empty for an
    entry that is of no period. `attempt` is that of the unit after the change; `covered`
    what of its source a job stands for that ended without a unit, and `flags` the flags of
    the stored jobs after the change (see `model.job`). `seq` is the store's own order, 0 until
    it is stored.
    """

    at: datetime
    event: str
    process: str
    first: str
    last: str
    before: str
    after: str
    generation: int
    why: str
    who: str
    unit: str | None = None
    attempt: int = 0
    covered: int = 0
    flags: int = 0
    seq: int = 0
