"""Conditional GET: JSON with an ETag, and 304 for a client that has it already."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Annotated

from fastapi import Header
from starlette.responses import Response

IfNoneMatch = Annotated[str | None, Header(max_length=2000)]


def is_current(if_none_match: str | None, tag: str) -> bool:
    """Whether a client already has the content with this ETag."""
    known = [each.strip() for each in (if_none_match or "").split(",")]
    return tag in known or "*" in known


def conditional(if_none_match: str | None, tagged: bytes, body: Callable[[], bytes]) -> Response:
    """The body with an ETag of `tagged`, or 304 if `if_none_match` has that tag."""
    tag = f'W/"{hashlib.blake2b(tagged, digest_size=12).hexdigest()}"'
    headers = {"ETag": tag, "Cache-Control": "no-cache"}
    if is_current(if_none_match, tag):
        return Response(status_code=304, headers=headers)
    return Response(body(), media_type="application/json", headers=headers)
