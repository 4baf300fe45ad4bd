"""Why pending runs are dropped when their schedule changes."""

from __future__ import annotations


def superseded(version: int) -> str:
    """The reason for dropping runs of an older version."""
    return f"superseded by version {version}"


def off(reason: str) -> str:
    """The reason for dropping runs of a disabled schedule."""
    return f"its schedule was disabled: {reason}"
