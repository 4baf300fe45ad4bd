"""Longer leases while hours pass on a stepped clock: else most turns would only renew leases."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from unittest.mock import patch

from synergy.runtime import leadership

SHORT = 300.0  # seconds; shorter times keep the usual leases
RENEW_SECONDS = 60.0
VALID_SECONDS, WAIT_SECONDS = 150.0, 270.0  # all three are fifteen times the usual values


@contextmanager
def seldom_renewed(seconds: float, *renewals: Callable[[], object]) -> Iterator[float]:
    """Yields the longest time between two turns while `seconds` pass.

    `renewals` renew the held leases: first for the longer time, at the end for the usual time.
    """
    if seconds < SHORT:
        yield leadership.RENEW_SECONDS
        return
    with patch.multiple(
        leadership,
        RENEW_SECONDS=RENEW_SECONDS,
        VALID_SECONDS=VALID_SECONDS,
        WAIT_SECONDS=WAIT_SECONDS,
    ):
        for renew in renewals:
            renew()
        yield RENEW_SECONDS
    for renew in renewals:
        renew()
