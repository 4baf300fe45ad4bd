"""Parses the settings of MX."""

from __future__ import annotations

import ipaddress
import pwd
import re
from pathlib import Path

from synergy.errors import InvalidValue
from synergy.program import PROGRAM

_UID_DIGITS = 10  # ids have 32 bits
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,251}[A-Za-z0-9])?", re.ASCII)


def names(text: str) -> tuple[str, ...]:
    """Parses host names, separated by commas; raises InvalidValue for a wrong one."""
    words = tuple(word.strip() for word in text.split(",") if word.strip())
    for word in words:
        if not (_NAME.fullmatch(word) or _is_address(word)):
            raise InvalidValue(f"{word!r}: expected the name of a host, without port and path")
    return words


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def user_id(name: str) -> int:
    """The id of a user of this machine, named or given as a number; raises InvalidValue.

    A proxy in another container has a number, but no name here.
    """
    if name.isascii() and name.isdigit() and len(name) <= _UID_DIGITS:
        return int(name)
    try:
        return pwd.getpwnam(name).pw_uid
    except (KeyError, ValueError):
        raise InvalidValue(f"{name!r}: expected a user, such as www-data, or its number") from None


def users_mistake(path: Path | None) -> str:
    """The mistake that the users file is missing; "" if there is none.

    Not part of reading the settings, because `launch.py user` creates the file.
    """
    if path is None or path.is_file():
        return ""
    return f"there is no file {path}: {PROGRAM} user add NAME --role admin makes it"
