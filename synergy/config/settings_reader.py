"""Converts the written values of settings to their types, and checks them.

`read` returns a valid `Settings` in any case: mistakes are added to the findings, and defaults take
their place, so that all settings are checked.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from synergy import clock as clocks
from synergy.clock import Clock, SystemClock
from synergy.config import mx, oidc, retention, stores, webhooks
from synergy.config.findings import Findings
from synergy.config.settings import PREFIX, Settings
from synergy.config.written_values import WrittenValue, written_values
from synergy.engines import bus_engine, sqlite, stored
from synergy.errors import InvalidValue
from synergy.loopback import is_loopback
from synergy.model.box import BOX_ID
from synergy.model.retention import DEFAULT, Retention
from synergy.names import MX_HOST, MX_PORT, MX_SESSION_IDLE
from synergy.schedule.format.literals import suggestion
from synergy.timeperiod import Qualifier, parse_hour

Word = TypeVar("Word")
Parsed = TypeVar("Parsed")

_HOST = re.compile(r"[A-Za-z0-9:][A-Za-z0-9_.:-]*|\[[0-9A-Fa-f:.]+\]", re.ASCII)
_PORTS = range(1, 65536)
_IDLE = range(5, 721)  # minutes; the use of a session is noted once a minute
_UPDATES = ("create", "sync")
_LEVELS = ("info", "debug")
_ON_OFF = {"on": True, "off": False, True: True, False: False}


def read(project: Path, environ: Mapping[str, str], findings: Findings) -> Settings:
    """The settings of a project; mistakes are added to the findings."""
    env, values = written_values(project, environ, findings)
    return _SettingsReader(project, values, findings).settings(env)


def defaults(project: Path) -> Settings:
    """The settings of a project that gives none."""
    return _SettingsReader(project, {}, Findings()).settings("base")


class _SettingsReader:
    """Converts each value to its type; a mistake gives the default."""

    def __init__(
        self, project: Path, values: Mapping[str, WrittenValue], findings: Findings
    ) -> None:
        self._project = project
        self._values = values
        self._findings = findings

    def settings(self, env: str) -> Settings:
        home = self._home()
        clock = self._clock()
        users = self._users_file()
        public_url = self._url("mx_public_url", oidc.public_url)
        self._check_oidc()
        return Settings(
            env=env,
            home=home,
            store=self._store(home),
            bus=self._bus(),
            box_id=self._box_id(),
            context=self._context(),
            start_timeperiod=self._start_timeperiod(clock),
            mx_host=self._mx_host(users),
            mx_port=self._number("mx_port", MX_PORT, _PORTS, "a port"),
            mx_users_file=users,
            mx_names=(*self._words("mx_names", mx.names), *oidc.names(public_url)),
            mx_proxy_user=self._proxy_user(),
            mx_certificate=self._tls_file("mx_certificate", "mx_key"),
            mx_key=self._tls_file("mx_key", "mx_certificate"),
            mx_session_idle=self._number("mx_session_idle", MX_SESSION_IDLE, _IDLE, "minutes"),
            mx_public_url=public_url,
            mx_oidc_issuer=self._url("mx_oidc_issuer", oidc.issuer),
            mx_oidc_client_id=self._text("mx_oidc_client_id", ""),
            mx_oidc_client_secret=self._text("mx_oidc_client_secret", ""),
            mx_oidc_name_claim=self._text("mx_oidc_name_claim", "preferred_username"),
            mx_oidc_role_claim=self._text("mx_oidc_role_claim", "groups"),
            mx_oidc_roles=self._words("mx_oidc_roles", oidc.roles),
            demo_stream=self._demo_stream(),
            log_level=self._choice("log_level", _LEVELS),
            retention=self._retention(),
            schedules_update=self._choice("schedules_update", _UPDATES),
            webhook_networks=self._words("webhook_networks", webhooks.networks),
            webhook_plaintext=self._words("webhook_plaintext", webhooks.plaintext),
            webhook_secrets=self._words("webhook_secrets", webhooks.secrets),
            clock=clock,
        )

    def _value(self, name: str) -> object:
        found = self._values.get(name)
        return None if found is None else found.value

    def _text(self, name: str, default: str) -> str:
        value = self._value(name)
        if value is None:
            return default
        if isinstance(value, Path):
            return str(value)
        if not isinstance(value, str):
            self._mistake(name, f"expected a text, not {value!r}")
            return default
        return value.strip() or default

    def _mistake(self, name: str, what: str) -> None:
        found = self._values.get(name)
        self._findings.mistake(PREFIX + name.upper() if found is None else found.where, what)

    def _parsed(self, name: str, parse: Callable[[], Parsed], default: Parsed) -> Parsed:
        """The result of `parse`; the default, and a mistake, if it raises InvalidValue."""
        try:
            return parse()
        except InvalidValue as error:
            self._mistake(name, str(error))
            return default

    def _path(self, name: str, text: str) -> Path:
        project = self._project
        return self._parsed(name, lambda: stores.whole_path(project, text), project / "var")

    def _home(self) -> Path:
        home = self._path("home", self._text("home", "var"))
        if home.exists() and not home.is_dir():
            self._mistake("home", f"{home} is not a folder")
        return home

    def _proxy_user(self) -> int | None:
        text = self._text("mx_proxy_user", "")
        return self._parsed("mx_proxy_user", lambda: mx.user_id(text), None) if text else None

    def _store(self, home: Path) -> str:
        default = stores.store_url(sqlite.DEFAULT, self._project, home)
        text = self._text("store", sqlite.DEFAULT)
        return self._parsed("store", lambda: stores.store_url(text, self._project, home), default)

    def _bus(self) -> str:
        url = self._text("bus", stored.DEFAULT)
        try:
            bus_engine(url).check(url)
        except InvalidValue as error:
            self._mistake("bus", str(error))
            return stored.DEFAULT
        return url

    def _box_id(self) -> str:
        host = re.sub(r"[^A-Za-z0-9_.-]", "-", socket.gethostname())
        box = self._text("box_id", "dev-<hostname>").replace("<hostname>", host)
        if not BOX_ID.fullmatch(box):
            self._mistake("box_id", f"{box!r}: expected at most 64 letters, digits and . _ -")
        return box

    def _context(self) -> str:
        name = self._text("context", "context")
        if not all(part.isidentifier() for part in name.split(".")):
            self._mistake("context", f"{name!r}: expected a module's name, for example context")
            return "context"
        return name

    def _start_timeperiod(self, clock: Clock) -> str | None:
        value = self._value("start_timeperiod")
        if value is None or value == "":
            return None
        text = str(value)
        try:
            ordinal = parse_hour(text)
        except InvalidValue as error:
            self._mistake("start_timeperiod", str(error))
            return None
        if ordinal > Qualifier.HOURLY.at(clock.now()):
            self._mistake("start_timeperiod", f"{text} is in the future: expected a past hour")
        return Qualifier.HOURLY.timeperiod(ordinal)

    def _mx_host(self, users: Path | None) -> str:
        host = self._text("mx_host", MX_HOST)
        if not _HOST.fullmatch(host):
            self._mistake("mx_host", f"{host!r}: expected a host name or an address")
        elif users is None and not is_loopback(host):
            self._mistake(
                "mx_host",
                f"{host} can be reached from outside: set mx_users_file, or use 127.0.0.1",
            )
        return host

    def _number(self, name: str, default: int, allowed: range, what: str) -> int:
        """A whole number; `what` names its meaning in the message."""
        value = self._value(name)
        if value is None:
            return default
        text = "" if isinstance(value, bool) else str(value).strip()
        if text.isascii() and text.isdigit() and len(text) < 10 and int(text) in allowed:
            return int(text)
        self._mistake(name, f"{value!r}: expected {what}, {allowed[0]} to {allowed[-1]}")
        return default

    def _users_file(self) -> Path | None:
        text = self._text("mx_users_file", "")
        return self._path("mx_users_file", text) if text else None

    def _tls_file(self, name: str, other: str) -> Path | None:
        """The file of the certificate or the key; each needs the other."""
        text = self._text(name, "")
        if not text:
            return None
        path = self._path(name, text)
        if not path.is_file():
            self._mistake(name, f"there is no file {path}")
        if not self._text(other, ""):
            self._mistake(name, f"expected {other} as well: TLS needs both")
        return path

    def _url(self, name: str, check: Callable[[str], str]) -> str:
        text = self._text(name, "")
        return self._parsed(name, lambda: check(text), "") if text else ""

    def _check_oidc(self) -> None:
        for name in oidc.missing(lambda each: bool(self._text(each, ""))):
            self._mistake(name, "single sign-on (mx_oidc_issuer) needs this setting as well")

    def _demo_stream(self) -> bool:
        value = self._value("demo_stream")
        key = value.strip().lower() if isinstance(value, str) else value
        if key is None:
            return False
        if not isinstance(key, str | bool) or key not in _ON_OFF:
            self._mistake("demo_stream", f"{value!r}: expected on or off")
            return False
        return _ON_OFF[key]

    def _choice(self, name: str, allowed: Sequence[str]) -> str:
        """One of the allowed words, by default the first."""
        text = self._text(name, allowed[0])
        if text not in allowed:
            self._mistake(name, f"{text!r}: {suggestion(text, allowed)}")
            return allowed[0]
        return text

    def _words(self, name: str, read: Callable[[str], tuple[Word, ...]]) -> tuple[Word, ...]:
        """The parsed words of a comma-separated text; a value of another type is not quoted."""
        value = self._value(name)
        if value is not None and not isinstance(value, str):
            self._mistake(name, "expected a text with commas in it")
            return ()
        return self._parsed(name, lambda: read(value or ""), ())

    def _retention(self) -> Retention:
        text = self._text("retention", "")
        return self._parsed("retention", lambda: retention.retention(text), DEFAULT)

    def _clock(self) -> Clock:
        text = self._text("clock", "")
        try:
            return clocks.from_setting(text)
        except ValueError:
            self._mistake("clock", f"{text!r}: expected an instant, for example 2026-11-21T13:00Z")
            return SystemClock()
