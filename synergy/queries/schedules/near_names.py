"""Which schedule was probably meant by a name that none has."""

from __future__ import annotations

from difflib import get_close_matches

from synergy.errors import NotFound
from synergy.storage.protocol import StoreView

LOOKED_AT = 50  # names after each beginning of the one that is unknown
LONGEST = 200  # characters of a name that is compared


def no_schedule(store: StoreView, name: str, kind: str = "schedule") -> NotFound:
    """The error that says so, with a suggestion if some name near by is like it.

    It looks at some hundred names, however many there are.
    """
    names = _near_by(store, name)
    near = get_close_matches(name[:LONGEST].lower(), names, 1)
    hint = "launch.py schedule list shows which there are"
    return NotFound(kind, name, f"did you mean {names[near[0]]}?" if near else hint)


def _near_by(store: StoreView, name: str) -> dict[str, str]:
    """Names that begin like it, the more alike the better, and the first of all; by lower case."""
    known = name[:LONGEST]
    sizes = dict.fromkeys((len(known) * 3 // 4, len(known) // 2, 1, 0))
    found = {}
    for cursor in (known[:size] or None for size in sizes):
        for schedule in store.schedules.find(LOOKED_AT, cursor)[0]:
            found[schedule.name.lower()] = schedule.name
    return found
