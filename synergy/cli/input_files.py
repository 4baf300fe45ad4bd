"""Files that people write: YAML or JSON, as plain values.

Of YAML only what is the same in JSON is understood, whatever a word looks like: `on`, `12:30` and
`2026-11-21` stay texts. A key that comes twice is refused rather than half ignored.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import yaml  # type: ignore[import-untyped]

from synergy.errors import InvalidValue, NotFound

MOST = 5_000_000  # values in a file, with those that are repeated by `*`


def read_text(path: str) -> str:
    """What is in a file, `-` for standard input; raises NotFound, or InvalidValue for no text."""
    try:
        data = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    except FileNotFoundError:
        raise NotFound("file", path) from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidValue(f"{path} is not UTF-8: byte {error.start}") from None


def read_documents(path: str) -> Sequence[Mapping[str, object]]:
    """The objects of a YAML or JSON file: its documents, or the items of those that are lists.

    Raises InvalidValue, with line and column, for what is neither, and for a file without any.
    """
    text = read_text(path)
    try:
        found = _json_or_yaml(text) if text.lstrip().startswith(("{", "[")) else _yaml(text)
    except (ValueError, InvalidValue, yaml.YAMLError) as error:
        raise InvalidValue(f"{path}: {_told(error)}") from None
    except (AttributeError, IndexError, KeyError, TypeError):  # what PyYAML's own readers raise
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
    """The objects of a file that has one JSON object a line; blank lines are passed over.

    Raises InvalidValue with the first line that is none.
    """
    items = []
    for number, line in enumerate(read_text(path).splitlines(), 1):
        if not line.strip():
            continue
        try:
            item = _object(line)
        except (ValueError, RecursionError, InvalidValue) as error:
            raise InvalidValue(f"{path} line {number}: {error}") from None
        items.append(item)
    if not items:
        raise InvalidValue(f"{path}: there is nothing in it")
    return items


def _object(line: str) -> Mapping[str, object]:
    item = json.loads(line, object_pairs_hook=_unique, parse_constant=_refuse)
    if not isinstance(item, dict):
        raise InvalidValue("expected a JSON object")
    return item


def _items(document: object) -> list[object]:
    if document is None:
        return []  # what is left of a file that begins, or ends, with `---`
    return document if isinstance(document, list) else [document]


def _told(error: Exception) -> str:
    """What is wrong, on one line."""
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        mark = error.problem_mark
        words = " ".join(filter(None, (error.context, error.problem)))
        if error.context == "while scanning an alias":  # a cron line, most likely
            mark, words = error.context_mark, "what begins with * has to stand in quotes"
        return f"line {mark.line + 1}, column {mark.column + 1}: {words}"
    return " ".join(str(error).split())


# JSON


def _json_or_yaml(text: str) -> list[object]:
    """A text that begins as JSON does, as YAML may too; what is neither is taken for JSON."""
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
    """Of the safe loader's implicit types only those of JSON."""

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
    left = [MOST]
    return [_tree(document, left) for document in yaml.load_all(text, _Plain)]


def _tree(value: object, left: list[int]) -> object:
    """`value` with what `*` repeats written out; raises ValueError for more than `MOST` values."""
    left[0] -= 1
    if left[0] < 0:
        raise ValueError(f"it is more than {MOST:,} values with all that is repeated")
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
