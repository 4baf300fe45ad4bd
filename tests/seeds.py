"""The number of seeds that tests with random simulations try.

`SYNERGY_TEST_SEEDS=200` tries the first 200 seeds of each suite: at night, or after a change of the
code that the suite tests. The usual number is enough after other changes.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

VARIABLE = "SYNERGY_TEST_SEEDS"


def is_extended_run() -> bool:
    """Whether the environment sets the number of seeds."""
    return VARIABLE in os.environ


def alternating(positions: Iterable[int]) -> list[tuple[int, bool]]:
    """Each position with False and True alternately; with both in an extended run."""
    both = is_extended_run()
    return [(at, late) for at in positions for late in (False, True) if both or late == at % 2]


def seeds(usual: int) -> range:
    """The first seeds: as many as the environment sets, or `usual`."""
    return range(int(os.environ.get(VARIABLE) or usual))
