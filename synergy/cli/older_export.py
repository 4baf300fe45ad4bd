"""Reads exported collections of Synergy 1 and 2: files of `mongoexport` or `bsondump`.

A file has one document a line, as extended JSON; its name is that of the collection.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from synergy.commands.older.records import READERS, Document, Documents
from synergy.errors import InvalidValue, NotFound

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def exported_files(path: Path) -> dict[Path, str]:
    """The files of known collections, with their names: those in a folder, or one file."""
    if not path.exists():
        raise NotFound("file or folder", str(path))
    found = sorted(path.iterdir()) if path.is_dir() else [path]
    files = {file: _collection(file) for file in found if _collection(file) in READERS}
    if not files:
        expected = ", ".join(f"{name}.json" for name in READERS)
        raise InvalidValue(f"{path} holds no exported collection: expected {expected}")
    return files


def exported(files: Mapping[Path, str]) -> Documents:
    """Collection, place and content of each document; raises InvalidValue with the line."""
    for path, collection in files.items():
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    place = f"{path.name} line {number}"
                    yield collection, place, _document(line, place)


def _collection(path: Path) -> str:
    return path.stem if path.suffix in (".json", ".jsonl") else ""


def _document(line: bytes, place: str) -> Document:
    if line.lstrip().startswith(b"["):
        raise InvalidValue(f"{place}: expected one document a line: export without --jsonArray")
    try:
        found = json.loads(line, object_hook=_plain)
    except (ValueError, RecursionError, OverflowError) as error:
        raise InvalidValue(f"{place}: {error}") from None
    if not isinstance(found, dict):
        raise InvalidValue(f"{place}: expected a JSON object, not {type(found).__name__}")
    return found


def _plain(value: dict[str, Any]) -> object:
    """The value that an object of extended JSON stands for; other objects stay as they are."""
    if len(value) != 1:
        return value
    ((kind, inner),) = value.items()
    match kind, inner:
        case "$oid", str():
            return inner
        case (("$numberInt" | "$numberLong"), (str() | int())):
            return int(inner)
        case "$numberDouble", (str() | int() | float()):
            return float(inner)
        case "$date", int():
            return _EPOCH + timedelta(milliseconds=inner)
        case "$date", str():
            found = datetime.fromisoformat(inner)
            return found if found.tzinfo else found.replace(tzinfo=UTC)
        case _:
            return value
