"""What a work function may answer. An exception means: this attempt is invalid."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Processed:
    """The work is done. `counts` are numbers worth showing (`{"sessions": 812}`)."""

    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Nothing:
    """There was nothing to do; the unit ends as `noop`."""


Outcome = Processed | Nothing
