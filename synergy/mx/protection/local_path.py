"""The target of the redirect after a login, which is always a page of MX."""

from __future__ import annotations

import re

_PATH = re.compile(r"/(?![/\\])[\x21-\x5b\x5d-\x7e]*", re.ASCII)
_NEVER = ("/login", "/logout", "/api/")


def local_path(text: str) -> str:
    """The text if it is a path of MX, with its query; "/" otherwise."""
    if len(text) <= 2000 and _PATH.fullmatch(text) and not text.startswith(_NEVER):
        return text
    return "/"
