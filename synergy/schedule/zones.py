"""Time zones by name; for times that a clock change skips or repeats see `due`."""

from __future__ import annotations

import difflib
from functools import lru_cache
from zoneinfo import ZoneInfo, available_timezones

from synergy.errors import InvalidValue

# These name no place: their meaning differs from machine to machine.
_NO_PLACES = frozenset({"localtime", "posixrules", "Factory"})


@lru_cache(maxsize=1_024)  # zoneinfo caches only eight
def zone(name: str) -> ZoneInfo:
    """The zone of that name, as `Europe/Berlin`; raises InvalidValue with a suggestion."""
    is_place = name not in _NO_PLACES and not name.startswith(("posix/", "right/"))
    try:
        if is_place:
            return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        pass
    raise InvalidValue(f"there is no time zone {name!r}{_suggestion(name)}")


def _suggestion(name: str) -> str:
    known = available_timezones() - _NO_PLACES
    if not known:
        return "; this machine knows none: install the package tzdata"
    wanted = name.strip().replace(" ", "_").lower()
    by_words = {full.rpartition("/")[2].lower(): full for full in sorted(known)}
    by_words |= {full.lower(): full for full in known}
    # Abbreviations are never similar: EST is seven hours from CEST.
    likeness = 0.75 if len(wanted) > 4 else 1.0
    if close := difflib.get_close_matches(wanted, by_words, n=1, cutoff=likeness):
        return f"; did you mean {by_words[close[0]]}?"
    return "; zones are named like Europe/Berlin or UTC"


def names() -> list[str]:
    """The names of the zones that this machine knows, sorted."""
    known = available_timezones() - _NO_PLACES
    return sorted(name for name in known if not name.startswith(("posix/", "right/", "Etc/")))
