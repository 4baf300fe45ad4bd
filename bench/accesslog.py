"""Generates an access log like that of a real server: the same lines in each run.

Its proportions are those of a busy blog: about three lines a visit, thousands of returning
visitors, a few common user agents and hundreds of rare ones, robots and feed readers, and more
visits by day than by night.
"""

from __future__ import annotations

import heapq
import math
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path

SITE = "bench.example"
BEGIN = datetime(2026, 1, 5, tzinfo=UTC)
LINES_A_MINUTE = 60  # the lines of a minute at the busiest time of the day
LINES_A_VISIT = 3.2
NO_NEW_VISITOR = 0.5  # the share of visits before which no new visitor is added
PAUSE_SECONDS = 40  # the time between two lines of a visit, on average

_PLATFORMS = (
    "Windows NT 10.0; Win64; x64",
    "Windows NT 6.1; WOW64",
    "Macintosh; Intel Mac OS X 10_15_7",
    "X11; Linux x86_64",
    "X11; Ubuntu; Linux x86_64",
    "Linux; Android 14; Pixel 8",
    "iPhone; CPU iPhone OS 17_2 like Mac OS X",
)
_ROBOTS = (
    "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
    "Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)",
    "UniversalFeedParser/4.2-pre-314-svn +http://feedparser.org/",
    "Tiny Tiny RSS/1.11 (http://tt-rss.org/)",
    "-",
)
_PAGES = ("/", "/blog/", "/projects/", "/articles/dynamic-dns/", "/presentations/logstash/")
_REST = ("/style.css", "/favicon.ico", "/images/header.png", "/reset.css", "/robots.txt")
_STATUS = (("200", 88), ("304", 5), ("404", 3), ("301", 2), ("206", 2))


def write(path: Path, lines: int) -> None:
    """Writes the first `lines` lines of the log."""
    with path.open("w", encoding="ascii") as file:
        file.writelines(islice(log_lines(), lines))


def log_lines() -> Iterator[str]:
    """An endless iterator of lines, in order of time."""
    chance = random.Random("access log")
    agents, weights = _agents(chance)
    waiting: list[tuple[float, int, str, int]] = []  # time, visit, visitor, lines left
    visitors: list[str] = []
    number, minute = 0, 0
    while True:
        for _ in range(round(LINES_A_MINUTE / LINES_A_VISIT * _traffic(minute))):
            if not visitors or chance.random() > NO_NEW_VISITOR:
                visitors.append(_visitor(chance, agents, weights))
            at = minute * 60 + chance.random() * 60
            length = 1 + int(chance.expovariate(1 / (LINES_A_VISIT - 0.6)))
            heapq.heappush(waiting, (at, number, chance.choice(visitors[-5000:]), length))
            number += 1
        minute += 1
        while waiting and waiting[0][0] < minute * 60:
            at, visit, visitor, left = heapq.heappop(waiting)
            yield _line(chance, at, visitor)
            if left > 1:
                later = at + 1 + chance.expovariate(1 / PAUSE_SECONDS)
                heapq.heappush(waiting, (later, visit, visitor, left - 1))


def _traffic(minute: int) -> float:
    """The traffic of a minute as a share of the peak: from 0.2 at 4:00 to 1 at 16:00."""
    return 0.6 - 0.4 * math.cos((minute % 1440 / 60 - 4) / 12 * math.pi)


def _agents(chance: random.Random) -> tuple[list[str], list[float]]:
    browsers = [
        f"Mozilla/5.0 ({platform}) AppleWebKit/537.36 (KHTML, like Gecko) "
        f"Chrome/{version}.0.{chance.randrange(6000)}.{chance.randrange(200)} Safari/537.36"
        if version % 3
        else f"Mozilla/5.0 ({platform}; rv:{version}.0) Gecko/20100101 Firefox/{version}.0"
        for version in range(60, 140)
        for platform in _PLATFORMS
    ]
    chance.shuffle(browsers)
    agents = [*_ROBOTS, *browsers]
    return agents, [1 / (rank + 3) for rank in range(len(agents))]


def _visitor(chance: random.Random, agents: list[str], weights: list[float]) -> str:
    """The host and the user agent of a new visitor."""
    address = f"198.{chance.randrange(18, 20)}.{chance.randrange(256)}.{chance.randrange(1, 255)}"
    return f"{address} {chance.choices(agents, weights)[0]}"


def _line(chance: random.Random, at: float, visitor: str) -> str:
    host, _, agent = visitor.partition(" ")
    when = (BEGIN + timedelta(seconds=int(at))).strftime("%d/%b/%Y:%H:%M:%S +0000")
    page = chance.choice(_PAGES if chance.random() < 0.6 else _REST)
    ((status, _),) = chance.choices(_STATUS, [weight for _, weight in _STATUS])
    size = chance.randrange(200, 60_000)
    referrer = "-" if chance.random() < 0.4 else f"http://{SITE}{chance.choice(_PAGES)}"
    return (
        f'{host} - - [{when}] "GET {page}?{chance.randrange(200)} HTTP/1.1" {status} {size} '
        f'"{referrer}" "{agent}"\n'
    )
