"""What a run of the collector did, as the journal has it."""

from __future__ import annotations

import re
from collections.abc import Mapping

NOTHING = "nothing to do"

_COUNT = re.compile(r"([a-z_ ]+) (\d+)")


def told(counts: Mapping[str, int]) -> str:
    """How often it did what, in words."""
    return ", ".join(f"{name} {number}" for name, number in counts.items()) or NOTHING


def counts_of(text: str) -> dict[str, int]:
    """What `told` wrote, as numbers."""
    found = (_COUNT.fullmatch(part) for part in text.split(", "))
    return {match[1]: int(match[2]) for match in found if match is not None}
