"""Output of commands: lines, tables, JSON, and a progress line.

Results go to standard output, everything else to standard error. Colour and progress appear
only on a terminal, and colour only without NO_COLOR. Invisible characters appear as escapes in
everything that is written: see `synergy.visible_text`.
"""

from __future__ import annotations

import argparse
import os
import re
import secrets
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from enum import Enum
from types import TracebackType
from typing import TextIO, TypeVar

from synergy.visible_text import visible, visible_json, visible_line

_COLOURS = {"red": "31", "green": "32", "yellow": "33", "blue": "34", "dim": "2", "bold": "1"}
_OURS = secrets.token_hex(8)  # marks the colours of `colour`, so that no other text has colours
_SGR = re.compile(rf"\x1b{_OURS}(\[[0-9]+m)")
REASON = 100  # characters of a reason in a list

Shown = TypeVar("Shown")


def say(text: str = "") -> None:
    """Writes a line of the result."""
    sys.stdout.write(_shown(text, sys.stdout) + "\n")


def copy_out(text: str) -> None:
    """Writes text for a file as it is; on a terminal, invisible characters appear as escapes."""
    sys.stdout.write(visible(text) if sys.stdout.isatty() else text)


def note(text: str) -> None:
    """Writes a line for people to standard error."""
    sys.stderr.write(_shown(text, sys.stderr) + "\n")


def print_json(value: object) -> None:
    """Writes a value as indented JSON; dataclasses, enums and instants are supported."""
    import orjson

    options = orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS | orjson.OPT_UTC_Z
    encoded = orjson.dumps(value, default=_plain, option=options).decode()
    sys.stdout.write(visible_json(encoded) + "\n")


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, set | frozenset):
        return sorted(value)
    return str(value)


def show(arguments: argparse.Namespace, value: Shown, print_: Callable[[Shown], object]) -> None:
    """Prints a value: as JSON if `--json` was given, else with `print_`."""
    (print_json if arguments.json else print_)(value)


def show_change(arguments: argparse.Namespace, facts: Mapping[str, object], *lines: str) -> None:
    """Prints a change: with `--json` the facts and whether it was a dry run, else the lines."""
    if arguments.json:
        print_json({**facts, "dry_run": arguments.dry_run})
        return
    for line in lines:
        say(line)


def note_more(cursor: str | None) -> None:
    """Names the option for the next page, if there is one."""
    if cursor is not None:
        note(f"there are more: --cursor {cursor}")


def error(text: str) -> None:
    """Writes an error for people to standard error."""
    note(f"{colour('error', 'red', sys.stderr)}: {text}")


def warn(text: str) -> None:
    """Writes a warning for people to standard error."""
    note(f"{colour('warning', 'yellow', sys.stderr)}: {text}")


def one_line(text: object, most: int | None = None) -> str | None:
    """The text on one line, with invisible characters as escapes; None if it is empty.

    At most `most` characters are kept: JSON output has the whole text.
    """
    words = visible(" ".join(str(text or "").split()))
    if most is None or len(words) <= most:
        return words or None
    return f"{words[:most]}..."


def table(headers: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Prints columns under headers: a line for each row, numbers to the right, None as `-`."""
    headers = list(map(visible_line, headers))
    cells = [["-" if cell is None else visible_line(str(cell)) for cell in row] for row in rows]
    if not cells:
        note("nothing to show")
        return
    widths = [max(map(len, column)) for column in zip(headers, *cells, strict=True)]
    right = [_is_numeric(column) for column in zip(*rows, strict=True)]
    say(colour(_line(headers, widths, right), "bold"))
    for row in cells:
        say(_line(row, widths, right))


def pairs(facts: Mapping[str, object]) -> None:
    """Prints a line for each name and value; empty values are left out."""
    shown = {name: value for name, value in facts.items() if value not in (None, "", (), {}, [])}
    width = max(map(len, shown), default=0)
    for name, value in shown.items():
        say(f"{colour(name.replace('_', ' ').ljust(width), 'bold')}  {visible_line(_flat(value))}")


def _flat(value: object) -> str:
    """A value on one line; an enum by its value."""
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
    """A number of bytes in B, KiB, MiB or GiB."""
    for unit in ("B", "KiB", "MiB"):
        if number < 1024:
            return f"{number:.0f} {unit}"
        number /= 1024
    return f"{number:.1f} GiB"


def span(seconds: float) -> str:
    """A duration in the largest unit of which it has at least two."""
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


def _shown(text: str, stream: TextIO) -> str:
    """What is written of a text: all of it visible, except colours where there are any."""
    if not _has_colours(stream):
        return visible(text)
    texts = _SGR.split(text)  # every second one is a colour
    texts[::2] = map(visible, texts[::2])
    texts[1::2] = (f"\x1b{colour}" for colour in texts[1::2])
    return "".join(texts)


def _has_colours(stream: TextIO) -> bool:
    return "NO_COLOR" not in os.environ and stream.isatty()


def colour(text: str, name: str, stream: TextIO | None = None) -> str:
    """`text` for `say` or `note`, in a colour where `stream` (default standard output) has any."""
    if not _has_colours(stream or sys.stdout):
        return text
    return f"\x1b{_OURS}[{_COLOURS[name]}m{text}\x1b{_OURS}[0m"


class Progress:
    """A progress line on standard error; nothing if that is no terminal.

    A context manager, which removes the line at the end.
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
        """Shows the progress; `total` may be unknown."""
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
