"""Generated visits, as a pure function of time.

The visits that begin in a minute depend on the site and the minute only. Generating the same time
again gives the same events with the same ids, so a restart neither repeats nor loses any, and an
event that is sent twice counts once.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from functools import lru_cache
from hashlib import blake2b
from typing import Any

from synergy.timeperiod import Qualifier

SITES = {"example.com": 10.0, "shop.example.com": 6.0, "blog.example.org": 4.0}
"""Visits per minute at the busiest time of the day."""

LONGEST_VISIT = 20 * 60
"""The most seconds from the first to the last event of a visit."""

_SYSTEMS = {
    "Windows": (("Chrome", "Edge", "Firefox"), ("1920x1080", "1366x768", "2560x1440"), 46),
    "Mac OS X": (("Safari", "Chrome", "Firefox"), ("1440x900", "2560x1600", "1920x1080"), 18),
    "Android": (("Chrome Mobile", "Samsung Internet"), ("412x915", "360x800"), 20),
    "iOS": (("Mobile Safari",), ("390x844", "430x932"), 12),
    "Linux": (("Firefox", "Chrome"), ("1920x1080", "2560x1440"), 4),
}
_PLACES = {
    ("en", "United States"): 38,
    ("en", "United Kingdom"): 14,
    ("de", "Germany"): 16,
    ("fr", "France"): 10,
    ("es", "Spain"): 8,
    ("pt", "Brazil"): 8,
    ("ja", "Japan"): 6,
}

Event = dict[str, Any]


def events_between(start: int, end: int) -> list[Event]:
    """The events of all sites in `[start, end)`, in epoch seconds, ordered by time."""
    first, last = (start - LONGEST_VISIT) // 60, (end - 1) // 60
    events = [
        event
        for minute in range(first, last + 1)
        for site in SITES
        for event in visits_of(site, minute)
        if start <= event["at"] < end
    ]
    return sorted(events, key=lambda event: (event["at"], event["session"]))


@lru_cache(maxsize=256)
def visits_of(site: str, minute: int) -> tuple[Event, ...]:
    """The events of the visits that begin in a minute since the epoch; cached, so read-only."""
    chance = random.Random(f"{site} {minute}")
    number = _poisson(chance, SITES[site] * activity(minute))
    return tuple(event for n in range(number) for event in _visit(chance, site, minute, n))


def activity(minute: int) -> float:
    """The share of the busiest time: from 0.15, at 4:00 UTC, to 1, at 16:00."""
    hour = minute % 1440 / 60
    return 0.575 - 0.425 * math.cos((hour - 4) / 24 * 2 * math.pi)


def _visit(chance: random.Random, site: str, minute: int, number: int) -> Iterator[Event]:
    identity = blake2b(f"{site} {minute} {number}".encode(), digest_size=12).hexdigest()
    opened = minute * 60 + chance.randrange(60)
    shared = {
        "site": site,
        "session": identity,
        "hour": Qualifier.HOURLY.timeperiod(opened // 3600),
        "ip": f"198.51.100.{chance.randrange(1, 255)}",  # a range reserved for documentation
        **_visitor(chance),
    }
    at = opened
    for step in range(_poisson(chance, 3.0) + 1):
        is_pageview = step == 0 or chance.random() < 0.7
        yield {**shared, "at": at, "key": str(step), "pageview": is_pageview}
        at = min(at + int(chance.expovariate(1 / 40)) + 1, opened + LONGEST_VISIT)


def _visitor(chance: random.Random) -> Event:
    weights = [weight for _, _, weight in _SYSTEMS.values()]
    (system,) = chance.choices(list(_SYSTEMS), weights)
    browsers, screens, _ = _SYSTEMS[system]
    ((language, country),) = chance.choices(list(_PLACES), list(_PLACES.values()))
    return {
        "os": system,
        "browser": chance.choice(browsers),
        "language": language,
        "country": country,
        "screen_resolution": chance.choice(screens),
    }


def _poisson(chance: random.Random, mean: float) -> int:
    """A random number of the Poisson distribution with this mean."""
    count, left = 0, math.exp(-mean)
    product = chance.random()
    while product > left:
        count += 1
        product *= chance.random()
    return count
