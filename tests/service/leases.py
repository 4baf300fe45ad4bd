"""Leases that are renewed seldom: in tests in which hours pass, most turns would only do that."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from unittest.mock import patch

from synergy.runtime import leadership

SHORT = 300.0  # seconds; in less than that it may matter how long a lease lasts
RENEW_SECONDS = 60.0
# Fifteen times the usual values.
SELDOM = {"RENEW_SECONDS": RENEW_SECONDS, "VALID_SECONDS": 150.0, "WAIT_SECONDS": 270.0}


@contextmanager
def seldom_renewed(seconds: float, renew: Callable[[], object]) -> Iterator[float]:
    """For so many seconds to pass: how many may, at most, between two turns.

    `renew` renews the leases that are held: at first until after the next turn, at the end for as
    long as usual.
    """
    if seconds < SHORT:
        yield leadership.RENEW_SECONDS
        return
    with patch.multiple(leadership, **SELDOM):
        renew()
        yield RENEW_SECONDS
    renew()
