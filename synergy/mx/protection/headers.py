"""Security headers: what browsers refuse to do with a response, whatever it holds."""

from __future__ import annotations

from typing import Final

from starlette.datastructures import MutableHeaders
from starlette.types import Message, Receive, Scope, Send

from synergy.mx.middleware import HttpMiddleware

CSP: Final = (
    "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'"
)
ALWAYS: Final = {
    "Content-Security-Policy": CSP,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",  # with none at all, browsers send forms without an origin
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}
FOREVER: Final = "public, max-age=31536000, immutable"


class SecurityHeaders(HttpMiddleware):
    """Adds the security headers to every response."""

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(ALWAYS)
                headers.setdefault("Cache-Control", _cache_control(scope, message["status"]))
            await send(message)

        await self.app(scope, receive, with_headers)


def _cache_control(scope: Scope, status: int) -> str:
    """Files whose address names their version are cached; others are revalidated by ETag."""
    if not scope["path"].startswith("/static/") or status not in (200, 304):
        return "no-store"
    return FOREVER if scope["query_string"].startswith(b"v=") else "no-cache"
