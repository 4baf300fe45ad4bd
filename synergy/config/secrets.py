"""The secrets of a deployment, by value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from urllib.parse import parse_qsl, urlsplit

from synergy.config.settings import Settings
from synergy.names import local_token

_CLOUD = ("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
_OPTIONS = ("password", "properties")  # ends of names of options whose values are secrets


def known_secrets(settings: Settings, environ: Mapping[str, str]) -> Iterator[str]:
    """The secrets of settings and environment, and the token of the home, as they are written."""
    for url in (settings.store, settings.bus):
        yield from _of_url(url)
    for secret in settings.webhook_secrets:
        yield from (secret, secret.removeprefix("whsec_"))
    yield from (environ[name] for name in _CLOUD if name in environ)
    with suppress(OSError, UnicodeDecodeError):
        yield local_token(settings.home).read_text().strip()


def _of_url(url: str) -> Iterator[str]:
    parts = urlsplit(url)
    yield parts.netloc.rpartition("@")[0].partition(":")[2]
    for name, value in parse_qsl(parts.query):
        if name.lower().endswith(_OPTIONS):
            yield value
