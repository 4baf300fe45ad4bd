"""Functions that read and write the fields of a value, each compiled from one expression."""

from __future__ import annotations

from collections.abc import Callable
from types import NoneType
from typing import Any, get_args

from synergy.storage.malformed import wrong

Convert = Callable[..., Any]

_CHECKS = {
    str: "isinstance({0}, str)",  # the name of an event is of a subclass
    int: "isinstance({0}, int)",  # the driver of MongoDB has a subclass of its own
    bool: "type({0}) is bool",
    bytes: "isinstance({0}, bytes)",
}


class Expression:
    """The source of an expression, and the functions that it refers to."""

    def __init__(self, **scope: Convert) -> None:
        self._scope = scope

    def converted(self, name: str, source: str, convert: Convert | None) -> str:
        """The source of a converted value; None stays None."""
        if convert is None:
            return source
        self._scope[f"convert_{name}"] = convert
        return f"(None if (_{name} := {source}) is None else convert_{name}(_{name}))"

    def read(
        self, name: str, source: str, hint: object, convert: Convert | None, missing: Convert | None
    ) -> str:
        """The source of a value that is read.

        None is read as `missing()`, or stays None if the type `hint` allows it. A value that is
        not converted is checked to be of the type.
        """
        plain = next((one for one in (hint, *get_args(hint)) if one in _CHECKS), None)
        here = f"_{name}"
        bound = f"({here} := {source})"
        if missing is None and NoneType not in get_args(hint):
            return self._present(name, bound, plain, convert)
        absent = "None"
        if missing is not None:
            self._scope[f"missing_{name}"] = missing
            absent = f"missing_{name}()"
        return f"({absent} if {bound} is None else {self._present(name, here, plain, convert)})"

    def _present(self, name: str, source: str, plain: Any, convert: Convert | None) -> str:
        """The source of a value that must not be None."""
        if convert is not None:
            self._scope[f"convert_{name}"] = convert
            return f"convert_{name}({source})"
        if plain is None:
            return source
        self._scope["wrong"] = _raise_wrong
        return f"(_{name} if {_CHECKS[plain].format(source)} else wrong(_{name}))"

    def function(self, parameter: str, source: str) -> Callable[..., Any]:
        """The function of one parameter that returns the expression `source`."""
        compiled: Callable[..., Any] = eval(f"lambda {parameter}: {source}", self._scope)
        return compiled


def _raise_wrong(stored: object) -> None:
    raise wrong(stored)
