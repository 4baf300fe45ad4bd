"""Configurations `{name, dependencies}`, as event-dependency systems have them: without a program.

The program is given once for all of them, where they are added.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from synergy.errors import InvalidValue
from synergy.schedule.format.literals import shown

Fields = Mapping[str, object]


def unfolded(items: Sequence[Fields]) -> list[Fields]:
    """The schedules in these items; a mapping from names to configurations is several.

    Raises InvalidValue for a configuration whose name differs from its key.
    """
    return [each for item in items for each in _unfolded(item)]


def with_program(items: Sequence[Fields], program: Fields) -> list[Fields]:
    """The schedules, each with these fields of a program unless it has a program of its own."""
    return [
        item if "process" in item or "target" in item else {**program, **item} for item in items
    ]


def _unfolded(item: Fields) -> Iterator[Fields]:
    inner = {name: each for name, each in item.items() if isinstance(each, Mapping)}
    if not inner or len(inner) < len(item) or any("dependencies" not in e for e in inner.values()):
        yield item
        return
    for key, fields in inner.items():
        name = fields.get("name", key)
        if name != key:
            raise InvalidValue(f"{key}: its name is {shown(name)}, which differs from its key")
        yield {"name": key, **fields}
