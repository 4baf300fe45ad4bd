"""The error for values that cannot be stored in a row: the value's place, and advice."""

from __future__ import annotations

from dataclasses import is_dataclass
from enum import Enum
from typing import Any

from synergy.errors import InvalidValue

_SHOWN = 80  # characters of a value or a path that a message shows
_OF_NUMPY = {
    "M": "convert it, for example value.astype('datetime64[us]').item().replace(tzinfo=UTC)",
    "m": "convert it, for example value.astype('timedelta64[us]').item()",
    "f": "give float(value), or text",
    "c": "give its real and its imaginary part",
}


class Unstorable(InvalidValue):
    """A value cannot be stored. `problem` holds reason and advice, `field` the value's path."""

    def __init__(self, problem: str, field: str = "") -> None:
        super().__init__(f"field {short(field)} {problem}" if field else problem)
        self.problem = problem
        self.field = field

    def within(self, name: str) -> Unstorable:
        """The same error with the path extended by `name`, the field that holds the value."""
        inner = self.field
        joint = "" if not inner or inner.startswith("[") else "."
        return Unstorable(self.problem, f"{name}{joint}{inner}")


def advice(value: Any, kind: object) -> str:
    """The advice for a value; `kind` is the kind of its dtype, if it has one."""
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
    """The type of a value as text, with its article."""
    kind = type(value)
    name = kind.__qualname__
    if kind.__module__ != "builtins":
        name = f"{kind.__module__}.{name}"
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {short(name)}"


def seen(value: object) -> str:
    """A value as messages show it."""
    return short(repr(value))


def named(name: str) -> str:
    """The name of a field as messages show it."""
    return short(name if name.isprintable() and name else repr(name))


def short(text: str) -> str:
    """The text, shortened if it is long."""
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
