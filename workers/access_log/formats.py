"""The formats of access logs by name, and which of them a log has."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from synergy.errors import InvalidValue
from workers.access_log import ncsa
from workers.access_log.json_lines import CaddyJson, NginxJson
from workers.access_log.lines import Ignored, LogEntry, Mismatch, Parser
from workers.access_log.w3c import W3cParser

FIRST_LINES = 1000
"""The most lines, blank ones apart, by which a format is recognised."""

_ENOUGH = 20  # lines of one format

Line = tuple[LogEntry, bytes]
"""An entry and its line."""


@dataclass(frozen=True, slots=True)
class Format:
    """A format: its name for `--format`, its title, and its parser, a new one for each file."""

    name: str
    title: str
    parser: Callable[[], Parser]


COMMON = Format("common", "Common Log Format", lambda: ncsa.COMBINED)
COMBINED = Format("combined", "Combined Log Format", lambda: ncsa.COMBINED)

FORMATS: Mapping[str, Format] = {
    each.name: each
    for each in (
        COMBINED,
        COMMON,
        Format("vhost_combined", "Apache's vhost_combined", lambda: ncsa.VHOST_COMBINED),
        Format("main", "nginx's main", lambda: ncsa.MAIN),
        Format("nginx_json", "JSON lines of nginx", NginxJson),
        Format("caddy_json", "JSON lines of Caddy", CaddyJson),
        Format("w3c", "W3C extended", W3cParser),
    )
}


class Recognition:
    """Finds the format of a log from its first lines: the one that most of them have."""

    def __init__(self, given: Format | None = None) -> None:
        self._given = given
        candidates = [given] if given else [each for each in FORMATS.values() if each != COMMON]
        self._parsers = [(each, each.parser()) for each in candidates]
        self._matched = dict.fromkeys(candidates, 0)
        self._nearest: tuple[Mismatch, int, Format] | None = None
        self._has_agents = False
        self._number = self._lines = 0
        self._heads: dict[Format, list[Line]] = {each: [] for each in candidates}

    def add(self, block: Sequence[bytes]) -> bool:
        """Tries the formats on some lines; returns whether no more lines are needed."""
        for line in block:
            if self._lines >= FIRST_LINES or max(self._matched.values()) >= _ENOUGH:
                return True
            self._number += 1
            if line.strip():
                self._lines += 1
                self._try(line)
        return any(self._matched.values())

    def _try(self, line: bytes) -> None:
        for format_, parser in self._parsers:
            try:
                entry = parser.parse(line)
            except Ignored:
                self._matched[format_] += 1
                return
            except Mismatch as error:
                self._note(error, format_)
            else:
                self._matched[format_] += 1
                self._has_agents |= line.rstrip().endswith(b'"')
                self._heads[format_].append((entry, line))
                return

    def _note(self, error: Mismatch, format_: Format) -> None:
        if self._nearest is None or error.reach > self._nearest[0].reach:
            self._nearest = error, self._number, format_

    def result(self) -> tuple[Format, list[Line]] | None:
        """The format and the first lines that have it; None if the log is empty.

        Raises InvalidValue, with the nearest format and where it ends, if no line has a format.
        """
        best = self._given or max(self._matched, key=lambda each: self._matched[each])
        if self._given or self._matched[best]:
            is_common = best == COMBINED and not self._has_agents
            return COMMON if is_common else best, self._heads[best]
        if self._nearest is None:
            return None
        error, number, nearest = self._nearest
        raise InvalidValue(
            f"no known format in its first lines ({self._lines:,} tried); the nearest is "
            f"{nearest.title}, which line {number:,} leaves at column {error.column:,}: "
            f"{error.reason}"
        )
