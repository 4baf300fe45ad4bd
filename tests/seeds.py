"""How many random courses of events the tests try.

`SYNERGY_TEST_SEEDS=200` tries the first 200 of each suite, for a night, or after a change of what
they are about; what is usual is enough for a change of anything else.
"""

from __future__ import annotations

import os

GIVEN = "SYNERGY_TEST_SEEDS"


def seeds(usual: int) -> range:
    """The first seeds: as many as are asked for, or as usual."""
    return range(int(os.environ.get(GIVEN) or usual))
