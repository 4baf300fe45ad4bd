"""Typed readers for the fields of an entry of `context.py`.

Each reader returns a sound value and puts what is wrong into the findings. The fields that
were asked for are the known ones, so `done` can name the rest.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import TypeVar

from synergy.config.findings import Findings, suggestion
from synergy.errors import InvalidValue
from synergy.schedule.format import literals

Choice = TypeVar("Choice", bound=Enum)


class Fields:
    """The fields of one entry; `where` says in messages which one it is."""

    def __init__(self, where: str, values: Mapping[str, object], findings: Findings) -> None:
        self.where = where
        self.findings = findings
        self._values = values
        self._asked: set[str] = set()

    def mistake(self, name: str, what: str) -> None:
        """Something is wrong with this field."""
        self.findings.mistake(self.where, f"{name}: {what}")

    def has(self, name: str) -> bool:
        """Whether the field was given; None is as good as nothing."""
        self._asked.add(name)
        return self._values.get(name) is not None

    def get(self, name: str) -> object:
        """The field as it was written; None if it was not."""
        self._asked.add(name)
        return self._values.get(name)

    def required(self, *names: str) -> None:
        """Notes those that are missing."""
        for name in names:
            if not self.has(name):
                self.findings.mistake(self.where, f"{name} is missing")

    def done(self) -> None:
        """Notes the fields that nobody asked for."""
        for name in self._values:
            if name not in self._asked:
                self.findings.mistake(
                    self.where, f"unknown field {name}: {suggestion(name, self._asked)}"
                )

    def text(self, name: str, default: str = "") -> str:
        value = self.get(name)
        if value is None:
            return default
        if not isinstance(value, str) or not value:
            self.mistake(name, f"expected a text, not {value!r}")
            return default
        return value

    def flag(self, name: str, default: bool) -> bool:
        value = self.get(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            self.mistake(name, f"expected True or False, not {value!r}")
            return default
        return value

    def integer(self, name: str, default: int, low: int = 1, high: int | None = None) -> int:
        value = self.get(name)
        if value is None:
            return default
        highest = math.inf if high is None else high
        if isinstance(value, int) and not isinstance(value, bool) and low <= value <= highest:
            return value
        span = f"{low} or more" if high is None else f"{low} to {high}"
        self.mistake(name, f"expected a whole number, {span}, not {value!r}")
        return default

    def duration(self, name: str, default: float, *, zero: bool = False) -> float:
        """Seconds, from a number of them or from a text such as '5m'; `zero`: 0 is allowed."""
        value = self.get(name)
        if value is None:
            return default
        try:
            seconds = literals.duration(value).total_seconds()
        except InvalidValue as error:
            self.mistake(name, str(error))
            return default
        if seconds or zero:
            return seconds
        self.mistake(name, f"expected more than 0 and at most ten years, not {value!r}")
        return default

    def choice(self, name: str, default: Choice) -> Choice:
        """A member of the default's enum, by its value."""
        value = self.get(name)
        if value is None:
            return default
        members = {member.value: member for member in type(default)}
        if isinstance(value, str) and value in members:
            return members[value]
        self.mistake(name, f"unknown value {value!r}: {suggestion(str(value), members)}")
        return default

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts."""
        value = self.get(name)
        if value is None:
            return ()
        if not isinstance(value, Sequence) or isinstance(value, str | bytes):
            self.mistake(name, f"expected a list of texts, not {value!r}")
            return ()
        if not all(isinstance(item, str) and item for item in value):
            self.mistake(name, f"expected a list of texts only, not {list(value)!r}")
        return tuple(item for item in value if isinstance(item, str) and item)

    def mapping(self, name: str) -> dict[str, object]:
        """A dictionary whose keys are texts."""
        value = self.get(name)
        if value is None:
            return {}
        if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
            self.mistake(name, f"expected a dictionary with texts as keys, not {value!r}")
            return {}
        return dict(value)
