"""Values that an operator sets at run time, which override those of `context.py`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ProcessControl:
    """The values that were set for a process; None for a value as declared in `context.py`."""

    process: str
    is_on: bool | None = None
    trigger_frequency: str | None = None
