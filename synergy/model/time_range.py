"""A range of time that a list is limited to."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class TimeRange:
    """The instants from `begin` to before `end`; None means without that limit."""

    begin: datetime | None = None
    end: datetime | None = None


EVER = TimeRange()
