"""Static files: scripts, styles, the icon.

Their addresses contain a version (`/static/@1f2e3d/app.js`), so that browsers cache them for good;
imports of scripts are relative, so they have the same version. Without a version browsers
revalidate them by ETag. They are few and small, and a page loads thirty of them, so they are kept
in memory and compressed once.
"""

from __future__ import annotations

import gzip
import hashlib
import mimetypes
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from synergy.mx.conditional import is_current

FOLDER = Path(__file__).resolve().parent / "static"
FOREVER: Final = "public, max-age=31536000, immutable"
PATH = "/static/"
_LEVEL = 9  # the level of compression


@dataclass(frozen=True, slots=True)
class _File:
    """A file, plain and compressed."""

    media_type: str
    etag: str
    plain: bytes
    packed: bytes

    @staticmethod
    def read(path: Path) -> _File:
        """Reads a file."""
        plain = path.read_bytes()
        media_type = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
        etag = f'W/"{hashlib.blake2b(plain, digest_size=8).hexdigest()}"'
        return _File(media_type, etag, plain, gzip.compress(plain, _LEVEL, mtime=0))


_FILES = {path.name: _File.read(path) for path in sorted(FOLDER.iterdir()) if path.is_file()}


def _version() -> str:
    """A hash of all files."""
    digest = hashlib.blake2b(digest_size=6)
    for name, file in _FILES.items():
        digest.update(name.encode() + b"\0" + file.plain)
    return f"@{digest.hexdigest()}"


VERSION = _version()
ADDRESS = f"{PATH}{VERSION}"  # of the current files


class Assets:
    """Serves the files, with or without a version in the path.

    A request with another version gets the current file, to be revalidated: the page may be older
    than this process.
    """

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        path = scope["path"].removeprefix(PATH)
        version, _, rest = path.partition("/")
        file = _FILES.get(rest if version.startswith("@") else path)
        if request.method not in ("GET", "HEAD"):
            raise HTTPException(405)
        if file is None:
            raise HTTPException(404)
        response = _response(file, request, FOREVER if version == VERSION else "no-cache")
        await response(scope, receive, send)


def _response(file: _File, request: Request, cache_control: str) -> Response:
    headers = {"ETag": file.etag, "Vary": "Accept-Encoding", "Cache-Control": cache_control}
    if is_current(request.headers.get("if-none-match"), file.etag):
        return Response(status_code=304, headers=headers)
    if "gzip" not in request.headers.get("accept-encoding", ""):
        return Response(file.plain, headers=headers, media_type=file.media_type)
    headers["Content-Encoding"] = "gzip"
    return Response(file.packed, headers=headers, media_type=file.media_type)
