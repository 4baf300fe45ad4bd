"""The secrets of a deployment, by value, and the files that hold them."""

from __future__ import annotations

import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from urllib.parse import parse_qsl

from synergy.config.settings import SECRET, Settings
from synergy.errors import InvalidValue
from synergy.names import local_token

_CLOUD = ("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
_URLS = ("store", "bus")
_LOGIN = re.compile(r"[^:/?#]+://([^:/?#]*):([^/?#]*)@([^?#]*)")  # name, password, hosts and path
_OPTIONS = ("password", "properties")  # ends of names of options whose values are secrets


def known_secrets(settings: Settings, environ: Mapping[str, str]) -> Iterator[str]:
    """The secrets of settings and environment, and the token of the home, as they are written."""
    for name in SECRET:
        value = getattr(settings, name)
        for text in (value,) if isinstance(value, str) else value:
            yield from secrets_in(name, text)
    yield from (environ[name] for name in _CLOUD if name in environ)
    with suppress(OSError, UnicodeDecodeError):
        yield local_token(settings.home).read_text().strip()


def secrets_in(name: str, value: str) -> Iterator[str]:
    """The secrets in the text of a setting; none in a URL without a password."""
    if name in _URLS:
        yield from _of_url(value)
        return
    words = value.split(",") if name == "webhook_secrets" else [value]
    for word in filter(None, map(str.strip, words)):
        yield word
        yield word.removeprefix("whsec_")


def content_of(path: Path) -> str:
    """The text of a file that holds a secret; raises InvalidValue with the next step."""
    try:
        is_file = stat.S_ISREG(path.stat().st_mode)
        text = path.read_text("utf-8").strip() if is_file else ""
    except FileNotFoundError:
        step = "write the value into it, and chmod 600 it"
        raise InvalidValue(f"there is no file {path}: {step}") from None
    except OSError as error:
        reason = f"{path} cannot be read: {error.strerror}"
        raise InvalidValue(f"{reason}: give it to the user that Synergy runs as") from None
    except UnicodeDecodeError:
        raise InvalidValue(f"{path} is not UTF-8: write the value into it as text") from None
    if not is_file:
        raise InvalidValue(f"{path} is no file: give the path of a file with the value")
    if not text:
        raise InvalidValue(f"{path} is empty: write the value into it")
    return text


def login_of(url: str) -> tuple[str, str, str] | None:
    """Name, password, and hosts with path, as a URL has them; None without a password."""
    found = _LOGIN.match(url)
    return (found[1], found[2], found[3]) if found and found[2] else None


def _of_url(url: str) -> Iterator[str]:
    """The passwords in a URL.

    One that the rest of the URL contains too, such as `synergy` of a user `synergy`, is left out:
    otherwise every name and path with that word would be masked.
    """
    if found := login_of(url):
        name, password, place = found
        if password not in f"{name} {place}":
            yield password
    for option, value in parse_qsl(url.partition("?")[2]):
        if value and option.lower().endswith(_OPTIONS):
            yield value
