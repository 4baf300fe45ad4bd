"""The target of the redirect after a login: always a path on this server."""

from __future__ import annotations

import re

_PATH = re.compile(r"/(?![/\\])[\x21-\x5b\x5d-\x7e]*", re.ASCII)
_NO_TARGETS = ("/login", "/logout", "/api/")


def local_path(text: str) -> str:
    """The text if it is a path on this server, with or without a query; "/" otherwise."""
    if len(text) <= 2000 and _PATH.fullmatch(text) and not text.startswith(_NO_TARGETS):
        return text
    return "/"
