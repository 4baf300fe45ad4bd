"""What commands print: lines, tables, JSON, and a progress line.

Results go to standard output, everything about the way there to standard error. Colour and
progress appear only on a terminal, and colour not where NO_COLOR is set. What programs,
receivers and people wrote is shown as it is, but never obeyed: see `visible` and `one_line`.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from enum import Enum
from types import TracebackType
from typing import TextIO

_COLOURS = {"red": "31", "green": "32", "yellow": "33", "blue": "34", "dim": "2", "bold": "1"}
_OBEYED = re.compile(  # control characters, ends of lines, turns of the reading direction
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)

REASON = 100  # characters of a reason in a list


def say(text: str = "") -> None:
    """A line of the result."""
    sys.stdout.write(text + "\n")


def note(text: str) -> None:
    """A line about the way there, which nobody parses."""
    sys.stderr.write(text + "\n")


def print_json(value: object) -> None:
    """The result as indented JSON; dataclasses, enums and instants are understood."""
    import orjson

    options = orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS | orjson.OPT_UTC_Z
    sys.stdout.write(orjson.dumps(value, default=_plain, option=options).decode() + "\n")


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, set | frozenset):
        return sorted(value)
    return str(value)


def visible(text: str) -> str:
    """The text with an escape for each character that a terminal would obey.

    Ends of lines and tabs stay what they are.
    """
    return _OBEYED.sub(lambda char: char[0].encode("unicode_escape").decode(), text)


def one_line(text: object, most: int | None = None) -> str | None:
    """What others wrote, on one line and without what a terminal would obey; None for nothing.

    At most so many characters of it: all of it is in the JSON.
    """
    words = visible(" ".join(str(text or "").split()))
    if most is None or len(words) <= most:
        return words or None
    return f"{words[:most]}..."


def table(headers: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Columns under headers; numbers to the right, None as `-`; each row is one line."""
    headers = list(map(_in_line, headers))
    cells = [["-" if cell is None else _in_line(str(cell)) for cell in row] for row in rows]
    if not cells:
        note("nothing to show")
        return
    widths = [max(map(len, column)) for column in zip(headers, *cells, strict=True)]
    right = [_is_numeric(column) for column in zip(*rows, strict=True)]
    say(colour(_line(headers, widths, right), "bold"))
    for row in cells:
        say(_line(row, widths, right))


def pairs(facts: Mapping[str, object]) -> None:
    """Names and values, a line each; what is empty is left out."""
    shown = {name: value for name, value in facts.items() if value not in (None, "", (), {}, [])}
    width = max(map(len, shown), default=0)
    for name, value in shown.items():
        say(f"{colour(name.replace('_', ' ').ljust(width), 'bold')}  {_in_line(_flat(value))}")


def _in_line(text: str) -> str:
    return visible(re.sub(r"[\n\t]+", " ", text))


def _flat(value: object) -> str:
    """A value on one line, enums by what they stand for."""
    match value:
        case Enum():
            return str(value.value)
        case Mapping():
            return ", ".join(f"{name} {_flat(inner)}" for name, inner in value.items())
        case list() | tuple():
            return ", ".join(map(_flat, value))
        case datetime():
            return instant(value) or ""
        case _:
            return str(value)


def instant(at: datetime | None) -> str | None:
    """An instant to the second, in UTC; None stays None."""
    return None if at is None else f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S}Z"


def size(number: float) -> str:
    """Bytes, in the unit that suits them."""
    for unit in ("B", "KiB", "MiB"):
        if number < 1024:
            return f"{number:.0f} {unit}"
        number /= 1024
    return f"{number:.1f} GiB"


def span(seconds: float) -> str:
    """How long something lasts, in the one unit that suits it."""
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds // length:.0f} {unit}"
    return f"{seconds:.0f} s"


def _is_numeric(column: Sequence[object]) -> bool:
    kinds = {type(cell) for cell in column if cell is not None}
    return bool(kinds) and kinds <= {int, float}


def _line(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    padded = (
        cell.rjust(width) if is_right else cell.ljust(width)
        for cell, width, is_right in zip(cells, widths, right, strict=True)
    )
    return "  ".join(padded).rstrip()


def colour(text: str, name: str, stream: TextIO | None = None) -> str:
    """`text` in a colour, where `stream` (default standard output) is a terminal."""
    if "NO_COLOR" in os.environ or not (stream or sys.stdout).isatty():
        return text
    return f"\x1b[{_COLOURS[name]}m{text}\x1b[0m"


class Progress:
    """A line on a terminal's standard error that says how far long work is; else nothing.

    To be used as a context; the line is gone when it ends.
    """

    def __init__(self, label: str, total: int | None = None) -> None:
        self._label = label
        self._total = total
        self._is_shown = sys.stderr.isatty()
        self._last = ""

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._last:
            self._write("")

    def show(self, done: int, total: int | None = None) -> None:
        """How much is done, of how much, as far as that is known."""
        total = self._total if total is None else total
        if not self._is_shown:
            return
        share = f" of {total:,} ({done * 100 // total} %)" if total else ""
        line = f"{self._label}: {done:,}{share}"
        if line != self._last:
            self._write(line)

    def _write(self, line: str) -> None:
        sys.stderr.write(f"\r\x1b[2K{line}")
        sys.stderr.flush()
        self._last = line
