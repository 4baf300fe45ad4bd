"""The template of a command: items of text with the names of values.

`${name}` stands for a value, `$$` for the character `$`; any other `$` is a mistake. Which values
there are (`${timeperiod}` and others) is decided in `worker.command`. Each item stays one argument
of the program whatever is inserted, and inserted text is not expanded again.

An item that begins with a value could become an option of the program (`-o/etc/passwd`), and who
chooses the value, in a schedule for example, need not be allowed to choose options. So a value may
make an item begin with `-` only if it is declared so.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache

from synergy.errors import InvalidValue

_TOKEN = re.compile(r"\$\$|\$\{([^{}]*)\}|\$")


@dataclass(frozen=True, slots=True)
class Placeholder:
    """The place of a value."""

    name: str


@dataclass(frozen=True, slots=True)
class Item:
    """An item of a command: literal texts and placeholders."""

    parts: tuple[str | Placeholder, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(part.name for part in self.parts if isinstance(part, Placeholder))

    def fill(self, values: Mapping[str, object]) -> str:
        """The text with the values; a name without a value stays as it is written."""
        return "".join(
            part if isinstance(part, str) else str(values.get(part.name, f"${{{part.name}}}"))
            for part in self.parts
        )

    def option_from(self, values: Mapping[str, object]) -> str | None:
        """The name whose value makes the item begin with `-`; None if no value does.

        None also if a name without a value comes first.
        """
        before = None  # the last value so far; all of them were empty
        for part in self.parts:
            if isinstance(part, str):
                return before if part.startswith("-") else None
            if part.name not in values:
                return None
            before = part.name
            if text := str(values[part.name]):
                return before if text.startswith("-") else None
        return None

    def check_option(self, values: Mapping[str, object], allowed: Collection[str]) -> None:
        """Raises InvalidValue if a value makes the item an option, and is not `allowed` to.

        The message does not quote the value, which may be secret.
        """
        name = self.option_from(values)
        if name is not None and name not in allowed:
            raise InvalidValue(
                f"the value of ${{{name}}} makes an item of the command begin with -, like an "
                f"option: declare {name}=argument(..., allow_option=True) if that is meant"
            )

    def check_text(self, values: Mapping[str, object]) -> None:
        """Raises InvalidValue for a value with NUL, at which the system ends an argument."""
        for part in self.parts:
            if isinstance(part, Placeholder) and "\0" in str(values.get(part.name, "")):
                raise InvalidValue(
                    f"the value of ${{{part.name}}} has a NUL character, which no command can get: "
                    "give it without"
                )


@lru_cache(1_000)
def parse_item(text: str) -> Item:
    """The item; raises InvalidValue with the position of a `$` that begins neither form."""
    parts: list[str | Placeholder] = []
    end = 0
    for found in _TOKEN.finditer(text):
        parts.append(text[end : found.start()])
        if found[0] == "$":
            raise InvalidValue(
                f"character {found.start() + 1}: $ begins neither ${{name}} nor $$, "
                "which stands for one $"
            )
        parts.append("$" if found[1] is None else Placeholder(found[1]))
        end = found.end()
    parts.append(text[end:])
    return Item(tuple(part for part in parts if part))


def check_values(
    command: Collection[str], values: Mapping[str, object], allowed: Collection[str]
) -> None:
    """Raises InvalidValue for a value that a command cannot get, or that makes an item an option.

    The names in `allowed` may do so.
    """
    for text in command:
        item = parse_item(text)
        item.check_text(values)
        item.check_option(values, allowed)
