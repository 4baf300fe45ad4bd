"""Values that are made for each unit or job: frozen for the type checker, and quick to make.

A frozen dataclass sets each field by a call of its own, which takes four to six times as long as an
assignment. With three journal entries for each unit, that was a sixth of a store's work for a unit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def value(cls: type[T]) -> type[T]:
    """A dataclass with slots that mypy treats as frozen; at run time nothing prevents a change."""
    return dataclass(slots=True, unsafe_hash=True)(cls)
