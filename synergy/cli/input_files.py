"""Reads YAML and JSON files as plain values.

YAML is read with the types of JSON only: `on`, `12:30` and `2026-11-21` stay strings. A key that
occurs twice is refused, because one of its values would be ignored.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import yaml  # type: ignore[import-untyped]

from synergy.errors import InvalidValue, NotFound

MOST_VALUES = 5_000_000  # the most values in a file, with aliases written out


def read_text(path: str) -> str:
    """The text of a file, or of standard input for `-`; raises NotFound or InvalidValue."""
    try:
        data = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    except FileNotFoundError:
        raise NotFound("file", path) from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidValue(f"{path} is not UTF-8: byte {error.start}") from None


def read_documents(path: str) -> Sequence[Mapping[str, object]]:
    """The objects of a YAML or JSON file: its documents, or the items of documents that are lists.

    Raises InvalidValue if the file cannot be parsed (with line and column), has no items, or an
    item is no object.
    """
    text = read_text(path)
    try:
        found = _json_or_yaml(text) if text.lstrip().startswith(("{", "[")) else _yaml(text)
    except (ValueError, InvalidValue, yaml.YAMLError) as error:
        raise InvalidValue(f"{path}: {_message(error)}") from None
    except (AttributeError, IndexError, KeyError, TypeError):  # raised by PyYAML's constructors
        raise InvalidValue(f"{path}: a value does not fit its tag (!!…): leave tags out") from None
    except RecursionError:
        raise InvalidValue(f"{path}: nested too deeply") from None
    items = []
    for number, item in enumerate((i for document in found for i in _items(document)), 1):
        if not isinstance(item, dict):
            what = f"number {number} is not an object with fields, but {item!r:.60}"
            raise InvalidValue(f"{path}: {what}")
        items.append(item)
    if not items:
        raise InvalidValue(f"{path}: there is nothing in it")
    return items


def read_lines(path: str) -> Sequence[Mapping[str, object]]:
    """The objects of a file with one JSON object a line; blank lines are ignored.

    Raises InvalidValue for the first line that is no object.
    """
    items = _lines(read_text(path), path)
    if not items:
        raise InvalidValue(f"{path}: there is nothing in it")
    return items


def read_rows(path: str) -> Sequence[Mapping[str, object]]:
    """The rows of a file: a JSON list of objects, one JSON object a line, or CSV with a header.

    The first character says which; all values of CSV are texts. Raises InvalidValue for anything
    else. An empty file has no rows.
    """
    text = read_text(path)
    match text.lstrip()[:1]:
        case "[":
            return _listed(text, path)
        case "{":
            return _lines(text, path)
        case _:
            return _csv_rows(text, path)


def _listed(text: str, path: str) -> Sequence[Mapping[str, object]]:
    try:
        (rows,) = _json(text)
    except (ValueError, RecursionError) as error:
        raise InvalidValue(f"{path}: {error}") from None
    assert isinstance(rows, list)
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict):
            raise InvalidValue(f"{path}: number {number} is not an object, but {row!r:.60}")
    return rows


def _csv_rows(text: str, path: str) -> Sequence[Mapping[str, object]]:
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    rows: list[Mapping[str, object]] = []
    try:
        for row in reader:
            if None in row or None in row.values():
                fields = len(reader.fieldnames or ())
                raise InvalidValue(f"{path} line {reader.line_num}: expected {fields} values")
            rows.append(row)
    except csv.Error as error:
        raise InvalidValue(f"{path} line {reader.line_num}: {error}") from None
    return rows


def _lines(text: str, path: str) -> list[Mapping[str, object]]:
    items = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            item = _object(line)
        except (ValueError, RecursionError, InvalidValue) as error:
            raise InvalidValue(f"{path} line {number}: {error}") from None
        items.append(item)
    return items


def _object(line: str) -> Mapping[str, object]:
    item = json.loads(line, object_pairs_hook=_unique, parse_constant=_refuse)
    if not isinstance(item, dict):
        raise InvalidValue("expected a JSON object")
    return item


def _items(document: object) -> list[object]:
    if document is None:
        return []  # before the first or after the last `---`
    return document if isinstance(document, list) else [document]


def _message(error: Exception) -> str:
    """The message of an error, on one line."""
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        mark = error.problem_mark
        words = " ".join(filter(None, (error.context, error.problem)))
        if error.context == "while scanning an alias":  # a cron line, most likely
            mark, words = error.context_mark, "what begins with * has to stand in quotes"
        return f"line {mark.line + 1}, column {mark.column + 1}: {words}"
    return " ".join(str(error).split())


# JSON


def _json_or_yaml(text: str) -> list[object]:
    """Reads a text that begins like JSON, but may be YAML; its errors are those of JSON."""
    try:
        return _json(text)
    except json.JSONDecodeError as error:
        try:
            return _yaml(text)
        except (yaml.scanner.ScannerError, yaml.parser.ParserError):
            raise error from None


def _json(text: str) -> list[object]:
    return [json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse)]


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"key {max(names, key=names.count)!r} comes twice in one object")
    return found


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


# YAML


class _Plain(yaml.SafeLoader):  # type: ignore[misc]
    """The safe loader, with the implicit types of JSON only."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        names = [key.value for key, _ in node.value if key.tag != "tag:yaml.org,2002:merge"]
        if len(set(map(str, names))) < len(names):
            twice = max(names, key=names.count)
            raise yaml.constructor.ConstructorError(
                None, None, f"key {twice!r} comes twice", node.start_mark
            )
        return dict(super().construct_mapping(node, deep))


_Plain.yaml_implicit_resolvers = {}
for _tag, _pattern, _first in (
    ("bool", r"true|false", "tf"),
    ("null", r"null|~|", ["n", "~", ""]),
    ("int", r"-?(?:0|[1-9][0-9]*)", "-0123456789"),
    ("float", r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?", "-0123456789"),
    ("merge", r"<<", "<"),
):
    _Plain.add_implicit_resolver(
        f"tag:yaml.org,2002:{_tag}", re.compile(f"(?:{_pattern})\\Z", re.ASCII), list(_first)
    )


def _yaml(text: str) -> list[object]:
    left = [MOST_VALUES]
    return [_tree(document, left) for document in yaml.load_all(text, _Plain)]


def _tree(value: object, left: list[int]) -> object:
    """`value` with its aliases written out; raises ValueError beyond `MOST_VALUES` values."""
    left[0] -= 1
    if left[0] < 0:
        raise ValueError(f"it is more than {MOST_VALUES:,} values with all that is repeated")
    match value:
        case dict():
            for name in value:
                if not isinstance(name, str):
                    raise InvalidValue(f"key {name!r} is not a text: put it into quotes")
            return {name: _tree(inner, left) for name, inner in value.items()}
        case list():
            return [_tree(inner, left) for inner in value]
        case float() if not math.isfinite(value):
            raise ValueError("a number is too large")
        case str() | int() | float() | None:
            return value
        case _:
            raise ValueError(f"{value!r} is neither text, number, true, false, list nor object")
