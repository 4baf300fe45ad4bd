"""Logs of JSON objects, one a line: of nginx, by the names of its variables, and of Caddy."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import orjson

from synergy.errors import InvalidValue
from workers.access_log.lines import (
    MAX_HOST,
    LogEntry,
    Mismatch,
    check,
    checked_instant,
    instant,
    is_view,
    iso_instant,
)

Fields = Mapping[str, Any]

_TIMES = ("time_iso8601", "time_local", "msec", "@timestamp", "timestamp", "time")


class NginxJson:
    """Objects named by nginx's variables: `remote_addr`, `time_iso8601`, `request`, `status`."""

    def parse(self, line: bytes) -> LogEntry:
        fields = _object(line)
        words = str(fields.get("request", "")).split(" ", 1)
        method = fields.get("request_method") or (words[0] if len(words) > 1 else "")
        if not method and not isinstance(fields.get("request"), str):
            raise _missing(line, "request", 0)
        time = next((name for name in _TIMES if fields.get(name)), _TIMES[0])
        return _entry(
            line,
            {
                "remote_addr": fields.get("remote_addr"),
                time: fields.get(time) or None,
                "status": fields.get("status"),
            },
            str(method),
            fields.get("http_user_agent"),
        )


class CaddyJson:
    """Objects of Caddy's access log: `ts`, `status`, and the object `request`."""

    def parse(self, line: bytes) -> LogEntry:
        fields = _object(line)
        request = fields.get("request")
        if not isinstance(request, dict):
            raise _missing(line, "request", 0)
        if not isinstance(request.get("method"), str):
            raise _missing(line, "request.method", 1)
        headers = request.get("headers")
        agents = headers.get("User-Agent") if isinstance(headers, dict) else None
        return _entry(
            line,
            {
                "request.remote_ip": request.get("client_ip") or request.get("remote_ip"),
                "ts": fields.get("ts"),
                "status": fields.get("status"),
            },
            request["method"],
            agents[0] if isinstance(agents, list) and agents else agents,
        )


def _object(line: bytes) -> Fields:
    check(line)
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        try:  # bytes of a client that are no UTF-8; see the beginning of `lines.py`
            value = orjson.loads(line.decode("latin-1"))
        except orjson.JSONDecodeError:
            reach = len(line) if line.startswith(b"{") else 1
            reason = f"not JSON: {error.msg.partition(':')[0]}"
            raise Mismatch(reason, error.colno, reach) from None
    if not isinstance(value, dict):
        raise Mismatch("not a JSON object")
    return value


def _entry(line: bytes, needed: Fields, method: str, agent: object) -> LogEntry:
    """The entry of an object; `needed` are the host, the time and the status, by their names."""
    for name, value in needed.items():
        if value is None or value == "":
            found = sum(each is not None for each in needed.values())
            raise _missing(line, name, found)
    (host_name, host), (time_name, time), (status_name, status) = needed.items()
    if not isinstance(host, str) or len(host) > MAX_HOST or len(host.split()) != 1:
        raise _bad(line, host_name, f"not a host: {str(host)[:40]!r}")
    code = str(status)
    if len(code) != 3 or not code.isdecimal() or not code.isascii():
        raise _bad(line, status_name, f"not a status: {code[:40]!r}")
    try:
        at = _at(time)
    except InvalidValue as error:
        raise _bad(line, time_name, str(error)) from None
    known = agent if isinstance(agent, str) and agent != "-" else ""
    return LogEntry(host, known, at, is_view(method, code))


def _at(time: object) -> int:
    """Epoch seconds of a number of seconds, ISO 8601, or nginx's `time_local`."""
    if isinstance(time, str) and "/" in time[:4]:
        return instant(time)
    try:
        seconds = float(time)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return iso_instant(str(time))
    if isinstance(time, bool) or not math.isfinite(seconds):
        raise InvalidValue(f"not a time: {time!r}")
    return checked_instant(math.floor(seconds), time)


def _missing(line: bytes, name: str, found: int) -> Mismatch:
    """An object without a field; `found` others are there."""
    return Mismatch(f"expected the field {name!r}", len(line), len(line) - 4 + found)


def _bad(line: bytes, name: str, reason: str) -> Mismatch:
    key = name.rpartition(".")[2].encode()
    return Mismatch(f"{name}: {reason}", line.find(b'"%s"' % key) + 1, len(line))
