"""Cookies of MX: scripts cannot read them, and requests of other sites do not send them.

Only the cookie of a single sign-on is sent when the user follows a link of another site: the
provider leads the browser back by one.
"""

from __future__ import annotations

from starlette.requests import HTTPConnection
from starlette.responses import Response

SESSION = "synergy_session"
LOGIN = "synergy_login"
DEVICE = "synergy_known"
SIGN_ON = "synergy_sign_on"  # for a single sign-on, until the browser returns from the provider


def read(request: HTTPConnection, name: str) -> str | None:
    """The value of a cookie; None without one, or with several of different values."""
    full_name = _full_name(request, name)
    values = {
        value.strip()
        for header in request.headers.getlist("cookie")
        for key, equals, value in (part.partition("=") for part in header.split(";"))
        if equals and key.strip() == full_name
    }
    return values.pop() if len(values) == 1 else None


def put(request: HTTPConnection, response: Response, name: str, value: str, seconds: int) -> None:
    """Sets a cookie that lasts `seconds`; 0 deletes it."""
    response.set_cookie(
        _full_name(request, name),
        value,
        max_age=seconds,
        path="/",
        secure=_is_secure(request),
        httponly=True,
        samesite="lax" if name == SIGN_ON else "strict",  # another site sends the browser back
    )


def _full_name(request: HTTPConnection, name: str) -> str:
    """The name of a cookie; with TLS it has a prefix by which only this host can set it."""
    return f"__Host-{name}" if _is_secure(request) else name


def _is_secure(request: HTTPConnection) -> bool:
    return request.url.scheme == "https"
