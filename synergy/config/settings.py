"""Settings: plain values by environment, each of which `SYNERGY_<NAME>` overrides.

`read` turns them into one frozen `Settings`; whatever is wrong goes into the findings, and a
sound value takes its place, so that the rest can still be checked.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from synergy import clock as clocks
from synergy.clock import Clock, SystemClock
from synergy.config import stores
from synergy.config.findings import Findings, suggestion
from synergy.config.source import run_file
from synergy.errors import InvalidValue
from synergy.messaging import amqp
from synergy.runtime.masking import mask
from synergy.timeperiod import Qualifier

__all__ = ["Settings", "mask", "read"]

PREFIX = "SYNERGY_"
NAMES = (
    "home",
    "store",
    "bus",
    "box_id",
    "context",
    "start_timeperiod",
    "mx_host",
    "mx_port",
    "mx_users_file",
    "demo_stream",
    "clock",
)
# Variables with the prefix that are no settings: what the supervisor gives its processes, what
# command workers tell their programs, the launcher's switch, and whatever tests hand down.
_INTERNAL = re.compile(
    r"SYNERGY_(RUN|READY_FD|UNIT|TIMEPERIOD|GENERATION|ATTEMPT|IDEMPOTENCY_KEY|NO_VENV|TEST_.*)"
)
_BOX_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}", re.ASCII)
_HOST = re.compile(r"[A-Za-z0-9:][A-Za-z0-9_.:-]*|\[[0-9A-Fa-f:.]+\]", re.ASCII)
_ON_OFF = {"on": True, "off": False, True: True, False: False}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a deployment runs with, checked. `store` is a URL, `home` an absolute path.

    `start_timeperiod` is an hourly timeperiod; None means that the store remembers the first
    start. `mx_users_file` is None where nobody has to say who he is.
    """

    env: str
    home: Path
    store: str
    bus: str
    box_id: str
    context: str
    start_timeperiod: str | None
    mx_host: str
    mx_port: int
    mx_users_file: Path | None
    demo_stream: bool
    clock: Clock

    @property
    def is_store_embedded(self) -> bool:
        """Whether the store is a file of this box, and no server's."""
        return self.store.startswith("sqlite:")

    @property
    def is_bus_stored(self) -> bool:
        """Whether messages are kept in the store, and no broker is needed."""
        return self.bus == "store:"

    @property
    def store_file(self) -> Path:
        """Where the embedded store lies."""
        return Path(self.store.removeprefix("sqlite:///"))


@dataclass(frozen=True, slots=True)
class _Value:
    """A value and where it was found (`SYNERGY_STORE`, `settings/dev.py STORE`)."""

    value: object
    where: str


def read(project: Path, environ: Mapping[str, str], findings: Findings) -> Settings:
    """The settings of a project; what is wrong goes into the findings."""
    env = _environment(project, environ, findings)
    values: dict[str, _Value] = {}
    for name in dict.fromkeys(("base", env)):
        values |= _from_file(project, name, findings)
    values |= _from_environ(environ, findings)
    return _Reading(project, values, findings).settings(env)


def _environment(project: Path, environ: Mapping[str, str], findings: Findings) -> str:
    env = environ.get("SYNERGY_ENV") or "dev"
    there = {path.stem for path in (project / "settings").glob("*.py")} - {"base", "__init__"}
    if env in there:
        return env
    findings.mistake("SYNERGY_ENV", f"no settings for {env!r}: {suggestion(env, there)}")
    return "base"


def _from_file(project: Path, name: str, findings: Findings) -> dict[str, _Value]:
    path = project / "settings" / f"{name}.py"
    found = run_file(path, project, findings) or {}
    values = {}
    for key, value in found.items():
        if key.isupper() and _is_known(key.lower(), f"settings/{name}.py", findings):
            values[key.lower()] = _Value(value, f"settings/{name}.py {key}")
    return values


def _from_environ(environ: Mapping[str, str], findings: Findings) -> dict[str, _Value]:
    """An empty variable is as good as none."""
    values = {}
    for key, value in sorted(environ.items()):
        if not key.startswith(PREFIX) or key == "SYNERGY_ENV" or _INTERNAL.fullmatch(key):
            continue
        name = key.removeprefix(PREFIX).lower()
        if _is_known(name, key, findings) and value:
            values[name] = _Value(value, key)
    return values


def _is_known(name: str, where: str, findings: Findings) -> bool:
    if name not in NAMES:
        findings.mistake(where, f"unknown setting {name}: {suggestion(name, (*NAMES, 'env'))}")
    return name in NAMES


class _Reading:
    """Reads values one by one, each into what it should be."""

    def __init__(self, project: Path, values: Mapping[str, _Value], findings: Findings) -> None:
        self._project = project
        self._values = values
        self._findings = findings

    def settings(self, env: str) -> Settings:
        home = self._home()
        clock = self._clock()
        users = self._users_file()
        return Settings(
            env=env,
            home=home,
            store=self._store(home),
            bus=self._bus(),
            box_id=self._box_id(),
            context=self._context(),
            start_timeperiod=self._start_timeperiod(clock),
            mx_host=self._mx_host(users),
            mx_port=self._mx_port(),
            mx_users_file=users,
            demo_stream=self._demo_stream(),
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

    def _path(self, name: str, text: str) -> Path:
        try:
            return stores.whole_path(self._project, text)
        except InvalidValue as error:
            self._mistake(name, str(error))
            return self._project / "var"

    def _home(self) -> Path:
        home = self._path("home", self._text("home", "var"))
        if home.exists() and not home.is_dir():
            self._mistake("home", f"{home} is not a folder")
        return home

    def _store(self, home: Path) -> str:
        try:
            return stores.store_url(self._text("store", stores.DEFAULT), self._project, home)
        except InvalidValue as error:
            self._mistake("store", str(error))
            return stores.store_url(stores.DEFAULT, self._project, home)

    def _bus(self) -> str:
        url = self._text("bus", "store:")
        if url == "store:":
            return url
        if url.partition("://")[0] not in amqp.SCHEMES:
            kept = "store: (messages are kept in the store)"
            self._mistake("bus", f"{url!r}: expected {kept}, or {amqp.EXAMPLE}")
            return "store:"
        try:
            amqp.Address.parse(url)
        except InvalidValue as error:
            self._mistake("bus", str(error))
            return "store:"
        return url

    def _box_id(self) -> str:
        host = re.sub(r"[^A-Za-z0-9_.-]", "-", socket.gethostname())
        box = self._text("box_id", "dev-<hostname>").replace("<hostname>", host)
        if not _BOX_ID.fullmatch(box):
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
            ordinal = Qualifier.HOURLY.parse(text)
        except InvalidValue as error:
            self._mistake("start_timeperiod", str(error))
            return None
        if ordinal > Qualifier.HOURLY.at(clock.now()):
            self._mistake("start_timeperiod", f"{text} is in the future: expected a past hour")
        return text

    def _mx_host(self, users: Path | None) -> str:
        host = self._text("mx_host", "127.0.0.1")
        if not _HOST.fullmatch(host):
            self._mistake("mx_host", f"{host!r}: expected a host name or an address")
        elif users is None and not _is_loopback(host):
            self._mistake(
                "mx_host",
                f"{host} can be reached from outside: set mx_users_file, or use 127.0.0.1",
            )
        return host

    def _mx_port(self) -> int:
        value = self._value("mx_port")
        if value is None:
            return 5000
        text = "" if isinstance(value, bool) else str(value).strip()
        if text.isascii() and text.isdigit() and 1 <= int(text) <= 65535:
            return int(text)
        self._mistake("mx_port", f"{value!r}: expected a port, 1 to 65535")
        return 5000

    def _users_file(self) -> Path | None:
        text = self._text("mx_users_file", "")
        if not text:
            return None
        path = self._path("mx_users_file", text)
        if not path.is_file():
            self._mistake("mx_users_file", f"there is no file {path}")
        return path

    def _demo_stream(self) -> bool:
        value = self._value("demo_stream")
        key = value.strip().lower() if isinstance(value, str) else value
        if key is None:
            return False
        if not isinstance(key, str | bool) or key not in _ON_OFF:
            self._mistake("demo_stream", f"{value!r}: expected on or off")
            return False
        return _ON_OFF[key]

    def _clock(self) -> Clock:
        text = self._text("clock", "")
        try:
            return clocks.from_setting(text)
        except ValueError:
            self._mistake("clock", f"{text!r}: expected an instant, for example 2026-11-21T13:00Z")
            return SystemClock()


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"
