"""What cannot be stored in a row, where it is, and what to give instead."""

from __future__ import annotations

from dataclasses import is_dataclass
from enum import Enum
from typing import Any

from synergy.errors import InvalidValue

_SHOWN = 80  # characters of a value or a path that a refusal shows
_OF_NUMPY = {
    "M": "convert it, for example value.astype('datetime64[us]').item().replace(tzinfo=UTC)",
    "m": "convert it, for example value.astype('timedelta64[us]').item()",
    "f": "give float(value), or text",
    "c": "give its real and its imaginary part",
}


class Unstorable(InvalidValue):
    """A value cannot be stored: `problem` says why and what to do, `field` where it is."""

    def __init__(self, problem: str, field: str = "") -> None:
        super().__init__(f"field {short(field)} {problem}" if field else problem)
        self.problem = problem
        self.field = field

    def within(self, name: str) -> Unstorable:
        """The same, seen from the value that holds this one as `name`."""
        inner = self.field
        joint = "" if not inner or inner.startswith("[") else "."
        return Unstorable(self.problem, f"{name}{joint}{inner}")


def advice(value: Any, kind: object) -> str:
    """What to give instead of a value, whose dtype, if it has one, is of this kind."""
    if hasattr(value, "tolist") and getattr(value, "shape", None) != ():
        return "give value.tolist()"
    if isinstance(kind, str) and kind in _OF_NUMPY:
        return _OF_NUMPY[kind]
    if isinstance(value, set | frozenset):
        return "it has no order, give sorted(value)"
    if isinstance(value, Enum):
        return "give its .value"
    if is_dataclass(value) and not isinstance(value, type):
        return "give dataclasses.asdict(value)"
    if isinstance(value, bytearray | memoryview):
        return "give bytes(value)"
    if hasattr(value, "__next__"):
        return "it can be read only once, give list(value)"
    return "give text, numbers, dates, lists and mappings of them"


def kind_of(value: object) -> str:
    """The type of a value, in words."""
    kind = type(value)
    name = kind.__qualname__
    if kind.__module__ != "builtins":
        name = f"{kind.__module__}.{name}"
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {short(name)}"


def seen(value: object) -> str:
    """A value as a refusal shows it."""
    return short(repr(value))


def named(name: str) -> str:
    """The name of a field as a refusal shows it."""
    return short(name if name.isprintable() and name else repr(name))


def short(text: str) -> str:
    """The beginning of a text."""
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
