"""What an operator set at run time, over what `context.py` declares."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ProcessControl:
    """None means: as declared in `context.py`."""

    process: str
    is_on: bool | None = None
    trigger_frequency: str | None = None
