"""Statistics of visits: pure functions that count and add up.

A *stat* is part of a row of a site or client: the numbers of visits and page views, the total
duration in seconds, and a counter for each property of the visitors. Adding up is associative and
commutative, and counters are sorted, so that the same visits always give the same bytes.

Counted values (`bl.uk_lddc_bot`, `Opera Mini`) are used as keys unchanged; a store that cannot use
them as field names translates them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from operator import itemgetter
from typing import Any

NUMBERS = ("number_of_visits", "number_of_pageviews", "total_duration")
COUNTERS = ("os", "browser", "language", "country", "screen_resolution")
_profile = itemgetter(*COUNTERS)

Stat = dict[str, Any]
Row = Mapping[str, Any]


class _Visits:
    """The visits of one site that were counted so far."""

    __slots__ = ("duration", "pageviews", "profiles", "visits")

    def __init__(self) -> None:
        self.visits = self.pageviews = self.duration = 0
        self.profiles: dict[tuple[str, ...], int] = defaultdict(int)

    def stat(self) -> Stat:
        numbers = (self.visits, self.pageviews, self.duration)
        counters: list[Counter[str]] = [Counter() for _ in COUNTERS]
        for profile, count in self.profiles.items():
            for counter, value in zip(counters, profile, strict=True):
                counter[value] += count
        return _stat(numbers, counters)


def count_sessions(
    sessions: Iterable[Row], checkpoint: Callable[[], None] = lambda: None
) -> dict[str, Stat]:
    """The stat of each site; calls `checkpoint` once for every 4,096 sessions."""
    sites: defaultdict[str, _Visits] = defaultdict(_Visits)
    for number, session in enumerate(sessions):
        if number % 4096 == 0:
            checkpoint()
        site = sites[session["domain"]]
        history = session["browsing_history"]
        site.visits += 1
        site.pageviews += history["number_of_pageviews"]
        site.duration += history["total_duration"]
        site.profiles[_profile(session["user_profile"])] += 1
    return {domain: site.stat() for domain, site in sorted(sites.items())}


def add_up(stats: Iterable[Stat]) -> Stat:
    """The sum of stats."""
    numbers = [0] * len(NUMBERS)
    counters: list[Counter[str]] = [Counter() for _ in COUNTERS]
    for stat in stats:
        for place, name in enumerate(NUMBERS):
            numbers[place] += stat[name]
        for counter, name in zip(counters, COUNTERS, strict=True):
            counter.update(stat[name])
    return _stat(numbers, counters)


def add_up_by(owner_of: Callable[[Row], str], rows: Iterable[Row]) -> dict[str, Stat]:
    """The sum of the rows' stats for each owner."""
    owned: dict[str, list[Stat]] = defaultdict(list)
    for row in rows:
        owned[owner_of(row)].append(row["stat"])
    return {owner: add_up(stats) for owner, stats in sorted(owned.items())}


def _stat(numbers: Iterable[int], counters: Iterable[Counter[str]]) -> Stat:
    return {
        **dict(zip(NUMBERS, numbers, strict=True)),
        **{
            name: dict(sorted(counter.items()))
            for name, counter in zip(COUNTERS, counters, strict=True)
        },
    }
