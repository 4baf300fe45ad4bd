"""Words that several queries share."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """A number of things: `1 unit`, `2,000 units`."""
    return f"{number:,} {noun}{'s' * (number != 1)}"
