"""Triggers that wait for events."""

from __future__ import annotations

from synergy.schedule.definition import (
    AllOf,
    ProgramEnded,
)

P = ProgramEnded("P", ("processed",))
Q = ProgramEnded("Q", ("processed", "noop"))
BOTH = AllOf((P, Q))
