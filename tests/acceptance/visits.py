"""The expected statistics of access logs, computed independently from the raw lines.

Shares no code with the system: it applies the log format and the session rules directly.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

LOG = Path(__file__).parents[3] / "shared" / "data" / "apache_logs"
SITE = "semicomplete.com"
CLIENT = "semicomplete"
PAUSE = timedelta(minutes=30)
DIGITS = {"hourly": 10, "daily": 8, "monthly": 6, "yearly": 4}  # significant digits of a timeperiod

_LINE = re.compile(
    r'(\S+) \S+ \S+ \[(\d\d/\w+/\d{4}:\d\d:\d\d:\d\d [+-]\d{4})\] "((?:[^"\\]|\\.)*)"'
    r' (\d{3}) (?:\d+|-)(?: "(?:[^"\\]|\\.)*" "((?:[^"\\]|\\.)*)")?'
)


@dataclass(slots=True)
class Visit:
    """A session, by its lines."""

    times: list[datetime]
    pageviews: int = 0

    @property
    def seconds(self) -> int:
        return int((max(self.times) - min(self.times)).total_seconds())


def visits(lines: Iterable[str]) -> list[Visit]:
    """The sessions of one log."""
    found: list[Visit] = []
    present: dict[tuple[str, str], Visit] = {}
    for line in lines:
        match = _LINE.fullmatch(line.rstrip("\n"))
        if match is None:
            continue
        host, time, request, status, agent = match.groups()
        try:
            at = datetime.strptime(time, "%d/%b/%Y:%H:%M:%S %z").astimezone(UTC)
        except ValueError:
            continue
        visit = present.get((host, agent or ""))
        if visit is None or at - visit.times[-1] > PAUSE:
            visit = present[host, agent or ""] = Visit([])
            found.append(visit)
        visit.times.append(at)
        visit.pageviews += request.startswith("GET ") and (
            status.startswith("2") or status == "304"
        )
    return found


Numbers = tuple[int, int, int]  # visits, page views, seconds


def statistics(found: Iterable[Visit], qualifier: str) -> dict[str, Numbers]:
    """By timeperiod."""
    digits = DIGITS[qualifier]
    sums: dict[str, Counter[str]] = {}
    for visit in found:
        timeperiod = f"{visit.times[0]:%Y%m%d%H}"[:digits].ljust(10, "0")
        own = {"visits": 1, "pageviews": visit.pageviews, "seconds": visit.seconds}
        sums.setdefault(timeperiod, Counter()).update(own)
    return {
        timeperiod: (own["visits"], own["pageviews"], own["seconds"])
        for timeperiod, own in sorted(sums.items())
    }


def reported(rows: Iterable[dict[str, object]]) -> dict[str, Numbers]:
    """The statistics in the rows of `launch.py report`; each timeperiod occurs once."""
    found: dict[str, Numbers] = {}
    for row in rows:
        stat = row["stat"]
        assert row["timeperiod"] not in found
        for name in ("os", "browser", "language", "country", "screen_resolution"):
            assert sum(stat[name].values()) == stat["number_of_visits"]
        found[row["timeperiod"]] = (
            stat["number_of_visits"],
            stat["number_of_pageviews"],
            stat["total_duration"],
        )
    return found
