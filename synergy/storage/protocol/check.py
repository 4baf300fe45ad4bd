"""The result of a check of a whole store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from synergy.storage.malformed import MalformedRow

Progress = Callable[[int, int], None]
"""Called with the amount done, and of all."""


@dataclass(frozen=True, slots=True)
class StoreCheck:
    """What a check of everything found: `damage` of the file or the indexes, and malformed rows.

    `rows` is the number of rows that were read. `was_marked`: damage was known before, so that the
    store was not used.
    """

    location: str
    rows: int
    damage: tuple[str, ...]
    malformed: tuple[MalformedRow, ...]
    was_marked: bool = False

    @property
    def is_sound(self) -> bool:
        return not (self.damage or self.malformed)

    @property
    def is_released(self) -> bool:
        """Whether a store that was marked as damaged is used again."""
        return self.was_marked and not self.damage
