"""How many random courses of events the tests try.

`SYNERGY_TEST_SEEDS=200` tries the first 200 of each suite, for a night, or after a change of what
they are about; what is usual is enough for a change of anything else.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

GIVEN = "SYNERGY_TEST_SEEDS"


def is_more_asked_for() -> bool:
    """Whether this is a run of more than usual."""
    return GIVEN in os.environ


def by_turns(positions: Iterable[int]) -> list[tuple[int, bool]]:
    """Each position with False or True, in turn; with both where more than usual is asked for."""
    both = is_more_asked_for()
    return [(at, late) for at in positions for late in (False, True) if both or late == at % 2]


def seeds(usual: int) -> range:
    """The first seeds: as many as are asked for, or as usual."""
    return range(int(os.environ.get(GIVEN) or usual))
