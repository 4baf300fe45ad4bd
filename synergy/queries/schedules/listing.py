"""Lists of schedules: by prefix of the name, by program, and by failed runs."""

from __future__ import annotations

from collections.abc import Sequence

from synergy.delivery.target import parse_target
from synergy.errors import InvalidValue
from synergy.model.schedule import RunState, Schedule
from synergy.queries.schedules.run_successors import failed_runs
from synergy.storage.protocol import StoreView

SEARCHED = 5000  # rows for one page at most; the page is shorter then, and has a next one

_ENDED = (RunState.PROCESSED, RunState.NOOP, RunState.FAILED)


def matching(
    store: StoreView,
    limit: int,
    cursor: str | None = None,
    prefix: str = "",
    is_enabled: bool | None = None,
    program: str = "",
) -> tuple[list[Schedule], str | None]:
    """A page of schedules by name with this prefix, and the cursor of the next one or None.

    `is_enabled` None means either. `program` is a process, a destination of requests, or a target,
    which stands for its destination; empty means any. The cost depends on the number of names with
    the prefix.
    """
    programs = {program, _destination(program)}

    def is_wanted(one: Schedule) -> bool:
        is_as_asked = is_enabled in (None, one.is_enabled)
        return is_as_asked and (not program or _program(one) in programs)

    found = store.schedules.get([prefix]) if prefix and cursor is None else []
    found = list(filter(is_wanted, found))
    after = max(cursor or "", prefix) or None
    for _ in range(0, SEARCHED, limit + 1):
        page, after = store.schedules.find(limit + 1, after)
        like = [one for one in page if one.name.startswith(prefix)]
        found += filter(is_wanted, like)
        if len(found) > limit:
            return found[:limit], found[limit - 1].name
        if after is None or len(like) < len(page):
            return found, None
    return found, after


def _program(schedule: Schedule) -> str:
    return schedule.process or _destination(str(schedule.definition.get("target")))


def _destination(target: str) -> str:
    """The destination of a target; the text itself, if it is no target."""
    try:
        return parse_target(target).destination
    except InvalidValue:
        return target


def failing(store: StoreView, limit: int) -> list[Schedule]:
    """The schedules whose last ended run failed, the latest failure first."""
    runs = failed_runs(store)
    names = list(dict.fromkeys(run.schedule for run in runs if run.schedule))
    present = {one.name: one for one in store.schedules.get(names)}
    found: list[Schedule] = []
    for name in names:
        last = store.runs.last(name, _ENDED)
        if name in present and last is not None and last.state is RunState.FAILED:
            found.append(present[name])
        if len(found) == limit:
            break
    return found


def own_schedules(store: StoreView, processes: Sequence[str]) -> dict[str, Schedule]:
    """Each process's own schedule: the one of its name, if that runs the process."""
    found = store.schedules.get(processes) if processes else ()
    return {one.name: one for one in found if one.process == one.name}
