"""Parses AMQP URLs, and checks what can be checked without a connection.

`amqp://user:password@host:5672/vhost`, or `amqps://…` for TLS, with the options of RabbitMQ's own
tools: `cacertfile` (trusted authorities; default: the system's), `certfile` and `keyfile` (the
client's certificate), `verify` (`verify_peer`, or `verify_none`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Self
from urllib.parse import parse_qsl, unquote, urlsplit

from synergy.errors import InvalidValue

SCHEMES = {"amqp": 5672, "amqps": 5671}
EXAMPLE = "amqp://user:password@host:5672/vhost"
_FILES = ("cacertfile", "certfile", "keyfile")
_OPTIONS = (*_FILES, "verify")


@dataclass(frozen=True, slots=True)
class Tls:
    """Certificate files; `verify` is whether the broker's certificate is checked."""

    cacertfile: str | None
    certfile: str | None
    keyfile: str | None
    verify: bool


@dataclass(frozen=True, slots=True)
class Address:
    """The address of a broker with credentials. Messages show `place`, never the whole."""

    host: str
    port: int
    vhost: str
    user: str
    password: str
    tls: Tls | None

    @property
    def place(self) -> str:
        """Host, port and vhost, for messages."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}, vhost {self.vhost}"

    @classmethod
    def parse(cls, url: str) -> Self:
        """The address of a URL; raises InvalidValue with the expected form.

        The message quotes only options of the URL: what looks like a port may be part of a
        password.
        """
        try:
            parts = urlsplit(url)
        except ValueError:  # its text may quote the password
            raise InvalidValue(f"the host cannot be read: expected {EXAMPLE}") from None
        user, _, where = parts.netloc.rpartition("@")
        vhost = parts.path.removeprefix("/")
        if "@" in user + vhost + parts.query or "/" in vhost or parts.fragment:
            raise InvalidValue("in names and passwords @ is written %40, / %2F, ? %3F and # %23")
        try:
            host, port = parts.hostname, parts.port
        except ValueError:
            raise InvalidValue(f"expected a number as port, as in {EXAMPLE}") from None
        if parts.scheme not in SCHEMES or not where or not host or port == 0:
            raise InvalidValue(f"expected a host, for example {EXAMPLE}")
        return cls(
            host,
            SCHEMES[parts.scheme] if port is None else port,
            unquote(vhost) or "/",
            unquote(parts.username) if parts.username else "guest",
            unquote(parts.password) if parts.password is not None else "guest",
            _tls(_options(parts.query), is_wanted=parts.scheme == "amqps"),
        )


def _options(query: str) -> dict[str, str]:
    """The options; raises InvalidValue for an unknown one, which may be meant for security."""
    try:
        options = dict(parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query)))
    except ValueError as error:
        raise InvalidValue(str(error)) from None
    for name in options:
        if name not in _OPTIONS:
            near = get_close_matches(name, _OPTIONS, 1)
            meant = f"did you mean {near[0]}?" if near else f"expected one of {', '.join(_OPTIONS)}"
            raise InvalidValue(f"unknown option {name}: {meant}")
    return options


def _tls(options: Mapping[str, str], *, is_wanted: bool) -> Tls | None:
    if not is_wanted:
        if options:
            raise InvalidValue(f"{', '.join(options)}: only amqps:// has certificates")
        return None
    for name in _FILES:
        if name in options and not Path(options[name]).is_file():
            raise InvalidValue(f"{name}: there is no file {options[name]!r}")
    if "keyfile" in options and "certfile" not in options:
        raise InvalidValue("keyfile without certfile")
    verify = options.get("verify", "verify_peer")
    if verify not in ("verify_peer", "verify_none"):
        raise InvalidValue(f"verify={verify}: expected verify_peer or verify_none")
    files = {name: options.get(name) for name in _FILES}
    return Tls(**files, verify=verify == "verify_peer")
