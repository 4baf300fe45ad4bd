"""Named queries from `.sql` files.

A query begins with a line `-- name: <name>` and ends before the next such line. The comment lines
after the name explain it.
"""

from __future__ import annotations

import re
from pathlib import Path

SQL = Path(__file__).parent / "sql"

_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)


def queries(noun: str) -> dict[str, str]:
    """The queries of `sql/<noun>.sql` by name."""
    _, *parts = _NAME.split((SQL / f"{noun}.sql").read_text())
    names, texts = parts[::2], parts[1::2]
    return {name: _bare(text) for name, text in zip(names, texts, strict=True)}


def _bare(text: str) -> str:
    lines = [line for line in text.splitlines() if not line.startswith("--")]
    return "\n".join(lines).strip().removesuffix(";")
