"""The rules of a box's pool: whose turn it is, and how many members one process may have. Pure."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection

from synergy.model.process import WorkingProcess


def in_turn(ready: Collection[str], last: str) -> list[str]:
    """The processes with something to do, beginning with the next one after `last`."""
    names = sorted(ready)
    first = bisect_right(names, last)
    return names[first:] + names[:first]


def most_members(process: WorkingProcess, size: int) -> int:
    """How many of the `size` members may work for a process at once: never all of them."""
    return max(1, min(process.max_active, size - 1))
