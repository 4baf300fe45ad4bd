"""What operators set at run time, over what `context.py` declares."""

from __future__ import annotations

from synergy.model.control import ProcessControl
from synergy.model.process import Process


def is_switched_on(process: Process, control: ProcessControl | None) -> bool:
    """Whether a process is switched on: as an operator said, or else as it is declared."""
    return process.is_on if control is None or control.is_on is None else control.is_on
