"""Finds what is of Synergy 1 or 2 in a context: in its text, and in the fields of its entries.

The text is looked at only when it cannot be run, so that one check names all its older imports
and not only the first.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from contextlib import suppress

from synergy.config.findings import Findings
from synergy.config.older_names import (
    FIELDS,
    MODULES,
    NAMES,
    VALUED,
    VALUES,
    module_advice,
)
from synergy.schedule.format.field_reader import FieldReader

_PACKAGES = {"synergy", *(name.split(".")[0] for name in MODULES)}
_ENTRY = ("_context_entry", "_tree_entry")  # how the names of the functions of entries end


def entry_fields(where: str, values: Mapping[str, object], findings: Findings) -> FieldReader:
    """A reader of the fields of an entry, without older ones, which are reported."""
    present: dict[str, object] = {}
    for name, value in values.items():
        older = VALUES.get(value) if name in VALUED and isinstance(value, str) else None
        if name in FIELDS:
            findings.mistake(f"{where}: {name}", FIELDS[name])
        elif older is not None:
            present[name], advice = older
            findings.mistake(f"{where}: {name}", f"{value!r} is of an older version: {advice}")
        else:
            present[name] = value
    return findings.fields(where, present)


def older_lines(source: bytes) -> dict[int, list[str]]:
    """What is of older versions in the text of a context: messages by line.

    Each name is reported once, where it is first. A text that cannot be parsed has none.
    """
    with suppress(SyntaxError, ValueError):
        tree = ast.parse(source)
        own = _defined(tree)
        seen = set(own)
        found: dict[int, list[str]] = {}
        for line, name, advice in sorted(_older(tree)):
            if name not in seen:
                seen.add(name)
                found.setdefault(line, []).append(f"{name} is of an older version: {advice}")
        return found
    return {}


def _defined(tree: ast.Module) -> Iterator[str]:
    """The names that the text defines itself, or imports from modules of its own."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Name(id=name, ctx=ast.Store()):
                yield name
            case ast.ImportFrom(module=str(module), names=aliases) if not _is_of_synergy(module):
                yield from (alias.name for alias in aliases)


def _older(tree: ast.Module) -> Iterator[tuple[int, str, str]]:
    """Line, name and advice of all that is of older versions."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=aliases):
                yield from _modules(node.lineno, [alias.name for alias in aliases])
            case ast.ImportFrom(module=str(module), names=aliases):
                yield from _modules(node.lineno, [module])
                for alias in aliases:
                    yield from _named(node.lineno, alias.name)
            case ast.Name(id=name):
                yield from _named(node.lineno, name)
            case ast.Call(func=ast.Name(id=function), keywords=keywords):
                if function.endswith(_ENTRY):
                    yield from _fields(keywords)


def _is_of_synergy(module: str) -> bool:
    """Whether the names of a module are those of Synergy, or of the settings of a deployment."""
    return module == "settings" or module.partition(".")[0] in _PACKAGES


def _modules(line: int, names: list[str]) -> Iterator[tuple[int, str, str]]:
    for name in names:
        if any(name == older or name.startswith(f"{older}.") for older in MODULES):
            yield line, name, module_advice(name)


def _named(line: int, name: str) -> Iterator[tuple[int, str, str]]:
    if name in NAMES:
        yield line, name, NAMES[name]


def _fields(keywords: list[ast.keyword]) -> Iterator[tuple[int, str, str]]:
    for keyword in keywords:
        if keyword.arg in FIELDS:
            yield keyword.lineno, f"field {keyword.arg}", FIELDS[keyword.arg]
