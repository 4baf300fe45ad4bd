"""The outcomes that work may return, and the error of a command. An exception fails the attempt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import index

from synergy.errors import SynergyError


@dataclass(frozen=True, slots=True)
class Processed:
    """The work is done. `counts` are numbers to show (`{"sessions": 812}`)."""

    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Nothing:
    """There was nothing to do; the unit ends as `noop`."""


Outcome = Processed | Nothing

_BEYOND = 1 << 63


def checked(counts: Mapping[str, int]) -> dict[str, int]:
    """The counts as Python integers; raises TypeError for those that cannot be stored."""
    found: dict[str, int] = {}
    for name, count in counts.items():
        if not isinstance(name, str) or not name.isprintable():
            raise TypeError(f"the name {name!r} of a count is not plain text")
        try:
            number = index(count)
        except TypeError:
            number = _BEYOND
        if abs(number) >= _BEYOND:
            raise TypeError(f"the count {name!r} is not a whole number within 63 bits")
        found[name] = number
    return found


class CommandFailed(SynergyError):
    """A program failed: by its exit code or a signal, or because it could not be started.

    `how` says which, or why it was not started; the message also has the end of its `output`.
    """

    def __init__(self, how: str, output: str = "") -> None:
        super().__init__(f"{how}: {output}" if output else how)
        self.how = how
