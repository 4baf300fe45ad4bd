"""Grouping: a process that runs once for every N periods.

Checkpoints are the multiples of N within the parent (hour 00 is none) and the last member of
the parent; a checkpoint covers everything after the previous checkpoint of the same parent,
and nothing rolls over into the next parent. Hourly by 5 stops at 05, 10, 15, 20 and 23;
daily by 7 at 07, 14, 21, 28 and the last day. The other members have nothing to do. With N = 1
every period, hour 00 included, is a checkpoint.
"""

from __future__ import annotations

from synergy.timeperiod.qualifier import Qualifier

_LARGEST = {
    Qualifier.HOURLY: 23,
    Qualifier.DAILY: 28,
    Qualifier.MONTHLY: 12,
    Qualifier.YEARLY: 1,
}
_PARENT = {
    Qualifier.HOURLY: Qualifier.DAILY,
    Qualifier.DAILY: Qualifier.MONTHLY,
    Qualifier.MONTHLY: Qualifier.YEARLY,
}


def largest_grouping(qualifier: Qualifier) -> int:
    """The largest N that fits the qualifier; the smallest is 1."""
    return _LARGEST[qualifier]


def covered(qualifier: Qualifier, ordinal: int, grouping: int) -> tuple[int, int] | None:
    """The half-open range of ordinals that the job of this period covers.

    None if the period is no checkpoint, so that its job has nothing to do.
    """
    if grouping == 1:
        return ordinal, ordinal + 1
    first, end, label = _place(qualifier, ordinal)
    number = ordinal - first + label
    if number == 0 or (number % grouping and ordinal != end - 1):
        return None
    previous = (number - 1) // grouping * grouping  # 0 when this checkpoint is the first
    begin = first - label + previous + 1 if previous else first
    return begin, ordinal + 1


def checkpoint(qualifier: Qualifier, ordinal: int, grouping: int) -> int:
    """The ordinal of the checkpoint that covers this period."""
    if grouping == 1:
        return ordinal
    first, end, label = _place(qualifier, ordinal)
    number = max(ordinal - first + label, 1)
    return min(first - label + -(-number // grouping) * grouping, end - 1)


def _place(qualifier: Qualifier, ordinal: int) -> tuple[int, int, int]:
    """First and end ordinal of the siblings, and the number of the first (hour 0, day 1)."""
    parent = _PARENT[qualifier]
    first, end = parent.down(qualifier.up(ordinal, parent), qualifier)
    return first, end, 0 if qualifier is Qualifier.HOURLY else 1
