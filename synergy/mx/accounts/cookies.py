"""Cookies: no script reads them, no other site sends them."""

from __future__ import annotations

from starlette.requests import HTTPConnection
from starlette.responses import Response

SESSION = "synergy_session"
LOGIN = "synergy_login"
KNOWN = "synergy_known"


def read(request: HTTPConnection, name: str) -> str | None:
    """The value of a cookie; None where there is none, or several that contradict."""
    whole = _named(request, name)
    values = {
        value.strip()
        for header in request.headers.getlist("cookie")
        for key, equals, value in (part.partition("=") for part in header.split(";"))
        if equals and key.strip() == whole
    }
    return values.pop() if len(values) == 1 else None


def put(request: HTTPConnection, answer: Response, name: str, value: str, seconds: int) -> None:
    """Has the browser keep a value for so many seconds; 0 makes it forget."""
    answer.set_cookie(
        _named(request, name),
        value,
        max_age=seconds,
        path="/",
        secure=_is_secure(request),
        httponly=True,
        samesite="strict",
    )


def _named(request: HTTPConnection, name: str) -> str:
    """By TLS with the prefix that keeps other hosts of the domain from setting it."""
    return f"__Host-{name}" if _is_secure(request) else name


def _is_secure(request: HTTPConnection) -> bool:
    return request.url.scheme == "https"
