"""Pages of lists."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Page(Generic[Item]):
    """Items of a list, and the cursor of the next page or None."""

    items: tuple[Item, ...]
    next: str | None
