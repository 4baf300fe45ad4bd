"""What a run of the collector did, as counts by action, and their text in the journal."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Self

_NOTHING = "nothing to do"
_COUNT = re.compile(r"([a-z_ ]+) (\d+)")


@dataclass(frozen=True, slots=True)
class CollectorCounts:
    """The number of units by action, and the numbers of two other things.

    `recovered` counts the unfinished writes that were completed, `forgotten` the old rows that were
    deleted.
    """

    publish: int = 0
    hand_out: int = 0
    time_out: int = 0
    cancel: int = 0
    recovered: int = 0
    forgotten: int = 0

    @classmethod
    def parse(cls, text: str) -> Self:
        """The counts in a text, in any order; unknown names are ignored."""
        found = (_COUNT.fullmatch(part) for part in text.split(", "))
        numbers = {match[1].replace(" ", "_"): int(match[2]) for match in found if match}
        return cls(**{one.name: numbers.get(one.name, 0) for one in fields(cls)})

    def __str__(self) -> str:
        """The counts that are not 0, in words: `hand out 2, forgotten 500`."""
        return ", ".join(f"{name} {n}" for name, n in self.by_action().items()) or _NOTHING

    def __bool__(self) -> bool:
        """Whether anything was done."""
        return bool(self.by_action())

    def by_action(self) -> Mapping[str, int]:
        """The counts that are not 0, by the name of the action in journal and metrics."""
        return {name.replace("_", " "): n for name, n in asdict(self).items() if n}
