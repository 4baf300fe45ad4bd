"""Longer leases for tests in which hours pass: most turns would otherwise only renew leases."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from unittest.mock import patch

from synergy.runtime import leadership

SHORT = 300.0  # seconds; shorter times keep the usual leases
RENEW_SECONDS = 60.0
# Fifteen times the usual values.
SELDOM = {"RENEW_SECONDS": RENEW_SECONDS, "VALID_SECONDS": 150.0, "WAIT_SECONDS": 270.0}


@contextmanager
def seldom_renewed(seconds: float, renew: Callable[[], object]) -> Iterator[float]:
    """Yields the longest time between two turns while `seconds` pass.

    `renew` renews the held leases: first for the longer time, at the end for the usual time.
    """
    if seconds < SHORT:
        yield leadership.RENEW_SECONDS
        return
    with patch.multiple(leadership, **SELDOM):
        renew()
        yield RENEW_SECONDS
    renew()
