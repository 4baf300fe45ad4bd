"""Finds entries of the context that are declared twice.

A dictionary keeps only the last of several entries with the same key, so that they are found in the
text of the file. Keys are literals, constants of the file, or constants of modules.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, TypeGuard

from synergy.config import context
from synergy.config.context import Entry
from synergy.config.findings import Findings

_CONTEXTS = {"process_context", "timetable_context", "schedule_context"}
_FUNCTIONS = {name for name in vars(context) if name.endswith("_entry")}


class _Key(NamedTuple):
    """A key and its line; `is_taken_in` from another dictionary."""

    text: str
    line: int
    is_taken_in: bool


def check_duplicates(
    path: Path, names: Mapping[str, object], where: str, findings: Findings
) -> None:
    """Reports keys that a dictionary of entries has twice; `names` are those of the executed file.

    An entry that replaces one of another dictionary (`**SITES`) may be meant, and is a warning.
    """
    assigned = set[ast.AST]()
    for node in ast.walk(ast.parse(path.read_bytes())):
        if _is_context(node) and node.value is not None:
            assigned.add(node.value)
        if isinstance(node, ast.Dict) and (
            node in assigned or any(_has_entries(each, names) for each in node.values)
        ):
            _check(_keys(node, names), where, findings)


def _is_context(node: ast.AST) -> TypeGuard[ast.Assign | ast.AnnAssign]:
    """Whether the node is `process_context = ...`, whose values functions of the file may make."""
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return isinstance(node, ast.Assign | ast.AnnAssign) and any(
        isinstance(each, ast.Name) and each.id in _CONTEXTS for each in targets
    )


def _check(keys: Iterable[_Key], where: str, findings: Findings) -> None:
    found: dict[str, _Key] = {}
    for key in keys:
        if former := found.get(key.text):
            find = findings.warning if key.is_taken_in or former.is_taken_in else findings.mistake
            find(
                f"{where} line {key.line}",
                f"{key.text!r} is declared in line {former.line} already, and only the last entry "
                f"counts: rename one or remove it",
            )
        found.setdefault(key.text, key)


def _has_entries(node: ast.expr, names: Mapping[str, object]) -> bool:
    """Whether the node is an entry or a dictionary of entries."""
    if isinstance(node, ast.Call):
        function = node.func
        name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        return name in _FUNCTIONS
    found = _value(node, names)
    values = found.values() if isinstance(found, Mapping) else [found]
    return any(isinstance(each, Entry) for each in values)


def _keys(node: ast.Dict, names: Mapping[str, object]) -> Iterator[_Key]:
    """The texts that are keys of a dictionary, as far as they are known."""
    for key, value in zip(node.keys, node.values, strict=True):
        found = _value(value if key is None else key, names)
        if key is None and isinstance(found, Mapping):
            yield from (_Key(str(each), value.lineno, is_taken_in=True) for each in found)
        elif key is not None and isinstance(found, str):
            yield _Key(found, key.lineno, is_taken_in=False)


def _value(node: ast.expr, names: Mapping[str, object]) -> object:
    """The value of a literal, a name, or an attribute of a module; None for anything else."""
    match node:
        case ast.Constant(value):
            return value
        case ast.Name(name):
            return names.get(name)
        case ast.Attribute(ast.Name(owner), name):
            return vars(names[owner]).get(name) if hasattr(names.get(owner), "__dict__") else None
    return None
