"""Parses the settings of single sign-on by OpenID Connect."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlsplit

from synergy.errors import InvalidValue
from synergy.loopback import is_loopback

CALLBACK = "login/oidc/callback"
_REQUIRED = (
    "mx_public_url",
    "mx_users_file",
    "mx_oidc_client_id",
    "mx_oidc_client_secret",
    "mx_oidc_roles",
)
_ROLES = ("viewer", "operator", "admin")


def issuer(text: str) -> str:
    """Checks the URL of an issuer; raises InvalidValue. A path and its last slash belong to it."""
    if not _is_url(text):
        raise InvalidValue(
            f"{text!r}: expected https://HOST, as the provider writes it "
            "(http is for a provider on this machine)"
        )
    return text


def public_url(text: str) -> str:
    """Checks the URL at which browsers find MX, and ends it with a slash; raises InvalidValue."""
    if not _is_url(text) or urlsplit(text).path not in ("", "/"):
        raise InvalidValue(f"{text!r}: expected https://HOST, without a path")
    return f"{text.rstrip('/')}/"


def names(url: str) -> tuple[str, ...]:
    """The host name in a checked URL of MX; none in an empty one."""
    host = urlsplit(url).hostname
    return (host,) if host else ()


def roles(text: str) -> tuple[tuple[str, str], ...]:
    """Parses pairs ROLE=VALUE, separated by commas; raises InvalidValue for a wrong one."""
    pairs = [word.strip().partition("=") for word in text.split(",") if word.strip()]
    for role, _, value in pairs:
        if role not in _ROLES or not value:
            raise InvalidValue(
                f"{role!r}: expected viewer=VALUE, operator=VALUE or admin=VALUE, with commas "
                "between them"
            )
    return tuple((role, value) for role, _, value in pairs)


def missing(given: Callable[[str], bool]) -> tuple[str, ...]:
    """The settings that single sign-on lacks; none if it is not configured at all."""
    if not given("mx_oidc_issuer"):
        return ()
    return tuple(name for name in _REQUIRED if not given(name))


def _is_url(text: str) -> bool:
    """Whether this is a URL without query, by HTTPS unless its host is the loopback interface."""
    try:
        parts = urlsplit(text)
        is_whole = bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    if not is_whole or not text.isprintable() or set(text) & set(" ?#@\\"):
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and is_loopback(parts.hostname or ""))
