"""Parses lines in Common and Combined Log Format.

Lines are bytes, and decoded as Latin-1, in which every byte is a character: no line is refused for
its encoding, no information is lost, and equal bytes always give the same visitor. (Servers escape
characters beyond ASCII, so this concerns broken lines only.)
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import NamedTuple

from synergy.errors import InvalidValue

MAX_LINE = 128 * 1024
"""Bytes. Servers limit the request line and each header to 8 KiB, escaped at most fourfold."""

_QUOTED = r'"((?:[^"\\]++|\\.)*+)"'
_LINE = re.compile(
    rf'(\S{{1,255}}) \S+ [^"\[\]]+ \[([^\]]*)\] {_QUOTED} (\d{{3}}) (?:\d+|-)'
    rf"(?: {_QUOTED} {_QUOTED})?",
    re.ASCII | re.DOTALL,
)
_TIME = re.compile(
    r"(\d\d/[A-Z][a-z][a-z]/\d{4}):([01]\d|2[0-3]):([0-5]\d):([0-5]\d) "
    r"([+-](?:0\d|1[0-4])[0-5]\d)",
    re.ASCII,
)
_MONTHS = "JanFebMarAprMayJunJulAugSepOctNovDec"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST = (datetime(9999, 1, 1, tzinfo=UTC) - _EPOCH) // timedelta(seconds=1)


class LogEntry(NamedTuple):
    """The fields of a line. `at` is in epoch seconds; `agent` is empty if the line has none."""

    host: str
    agent: str
    at: int
    is_pageview: bool


def parse(line: bytes) -> LogEntry:
    """The entry of a line without its line end; raises InvalidValue with the reason."""
    if len(line) > MAX_LINE:
        raise InvalidValue(f"longer than {MAX_LINE:,} bytes")
    match = _LINE.fullmatch(line.decode("latin-1"))
    if match is None or b"\0" in line:
        raise InvalidValue(_reason(line))
    host, time, request, status, _referrer, agent = match.groups()
    is_pageview = request.startswith("GET ") and (status[0] == "2" or status == "304")
    return LogEntry(
        host, "" if agent is None or agent == "-" else agent, instant(time), is_pageview
    )


def _reason(line: bytes) -> str:
    if not line:
        return "empty"
    if b"\0" in line:
        return "holds NUL bytes"
    if line.count(b'"') % 2:
        return "a quoted field has no end"
    return "neither Common nor Combined Log Format"


@lru_cache(maxsize=16384)
def instant(text: str) -> int:
    """Epoch seconds of `10/Oct/2000:13:55:36 -0700`; raises InvalidValue."""
    match = _TIME.fullmatch(text)
    if match is None:
        raise InvalidValue(f"not a time: {text[:40]!r}")
    day, hour, minute, second, zone = match.groups()
    at = _midnight(day, zone) + int(hour) * 3600 + int(minute) * 60 + int(second)
    if not 0 <= at < _LATEST:
        raise InvalidValue(f"outside 1970 to 9998: {text!r}")
    return at


@lru_cache(maxsize=1024)
def _midnight(day: str, zone: str) -> int:
    """Epoch seconds of the start of `10/Oct/2000` in the zone `-0700`."""
    try:
        month = _MONTHS.index(day[3:6]) // 3 + 1
        midnight = datetime(int(day[7:]), month, int(day[:2]), tzinfo=UTC)
    except ValueError:
        raise InvalidValue(f"no such day: {day}") from None
    offset = (int(zone[1:3]) * 60 + int(zone[3:])) * 60
    return (midnight - _EPOCH) // timedelta(seconds=1) + (offset if zone[0] == "-" else -offset)
