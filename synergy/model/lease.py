"""Leases: a right held until a time, with a term number."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Lease:
    """The stored half of a lease; `runtime.leadership` decides whether its holder may act.

    `epoch` rises by one with each new holder, `seq` with each renewal. No time is compared
    between machines: an observer waits on its own clock for `seq` to stand still.
    """

    name: str
    holder: str
    epoch: int
    seq: int
    released: bool = False
