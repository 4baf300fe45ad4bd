"""W3C extended log format, which IIS writes: the directive `#Fields:` names the fields."""

from __future__ import annotations

import re

from synergy.errors import InvalidValue
from workers.access_log.lines import (
    MAX_HOST,
    MAX_LINE,
    Ignored,
    LogEntry,
    Mismatch,
    check,
    is_view,
    iso_instant,
)

_DIRECTIVE = re.compile(
    r"#(Version|Fields|Software|Start-Date|End-Date|Date|Remark):\s*(.*)", re.ASCII | re.IGNORECASE
)
_VALUE = re.compile(r'"[^"]*"(?!\S)|\S+')
_INSTANT = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d ")
_NEEDED = ("time", "c-ip", "cs-method", "sc-status")
AGENT = "cs(user-agent)"


class W3cParser:
    """Parses a file; `#Fields:` and `#Date:` hold until the next one. Times are UTC."""

    def __init__(self) -> None:
        self._fields: list[str] = []
        self._date = ""

    def parse(self, line: bytes) -> LogEntry:
        check(line)
        text = line.decode("latin-1")
        if text[0] == "#":
            self._direct(text)
            raise Ignored
        if not self._fields:
            reach = len(line) if _INSTANT.match(text) else 1
            raise Mismatch("no line before it names its #Fields", reach=reach)
        values = _VALUE.findall(text)
        if len(values) != len(self._fields):
            raise Mismatch(
                f"{len(values)} fields, but #Fields names {len(self._fields)}",
                1 + sum(len(value) + 1 for value in values[: len(self._fields)]),
            )
        return self._entry(dict(zip(self._fields, values, strict=True)))

    def _direct(self, text: str) -> None:
        match = _DIRECTIVE.fullmatch(text)
        if match is None:
            raise Mismatch("expected a directive such as #Fields:", 2)
        name, value = match[1].lower(), match[2].strip()
        if name == "date":
            self._date = value.split(" ")[0]
        if name == "fields":
            fields = value.lower().split()
            missing = [needed for needed in _NEEDED if needed not in fields]
            self._fields = [] if missing else fields
            if missing:
                reason = f"#Fields does not name {', '.join(missing)}"
                raise Mismatch(reason, len(text) + 1, MAX_LINE)

    def _entry(self, values: dict[str, str]) -> LogEntry:
        host, status = values["c-ip"], values["sc-status"]
        if host == "-" or len(host) > MAX_HOST:
            raise Mismatch(f"c-ip is no host: {host[:40]!r}", self._column(values, "c-ip"))
        if len(status) != 3 or not status.isascii() or not status.isdecimal():
            raise Mismatch(
                f"sc-status is no status: {status[:40]!r}", self._column(values, "sc-status")
            )
        try:
            at = iso_instant(f"{values.get('date', self._date)}T{values['time']}+00:00")
        except InvalidValue as error:
            raise Mismatch(str(error), self._column(values, "time")) from None
        agent = values.get(AGENT, "-")
        known = "" if agent == "-" else agent.strip('"').replace("+", " ")
        return LogEntry(host, known, at, is_view(values["cs-method"], status))

    def _column(self, values: dict[str, str], field: str) -> int:
        before = self._fields[: self._fields.index(field)]
        return 1 + sum(len(values[name]) + 1 for name in before)
