"""The entries that lines of access logs become, and the parts that all formats share.

Lines are bytes. Text formats decode them as Latin-1, in which every byte is a character: no line is
refused for its encoding, no information is lost, and equal bytes always give the same visitor.
(Servers escape characters beyond ASCII, so this concerns broken lines only.)
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import NamedTuple, Protocol

from synergy.errors import InvalidValue

MAX_LINE = 128 * 1024
"""Bytes. Servers limit the request line and each header to 8 KiB, escaped at most fourfold."""

MAX_HOST = 255

_TIME = re.compile(
    r"(\d\d/[A-Z][a-z][a-z]/\d{4}):([01]\d|2[0-3]):([0-5]\d):([0-5]\d|60) "
    r"([+-](?:0\d|1[0-4])[0-5]\d)",
    re.ASCII,
)
_LEAP_SECOND = re.compile(r"([T ]\d\d:\d\d:)60")
_MONTHS = "JanFebMarAprMayJunJulAugSepOctNovDec"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST = (datetime(9999, 1, 1, tzinfo=UTC) - _EPOCH) // timedelta(seconds=1)


class LogEntry(NamedTuple):
    """The fields of a line. `at` is in epoch seconds; `agent` is empty if the line has none."""

    host: str
    agent: str
    at: int
    is_pageview: bool


class Mismatch(InvalidValue):
    """A line that is not in a format.

    `column` is where it stops matching, counted from 1; `reach` is how much of it has the format.
    """

    def __init__(self, reason: str, column: int = 1, reach: int | None = None) -> None:
        super().__init__(f"column {column:,}: {reason}")
        self.reason = reason
        self.column = column
        self.reach = column if reach is None else reach


class Ignored(Exception):
    """A blank line or a directive: it describes no request, and nothing is wrong with it."""


class Parser(Protocol):
    """Parses the lines of one file in one format."""

    def parse(self, line: bytes) -> LogEntry:
        """The entry of a line without its line end; raises Mismatch or Ignored."""
        ...


def check(line: bytes) -> None:
    """Raises Ignored or Mismatch for a line that is bad in every format."""
    if not line.strip():
        raise Ignored
    if len(line) > MAX_LINE:
        raise Mismatch(f"longer than {MAX_LINE:,} bytes")
    if b"\0" in line:
        raise Mismatch("holds NUL bytes", line.index(b"\0") + 1)


def is_view(method: str, status: str) -> bool:
    """Whether a request is a page view: a GET answered 2xx or 304."""
    return method == "GET" and (status[0] == "2" or status == "304")


@lru_cache(maxsize=16384)
def instant(text: str) -> int:
    """Epoch seconds of `10/Oct/2000:13:55:36 -0700`; raises InvalidValue.

    A leap second counts as the second after it.
    """
    match = _TIME.fullmatch(text)
    if match is None:
        raise InvalidValue(f"not a time: {text[:40]!r}")
    day, hour, minute, second, zone = match.groups()
    at = _midnight(day, zone) + int(hour) * 3600 + int(minute) * 60 + int(second)
    return checked_instant(at, text)


@lru_cache(maxsize=16384)
def iso_instant(text: str) -> int:
    """Epoch seconds of an ISO 8601 time with its zone; raises InvalidValue."""
    plain = _LEAP_SECOND.sub(r"\g<1>59", text, count=1)
    try:
        at = datetime.fromisoformat(plain)
    except ValueError:
        raise InvalidValue(f"not a time: {text[:40]!r}") from None
    if at.tzinfo is None:
        raise InvalidValue(f"a time without its zone: {text[:40]!r}")
    return checked_instant((at - _EPOCH) // timedelta(seconds=1) + (plain != text), text)


def checked_instant(at: int, text: object) -> int:
    """The epoch seconds if they can be stored; raises InvalidValue."""
    if not 0 <= at < _LATEST:
        raise InvalidValue(f"outside 1970 to 9998: {str(text)[:40]!r}")
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
