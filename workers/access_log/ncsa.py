"""Common and Combined Log Format, and the two that add a field: `vhost_combined` and `main`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from synergy.errors import InvalidValue
from workers.access_log.lines import MAX_HOST, MAX_LINE, LogEntry, Mismatch, check, instant

Part = tuple[str, str]
"""(what is expected, its pattern)"""

_QUOTED = r'"((?:[^"\\]++|\\.)*+)"'
_ADDRESS = r"(?:\d{1,3}(?:\.\d{1,3}){3}|[0-9A-Fa-f]*:[0-9A-Fa-f:.]+)"
_PREFIXED = rf"(?:\S+:\d{{1,5}} [^\s-]\S*|\S+ {_ADDRESS}) \S+ [^\"\[\]]+ \["
"""The start of a line whose first word is a virtual host: the visitor's host is the second."""

_HOST = ("the visitor's host", rf"(\S{{1,{MAX_HOST}}})")
_VIRTUAL_HOST = ("the virtual host and the visitor's host", rf"(?={_PREFIXED})\S+ ")
_USER = ("a client identity and a user", r" \S+ [^\s\"\[\]]+")
_SPACED_USER = ("a client identity and a user", r" \S+ [^\"\[\]]+(?= \[)")
_REQUEST = (
    ("a time in brackets", r" \[([^\]]*)\]"),
    ("a quoted request", rf" {_QUOTED}"),
    ("a status of three digits", r" (\d{3})"),
    ("a number of bytes or -", r" (?:\d+|-)(?!\S)"),
)
_AGENT = (("a quoted referrer", rf" {_QUOTED}"), ("a quoted user agent", rf" {_QUOTED}"))
_FORWARDED = ("a quoted X-Forwarded-For", rf" {_QUOTED}")


def _compiled(parts: Sequence[Part], optional: Sequence[Part] = ()) -> re.Pattern[str]:
    more = "".join(pattern for _, pattern in optional)
    needed = "".join(pattern for _, pattern in parts)
    return re.compile(needed + (f"(?:{more})?" if more else ""), re.ASCII | re.DOTALL)


class NcsaParser:
    """Parses a format by its parts; the time, request, status and agent are groups 2, 3, 4, 6."""

    def __init__(
        self, begin: Sequence[Part], agent: Sequence[Part] = (), optional: Sequence[Part] = ()
    ) -> None:
        self._parts = (*begin, _USER, *_REQUEST, *agent)
        self._optional = tuple(optional)
        spaced = (*begin, _SPACED_USER, *_REQUEST, *agent)
        if _VIRTUAL_HOST not in begin:
            spaced = (("the visitor's host", rf"(?!{_PREFIXED})"), *spaced)
        self._pattern = _compiled(self._parts, self._optional)
        self._spaced = _compiled(spaced, self._optional)
        self._spaced_parts = spaced

    def parse(self, line: bytes) -> LogEntry:
        text = line.decode("latin-1")
        match = self._pattern.fullmatch(text)
        if match is None or len(line) > MAX_LINE or b"\0" in line:
            check(line)
            match = self._spaced.fullmatch(text)
            if match is None:
                raise self._mismatch(text)
        host, time, request, status, agent = match.group(1, 2, 3, 4, 6)
        is_pageview = request.startswith("GET ") and (status[0] == "2" or status == "304")
        try:
            at = instant(time)
        except InvalidValue as error:
            raise Mismatch(str(error), match.start(2) + 1, len(line) + 2) from None
        return LogEntry(host, "" if agent is None or agent == "-" else agent, at, is_pageview)

    def _mismatch(self, text: str) -> Mismatch:
        """Where the longest matching beginning of the line ends, and what should follow."""
        end, expected = max(
            _furthest(parts, text)
            for first in (self._parts, self._spaced_parts)
            for parts in (first, (*first, *self._optional))
        )
        reach = end + 1 if "[" in text[:end] else 1  # before the time, most lines match
        if text.count('"') % 2:
            return Mismatch("a quoted field has no end", text.rindex('"') + 1, reach)
        column = end + 1 + text.startswith(" ", end)
        return Mismatch(f"expected {expected}", column, reach)


def _furthest(parts: Sequence[Part], text: str) -> tuple[int, str]:
    """The length of the longest beginning that some parts match, and the part after it."""
    end, expected = 0, parts[0][0]
    for count in range(1, len(parts) + 1):
        match = _compiled(parts[:count]).match(text)
        if match is None:
            break
        end = match.end()
        expected = parts[count][0] if count < len(parts) else "the end of the line"
    return end, expected


COMBINED = NcsaParser((_HOST,), optional=_AGENT)
"""Also parses lines in Common Log Format, which end after the number of bytes."""

VHOST_COMBINED = NcsaParser((_VIRTUAL_HOST, _HOST), optional=_AGENT)
MAIN = NcsaParser((_HOST,), agent=(*_AGENT, _FORWARDED))

parse = COMBINED.parse
