"""Leases that are renewed seldom: in tests in which hours pass, most turns would only do that."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from unittest.mock import patch

from synergy.runtime import leadership

SHORT = 300.0  # seconds; in less than that it may matter how long a lease lasts
RENEW = 60.0
SELDOM = {"RENEW": RENEW, "VALID": 150.0, "WAIT": 270.0}  # as usual, fifteen times over


@contextmanager
def seldom_renewed(seconds: float, renew: Callable[[], object]) -> Iterator[float]:
    """For so many seconds to pass: how many may, at most, between two turns.

    `renew` renews the leases that are held: at first until after the next turn, at the end for as
    long as usual.
    """
    if seconds < SHORT:
        yield leadership.RENEW
        return
    with patch.multiple(leadership, **SELDOM):
        renew()
        yield RENEW
    renew()
