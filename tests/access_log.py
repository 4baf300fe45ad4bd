"""Generated access logs whose visits and page views are known from the plan of their lines.

A visitor has a list of visits; a visit has the moments of its lines, in the order of the file. The
lines are written from this plan, and the expected counts are taken from it. A line belongs to the
same visit as the visitor's previous line if it is at most thirty minutes later, or earlier by any
amount.

A log is a function of its first day, its size and its seed, on every version of Python.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta, timezone
from functools import lru_cache
from itertools import count
from pathlib import Path

from tests.acceptance.visits import Visit

UNKNOWN = datetime(1970, 1, 1, tzinfo=UTC)
FIRST_DAY = date(2015, 5, 30)  # the month ends with the second of the four days
DAYS = 4
LINES = 10_000
OPENS, CLOSES = 10 * 3600 + 300, 3 * 3600  # after the first midnight, before the last one
PAUSE = 30 * 60
MIDNIGHT = 24 * 3600
UNREADABLE = (
    b'""',
    b"-",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    b'192.0.2.7 - - [%s] "GET /cut/off HTTP/1.1" 200 51 "-" "Mozilla/5.0 (X11; Li',
    b'192.0.2.7 - - [%s] "GET /no/status HTTP/1.1"',
    b'192.0.2.7 - - "GET /no/time HTTP/1.1" 200 51 "-" "Mozilla/5.0"',
    b'192.0.2.7 - - [32/May/2015:10:00:00 +0000] "GET / HTTP/1.1" 200 51 "-" "Mozilla/5.0"',
    b'192.0.2.7 - - [17/Mai/2015:10:00:00 +0000] "GET / HTTP/1.1" 200 51 "-" "Mozilla/5.0"',
    b'192.0.2.7 - - [17/May/2015:24:00:00 +0000] "GET / HTTP/1.1" 200 51 "-" "Mozilla/5.0"',
    b'192.0.2.7 - - [%s] "GET / HTTP/1.1" OK 51 "-" "Mozilla/5.0"',
    b"[error] [client 192.0.2.7] File does not exist: /var/www/favicon.ico",
    b"%s some words of another program",
)
BROWSERS = (
    "Mozilla/5.0 (Windows NT 6.1; WOW64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/42.0.2311.135 Safari/537.36",  # noqa: E501
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_10_3) AppleWebKit/600.5.17 (KHTML, like Gecko) Version/8.0.5 Safari/600.5.17",  # noqa: E501
    "Mozilla/5.0 (X11; Linux x86_64; rv:38.0) Gecko/20100101 Firefox/38.0",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 8_3 like Mac OS X) AppleWebKit/600.1.4 (KHTML, like Gecko) Version/8.0 Mobile/12F70 Safari/600.1.4",  # noqa: E501
    "Mozilla/5.0 (Windows NT 6.3; Trident/7.0; rv:11.0) like Gecko",
    'Agent \\"quoted\\" 1.0',
)
ROBOTS = (
    "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
    "Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)",
    "UniversalFeedParser/4.2-pre-314-svn +http://feedparser.org/",
)
PATHS = (
    "/",
    "/blog/",
    "/robots.txt",
    "/favicon.ico",
    "/images/a.png",
    '/search?q=\\"a\\"',
    "/\xe9",
)
READ = (
    ("GET 200",) * 20 + ("GET 304",) * 3 + ("GET 206", "GET 301", "GET 404", "HEAD 200", "POST 200")
)
SCANS = ("GET 404", "POST 404", "GET 403", "POST 500", "- 408")


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the log; `visit` is the number of its visit, None if it cannot be read."""

    content: bytes
    visit: int | None = None
    at: datetime = UNKNOWN
    is_pageview: bool = False


@dataclass(frozen=True)
class AccessLog:
    """The lines, and the visits that are expected in all of them or in the first `end`."""

    lines: Sequence[Line]

    def content(self, end: int | None = None) -> bytes:
        return b"".join(line.content + b"\n" for line in self.lines[:end])

    def write(self, path: Path) -> Path:
        path.write_bytes(self.content())
        return path

    def visits(self, end: int | None = None) -> list[Visit]:
        found: dict[int, Visit] = {}
        for line in self.lines[:end]:
            if line.visit is not None:
                visit = found.setdefault(line.visit, Visit([]))
                visit.times.append(line.at)
                visit.pageviews += line.is_pageview
        return list(found.values())

    @property
    def rejected(self) -> list[int]:
        """The numbers of the lines that cannot be read."""
        return [number for number, line in enumerate(self.lines, start=1) if line.visit is None]

    @property
    def hours(self) -> list[str]:
        """The hours in which visits began."""
        return sorted({f"{visit.times[0]:%Y%m%d%H}" for visit in self.visits()})


class Dice:
    """Random numbers that are equal on all versions of Python, which guarantee only `random()`."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def between(self, first: int, last: int) -> int:
        return first + int(self._random.random() * (last - first + 1))

    def pick(self, choices: Sequence[str]) -> str:
        return choices[self.between(0, len(choices) - 1)]

    def is_one_of(self, number: int) -> bool:
        return self.between(1, number) == 1


@dataclass
class Plan:
    """Collects lines as (moment of writing, sequence number, line).

    Moments are seconds after midnight of the first day.
    """

    midnight: datetime
    dice: Dice
    written: list[tuple[int, int, Line]] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=count)
    hosts: Iterator[int] = field(default_factory=count)

    def host(self) -> str:
        number = next(self.hosts)
        return f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"

    def visitor(
        self,
        agent: str | None,
        *visits: Sequence[int],
        requests: Sequence[str] = READ,
        host: str = "",
    ) -> None:
        """Adds a visitor's visits; without an agent the lines have Common Log Format."""
        host, written = host or self.host(), 0
        for moments in visits:
            visit = next(self.numbers)
            for moment in moments:
                written = max(written, moment)
                line = self._line(host, agent, moment, visit, self.dice.pick(requests))
                self.written.append((written, len(self.written), line))

    def _line(self, host: str, agent: str | None, moment: int, visit: int, request: str) -> Line:
        method, status = request.split()
        at = self.midnight + timedelta(seconds=moment)
        asked = "-" if method == "-" else f"{method} {self.dice.pick(PATHS)} HTTP/1.1"
        size = "-" if status == "304" else str(moment % 5000)
        text = f'{host} - - [{self._stamp(at)}] "{asked}" {status} {size}'
        text += "" if agent is None else f' "-" "{agent}"'
        is_pageview = method == "GET" and status in ("200", "206", "304")
        return Line(text.encode("latin-1"), visit, at, is_pageview)

    def _stamp(self, at: datetime) -> str:
        hours = self.dice.between(-7, 2) if self.dice.is_one_of(20) else 0
        return f"{at.astimezone(timezone(timedelta(hours=hours))):%d/%b/%Y:%H:%M:%S %z}"

    def unreadable(self, content: bytes, moment: int) -> None:
        at = self._stamp(self.midnight + timedelta(seconds=moment)).encode()
        self.written.append((moment, len(self.written), Line(content.replace(b"%s", at))))


@lru_cache(maxsize=4)
def access_log(
    first_day: date = FIRST_DAY, days: int = DAYS, lines: int = LINES, seed: int = 11
) -> AccessLog:
    """A log of `lines` lines, some of which cannot be read."""
    midnight = datetime(first_day.year, first_day.month, first_day.day, tzinfo=UTC)
    plan, end = Plan(midnight, Dice(seed)), days * MIDNIGHT - CLOSES
    plan_edges(plan, days)
    plan_robots(plan, end, every=max(1, LINES // lines))
    for content in UNREADABLE:
        plan.unreadable(content, plan.dice.between(OPENS, end))
    while len(plan.written) < lines:
        plan_person(plan, end, lines - len(plan.written))
    return AccessLog([line for _, _, line in sorted(plan.written, key=lambda each: each[:2])])


def plan_edges(plan: Plan, days: int) -> None:
    """Adds visits at the limits of the rules."""
    agent, get = BROWSERS[2], ("GET 200",)
    noon = MIDNIGHT // 2
    plan.visitor(agent, [noon, noon + PAUSE, noon + 2 * PAUSE])  # a gap of PAUSE ends no visit
    plan.visitor(agent, [noon], [noon + PAUSE + 1])
    # The gap is measured from the previous line of the file, even if that line goes back in time.
    plan.visitor(agent, [noon + 100, noon], [noon + PAUSE + 1])
    plan.visitor(agent, [noon, noon - 7200, noon - 7200 + PAUSE], [noon + 60])
    plan.visitor(agent, [noon - 1, noon, noon + 1])
    plan.visitor(agent, [noon, noon, noon], requests=get)
    plan.visitor(None, [noon + 3599, noon + 3600])
    plan.visitor("-", [noon, noon + 3 * 60])
    office = plan.host()
    for other in BROWSERS:  # one host, several visitors
        plan.visitor(other, [noon, noon + 5], host=office)
    for day in range(1, days):
        at = day * MIDNIGHT
        plan.visitor(agent, [at - 10, at + 20, at + 1500])
        plan.visitor(agent, [at - 1], [at + PAUSE], requests=get)
        plan.visitor(agent, [at], requests=get)
        plan.visitor(agent, [at + 30, at - 50, at + 600])  # only its second line is before midnight


def plan_robots(plan: Plan, end: int, every: int) -> None:
    """Adds robots that ask from the first line on: some in one long visit, others in short ones."""
    steps = ((1200, 1200), (PAUSE, PAUSE), (PAUSE + 1, PAUSE + 1), (60, PAUSE), (PAUSE + 1, 9000))
    for number, (least, most) in enumerate(steps):
        moments = [OPENS + number]
        while moments[-1] + every * most < end:
            moments.append(moments[-1] + plan.dice.between(least, most))
        is_one = most <= PAUSE
        visits = [moments] if is_one else [[moment] for moment in moments]
        requests = ("HEAD 200",) if number == 0 else READ
        plan.visitor(ROBOTS[number % len(ROBOTS)], *visits, requests=requests)


def plan_person(plan: Plan, end: int, room: int) -> None:
    """Adds a visitor with a few short visits, or a scanner whose requests are refused."""
    dice = plan.dice
    agent = None if dice.is_one_of(30) else dice.pick(BROWSERS)
    requests = SCANS if dice.is_one_of(40) else READ
    moment = dice.between(OPENS, end)
    visits: list[list[int]] = []
    for _ in range(dice.between(1, 3)):
        visit = [moment]
        for _ in range(dice.between(0, 7)):
            back = dice.is_one_of(25)  # the line of a long request is written when it ends
            step = dice.between(1500, PAUSE) if dice.is_one_of(50) else dice.between(0, 240)
            visit.append(visit[-1] + (-dice.between(1, 400) if back else step))
        visits.append([at for at in visit if at < end][:room])
        room -= len(visits[-1])
        moment = visit[-1] + PAUSE + dice.between(1, 20_000)
        if moment >= end or room <= 0:
            break
    plan.visitor(agent, *visits, requests=requests)
