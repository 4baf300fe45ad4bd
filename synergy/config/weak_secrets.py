"""Finds secrets that are easily guessed. No message quotes one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from urllib.parse import unquote, urlsplit

from synergy.config.findings import Findings
from synergy.config.secrets import login_of
from synergy.config.settings import PREFIX, Settings
from synergy.loopback import is_loopback
from synergy.names import local_token

SHORTEST = 12  # characters
ADVICE = "take a random one: openssl rand -hex 24"
_KNOWN_TEXT = """
    123456 12345678 admin administrator changeit changeme default demo example guest letmein mongo
    mongodb pass passw0rd password postgres qwerty rabbit rabbitmq root secret synergy test
    topsecret user welcome
"""
_WELL_KNOWN = frozenset(_KNOWN_TEXT.split())


def check_secrets(settings: Settings, findings: Findings) -> None:
    """Warns about weak passwords of URLs, secrets of webhooks and logins, and the home's token."""
    for name, what, secret, user in _secrets(settings):
        if reason := weakness(secret, user):
            findings.warning(f"{PREFIX}{name.upper()}", f"{what} {reason}: {ADVICE}")
    token = local_token(settings.home)
    with suppress(OSError, UnicodeDecodeError):
        if reason := weakness(token.read_text().strip()):
            findings.warning(str(token), f"the token {reason}: remove the file, and restart MX")


def weakness(secret: str, user: str = "") -> str | None:
    """Why a secret is easily guessed; None if it seems not to be."""
    plain = secret.casefold()
    if plain.rstrip("0123456789!?.") in _WELL_KNOWN or plain in _WELL_KNOWN:
        return "is a well-known one"
    if user and plain.rstrip("0123456789!?.") == user.casefold():
        return "is the user's name"
    if len(secret) < SHORTEST:
        return f"has fewer than {SHORTEST} characters"
    if len(set(plain)) < SHORTEST // 2:
        return "repeats a few characters"
    return None


def _secrets(settings: Settings) -> Iterator[tuple[str, str, str, str]]:
    """The setting, what the secret is, the secret, and the user that it belongs to."""
    for name in ("store", "bus"):
        login = login_of(getattr(settings, name))
        if login is not None:
            yield name, "the password", unquote(login[1]), unquote(login[0])
    yield from _guest(settings.bus)
    for secret in settings.webhook_secrets:
        yield "webhook_secrets", "a secret", secret.removeprefix("whsec_"), ""
    if settings.mx_oidc_client_secret:
        yield "mx_oidc_client_secret", "the secret", settings.mx_oidc_client_secret, ""


def _guest(bus: str) -> Iterator[tuple[str, str, str, str]]:
    """The password that RabbitMQ takes if the URL of a broker elsewhere names none."""
    parts = urlsplit(bus)
    is_default = parts.scheme.startswith("amqp") and "@" not in parts.netloc
    if is_default and not is_loopback(parts.hostname or ""):
        yield "bus", "the password, which is not given and so is RabbitMQ's own,", "guest", ""
