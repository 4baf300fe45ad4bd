"""Schedules and runs by name and id; errors suggest similar names."""

from __future__ import annotations

from difflib import get_close_matches

from synergy.errors import NotFound
from synergy.model.schedule import Run, Schedule
from synergy.program import PROGRAM
from synergy.queries.malformed_rows import refuse_malformed
from synergy.storage.protocol import StoreView

READ = 50  # names after each prefix of the unknown one
LONGEST = 200  # characters of a name that are compared


def stored_schedule(store: StoreView, name: str) -> Schedule:
    """The schedule of that name; raises NotFound, and Malformed."""
    found = store.schedules.get([name])
    if not found:
        refuse_malformed(store, "schedules", name)
        raise no_schedule(store, name)
    return found[0]


def stored_run(store: StoreView, id_: str) -> Run:
    """The run of that id; raises NotFound, and Malformed."""
    found = store.runs.get([id_])
    if not found:
        refuse_malformed(store, "runs", id_)
        raise NotFound("run", id_, f"{PROGRAM} schedule runs shows which there are")
    return found[0]


def refuse_unknown(store: StoreView, schedule: str) -> None:
    """Raises NotFound for a name that neither a schedule nor a stored run has."""
    if not store.runs.find(schedule, limit=1)[0]:
        stored_schedule(store, schedule)


def no_schedule(store: StoreView, name: str, kind: str = "schedule") -> NotFound:
    """The error for an unknown name, with a suggestion if a stored name is similar.

    It reads a few hundred names, however many there are.
    """
    names = _near_by(store, name)
    near = get_close_matches(name[:LONGEST].lower(), names, 1)
    hint = f"{PROGRAM} schedule list shows which there are"
    return NotFound(kind, name, f"did you mean {names[near[0]]}?" if near else hint)


def _near_by(store: StoreView, name: str) -> dict[str, str]:
    """Names with a common prefix, longest prefix first, and the first names; by lower case."""
    known = name[:LONGEST]
    sizes = dict.fromkeys((len(known) * 3 // 4, len(known) // 2, 1, 0))
    found = {}
    for cursor in (known[:size] or None for size in sizes):
        for schedule in store.schedules.find(READ, cursor)[0]:
            found[schedule.name.lower()] = schedule.name
    return found
