"""Reads a definition field by field and collects all mistakes in it.

A reader records a mistake with its place. For a wrong field it returns the default, or leaves out
the wrong items of a list; a definition with mistakes is never used.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import Enum
from typing import TypeVar

from synergy.errors import InvalidValue
from synergy.schedule.format import literals
from synergy.schedule.format.literals import shown, suggestion
from synergy.schedule.zones import zone

Choice = TypeVar("Choice", bound=Enum)
Read = TypeVar("Read")

NO_TIME = timedelta(0)
SHORTEST = timedelta.resolution  # the shortest duration above 0

_HIGHEST = 10**9
_MOST_UNKNOWN = 20  # the most unknown fields that are named
_UNWRITABLE = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Location:
    """A place in a document, as messages name it.

    `note` is called with each message; `show` formats a value as the document would.
    """

    note: Callable[[str], object]
    place: str = ""
    show: Callable[[object], str] = shown

    def at(self, name: str) -> Location:
        """A place within this one."""
        return replace(self, place=f"{self.place}{name}: ")

    def item(self, number: int) -> Location:
        """An item of the list that this place is; the first is number 1."""
        return replace(self, place=f"{self.place.removesuffix(': ')} {number}: ")

    def mistake(self, what: str) -> None:
        """Records a mistake at this place."""
        self.note(f"{self.place}{what}")


class FieldReader:
    """The fields of one mapping; the fields that were read are the known ones."""

    def __init__(self, location: Location, values: Mapping[str, object]) -> None:
        self.location = location
        self._values = values
        self._asked: set[str] = set()

    def mistake(self, name: str, what: str) -> None:
        """Records a mistake in this field."""
        self.location.at(name).mistake(what)

    def has(self, name: str) -> bool:
        """Whether the field was given, and is not None."""
        return self.get(name) is not None

    def get(self, name: str) -> object:
        """The value of the field as it was written; None if it is missing."""
        self._asked.add(name)
        return self._values.get(name)

    def required(self, *names: str) -> None:
        """Records a mistake for each of these fields that is missing."""
        for name in names:
            if not self.has(name):
                self.location.mistake(f"{name} is missing")

    def done(self) -> None:
        """Records fields that were not read as unknown: the first by name, and how many more."""
        unknown = [name for name in self._values if name not in self._asked]
        for name in unknown[:_MOST_UNKNOWN]:
            if isinstance(name, str):
                self.location.mistake(f"unknown field {name:.60}: {suggestion(name, self._asked)}")
            else:
                self.location.mistake(
                    f"the name of a field is a text, not {self.location.show(name)}"
                )
        if len(unknown) > _MOST_UNKNOWN:
            self.location.mistake(f"{len(unknown) - _MOST_UNKNOWN:,} more unknown fields")

    def text(self, name: str, default: str = "", *, most: int = 1000) -> str:
        """A text on one line that is not blank, of at most so many characters."""
        value = self.get(name)
        return (
            default if value is None else checked_text(value, self.location.at(name), most, default)
        )

    def texts(self, name: str, default: tuple[str, ...] = ()) -> tuple[str, ...]:
        """A list of texts, or one text instead of a list of one."""
        value = self.get(name)
        if value is None:
            return default
        if isinstance(value, str):
            value = [value]
        if not isinstance(value, Sequence) or not value:
            self.mistake(name, f"expected a list of texts, not {self.location.show(value or None)}")
            return default
        return tuple(
            checked_text(item, self.location.at(name).item(number), 1000, "")
            for number, item in enumerate(value, 1)
        )

    def strings(self, name: str) -> tuple[str, ...]:
        """A list of strings of any characters and length, none of them empty."""
        value = self.get(name)
        if value is None:
            return ()
        if not isinstance(value, Sequence) or isinstance(value, str | bytes):
            self.mistake(name, f"expected a list of texts, not {self.location.show(value)}")
            return ()
        if not all(isinstance(item, str) and item for item in value):
            self.mistake(
                name, f"expected a list of texts only, not {self.location.show(list(value))}"
            )
        return tuple(item for item in value if isinstance(item, str) and item)

    def mapping(self, name: str) -> Mapping[str, object]:
        value = self.get(name)
        if value is None:
            return {}
        if not isinstance(value, Mapping):
            self.mistake(name, f"expected a mapping, not {self.location.show(value)}")
            return {}
        return value

    def text_mapping(self, name: str) -> dict[str, str]:
        """A mapping from texts to texts; empty texts are texts too."""
        texts = {}
        location = self.location.at(name)
        for given, value in self.mapping(name).items():
            key = checked_text(given, location, 200, "")
            texts[key] = "" if value == "" else checked_text(value, location.at(key), 10_000, "")
        return texts

    def flag(self, name: str, default: bool) -> bool:
        value = self.get(name)
        if isinstance(value, bool | None):
            return default if value is None else value
        true, false, other = map(self.location.show, (True, False, value))
        self.mistake(name, f"expected {true} or {false}, not {other}")
        return default

    def integer(self, name: str, default: int, low: int, high: int | None = None) -> int:
        value = self.get(name)
        if value is None:
            return default
        highest = math.inf if high is None else high
        if isinstance(value, int) and not isinstance(value, bool) and low <= value <= highest:
            return value
        span = f"{low:,} or more" if high is None else f"{low:,} to {high:,}"
        self.mistake(name, f"expected a whole number, {span}, not {self.location.show(value)}")
        return default

    def number(self, name: str, default: float) -> float:
        """A number from 0 to `_HIGHEST`."""
        value = self.get(name)
        if value is None:
            return default
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if isinstance(value, int | float) and is_number and 0.0 <= value <= _HIGHEST:
            return float(value)
        self.mistake(
            name, f"expected a number from 0 to {_HIGHEST:,}, not {self.location.show(value)}"
        )
        return default

    def duration(self, name: str, default: timedelta, *, least: timedelta = SHORTEST) -> timedelta:
        found = self.literal(name, literals.duration)
        if found is None or found >= least:
            return default if found is None else found
        limit = (
            "more than 0" if least == SHORTEST else f"at least {literals.spelled_duration(least)}"
        )
        self.mistake(name, f"expected {limit}, not {self.location.show(self.get(name))}")
        return default

    def literal(self, name: str, read: Callable[[object], Read]) -> Read | None:
        """What `read` makes of the value; None if it is missing or `read` raises InvalidValue."""
        value = self.get(name)
        if value is None:
            return None
        try:
            return read(value)
        except InvalidValue as error:
            self.mistake(name, str(error))
            return None

    def zone(self, name: str, default: str) -> str:
        """The name of a time zone that this machine knows."""
        text = self.text(name, default)
        return text if self.literal(name, lambda _: zone(text)) else default

    def choice(self, name: str, default: Choice) -> Choice:
        """A member of the default's enum, by its value."""
        value = self.get(name)
        if value is None:
            return default
        members = {member.value: member for member in type(default)}
        if isinstance(value, str) and value in members:
            return members[value]
        word = value if isinstance(value, str) else ""
        self.mistake(
            name, f"unknown value {self.location.show(value)}: {suggestion(word, members)}"
        )
        return default


def reader_of(value: object, location: Location, short: str = "", like: str = "") -> FieldReader:
    """The fields of a mapping; with `short`, another value stands for a mapping with that field.

    `like` is an example of a mapping, shown where the value is something else.
    """
    if isinstance(value, Mapping):
        return FieldReader(location, value)
    if short:
        return FieldReader(location, {short: value})
    example = f" such as {like}" if like else ""
    location.mistake(f"expected a mapping{example}, not {shown(value)}")
    return FieldReader(Location(lambda _message: None), {})


def kind_of(
    value: object, location: Location, what: str, kinds: Sequence[str]
) -> tuple[str, object]:
    """The only key of a mapping, which names its kind, and its value; "" if there is none."""
    if not isinstance(value, Mapping):
        location.mistake(f"expected a mapping such as {{{kinds[0]}: ...}}, not {shown(value)}")
        return "", None
    names = [str(name) for name in value]
    if len(names) != 1:
        given = f"not {' and '.join(names)} together" if names else "and there is none"
        known = [name for name in names if name in kinds]
        if len(known) == 1:  # the others may be its fields, one level too high
            inner = ", ".join(f"{name}: ..." for name in names if name not in known)
            given += f": {{{known[0]}: {{..., {inner}}}}}?"
        location.mistake(f"expected one kind of {what}, {given:.200}")
        return "", None
    if names[0] not in kinds:
        location.mistake(f"unknown {what} {names[0]:.60}: {suggestion(names[0], kinds)}")
        return "", None
    return names[0], value[names[0]]


def checked_text(value: object, location: Location, most: int, default: str) -> str:
    """The value, if it is a text that can be written; else the default."""
    if not isinstance(value, str):
        quotes = "" if isinstance(value, Mapping | Sequence) else ": put it in quotes"
        location.mistake(f"expected a text, not {location.show(value)}{quotes}")
    elif not value.strip():
        location.mistake("expected a text, not an empty one")
    elif len(value) > most:
        location.mistake(f"{len(value):,} characters: the most is {most:,}")
    elif found := _UNWRITABLE.search(value):  # not quoted: it may be a secret
        location.mistake(f"character {found.start() + 1} is not allowed in a text")
    else:
        return value
    return default
