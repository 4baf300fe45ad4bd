"""CSV files that a spreadsheet program may open: no cell is a formula."""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from synergy.errors import InvalidValue

_FORMULA = frozenset("=+-@\N{MINUS SIGN}")  # begin a formula in spreadsheet programs
_SEPARATORS = ("\t", "\r", "\n")  # some programs begin a new cell after each of them
_SPLIT = re.compile(r"([;\t\r\n])")  # these, and `;` where `,` is the decimal separator
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")


def write_csv(path: Path, headers: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Writes the file atomically; raises InvalidValue if that is impossible."""
    unfinished = path.absolute().with_name(f".{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with unfinished.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows(map(safe, (headers, *rows)))
        unfinished.replace(path)
    except OSError as error:
        with suppress(OSError):
            unfinished.unlink()
        raise InvalidValue(f"{path} cannot be written: {error.strerror}") from error


def csv_text(headers: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """The same table as text."""
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(map(safe, (headers, *rows)))
    return text.getvalue()


def safe(cells: Sequence[object]) -> list[object]:
    """The cells; `'` is put before text that a spreadsheet program could take for a formula.

    Numbers, and text that is only a number, stay as they are.
    """
    return [_safe(cell) if isinstance(cell, str) else cell for cell in cells]


def _safe(text: str) -> str:
    """The text, made safe in each part that a program with another separator takes for a cell."""
    begin, *others = _SPLIT.split(text)
    others[1::2] = (f"'{part}" if _is_formula(part.lstrip('"')) else part for part in others[1::2])
    return "".join(("'" if _is_formula(text) else "", begin, *others))


def _is_formula(text: str) -> bool:
    """Whether the first visible character, in any width, begins a formula."""
    if _NUMBER.fullmatch(text):
        return False
    first = next((char for char in text if char.isprintable() and not char.isspace()), "")
    return text.startswith(_SEPARATORS) or _plain(first) in _FORMULA


def _plain(char: str) -> str:
    """The character without its width or position: `=` for the full-width equals sign."""
    return unicodedata.normalize("NFKC", char)[:1]
