"""The results of benches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from synergy.errors import SynergyError


class BenchFailed(SynergyError):
    """A measurement could not be completed."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A number with its unit; `at_least` and `at_most` are the target, if it has one.

    `value` is None if it was not measured, for the reason `why_not`.
    """

    name: str
    value: float | None
    unit: str
    at_least: float | None = None
    at_most: float | None = None
    why_not: str = ""

    @property
    def is_met(self) -> bool | None:
        """Whether the target is met; None without a target or a value."""
        if self.value is None:
            return None
        if self.at_least is None and self.at_most is None:
            return None
        is_low = self.at_least is not None and self.value < self.at_least
        is_high = self.at_most is not None and self.value > self.at_most
        return not (is_low or is_high)


def percentile(values: Sequence[float], share: int) -> float:
    """The smallest value that `share` per cent of the values do not exceed."""
    ordered = sorted(values)
    return ordered[max(-(-len(ordered) * share // 100) - 1, 0)]
