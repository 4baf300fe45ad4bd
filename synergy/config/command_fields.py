"""Reads the fields that only processes with a command have: what the program finds when it starts.

How a command is written is checked in `process_fields`.
"""

from __future__ import annotations

import os
import pwd
import re
from collections.abc import Collection
from typing import Any

from synergy.model.switches import matches
from synergy.names import SET_FOR_COMMANDS
from synergy.schedule.format.field_reader import FieldReader

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_MOST_INPUT = 65_536  # characters of standard input that a context may hold


def command_fields(fields: FieldReader, box: str, patterns: Collection[str]) -> dict[str, Any]:
    """The fields of a program; `patterns` are those of the boxes it runs on, `box` is this one."""
    found = {
        "environment": _environment(fields),
        "variables": _variables(fields),
        "cwd": _cwd(fields),
        "stdin": _stdin(fields),
        "user": _user(fields, is_here=matches(patterns, box)),
    }
    if not fields.has("command"):
        for name in found:
            if fields.has(name):
                fields.mistake(name, "only for a command")
    return found


def _environment(fields: FieldReader) -> tuple[str, ...]:
    """The names of variables that are passed on; their values are never quoted."""
    names = fields.strings("environment")
    for name in names:
        if not _VARIABLE.fullmatch(name):
            bare = name.partition("=")[0]
            fields.mistake(
                "environment", f"{bare!r}: expected names such as AWS_PROFILE, no values"
            )
    return names


def _variables(fields: FieldReader) -> dict[str, str]:
    """The variables with values, which are never quoted: they may be secrets."""
    found = fields.mapping("variables")
    for name, value in found.items():
        if not isinstance(name, str) or not _VARIABLE.fullmatch(name):
            fields.mistake("variables", f"{name!r}: expected a name such as AWS_PROFILE")
        elif name in SET_FOR_COMMANDS:
            fields.mistake("variables", f"{name} is set by Synergy: give it another name")
        elif not isinstance(value, str) or "\0" in value:
            fields.mistake("variables", f"{name}: expected a text without NUL as its value")
    return {name: value for name, value in found.items() if isinstance(value, str)}


def _cwd(fields: FieldReader) -> str | None:
    path = fields.text("cwd", most=4096) or None
    if path is not None and not path.startswith("/"):
        fields.mistake("cwd", f"{path!r}: expected an absolute path, the same on each box")
    return path


def _stdin(fields: FieldReader) -> str | None:
    value = fields.get("stdin")
    if value is not None and not (isinstance(value, str) and len(value) <= _MOST_INPUT):
        fields.mistake("stdin", f"expected a text of at most {_MOST_INPUT:,} characters")
        return None
    return value


def _user(fields: FieldReader, *, is_here: bool) -> str | None:
    """The user that the program runs as; checked on the boxes of the process."""
    name = fields.text("user") or None
    if name is None or not is_here:
        return name
    try:
        number = pwd.getpwnam(name).pw_uid
    except KeyError:
        fields.mistake("user", f"this box has no user {name}: create it, or correct the name")
        return name
    if os.geteuid() not in (0, number):
        step = f"run Synergy as {name}, or as root"
        fields.mistake("user", f"only root can start a program as another user, {name}: {step}")
    return name
