"""The progress of an audit in the background, and the newest result."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from synergy.queries.timetable.audit import Audit


@dataclass(frozen=True, slots=True)
class AuditResult:
    """An audit, its time, and its duration in seconds."""

    at: datetime
    took: float
    audit: Audit


@dataclass(frozen=True, slots=True)
class AuditStanding:
    """Whether an audit is under way, `done` of `total` processes, and the newest result.

    `failure` says why the last one has no result, "" if it has one.
    """

    is_running: bool
    done: int
    total: int
    failure: str
    result: AuditResult | None
