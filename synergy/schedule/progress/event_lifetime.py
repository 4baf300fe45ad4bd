"""Dependencies on events with a lifetime.

- Matching: an event concerns a dependency if type and resource match (`event_keys`).
- Newest: of the matching events the newest by timestamp is kept, and is not consumed by runs.
- Alive: a kept event is alive up to `life` after its timestamp; with life 0, only on its arrival.
- Last execution: an event that is not later than the one that last ran the schedule has no effect.

A schedule of dependencies, whose leaves are all `EventTrigger` under `all_of`, follows all four
rules. A lone `EventTrigger` follows the first one only: each matching event is one run, whatever
its timestamp. In other triggers an `EventTrigger` leg follows the first three, judged at the
instant of the decision: an arriving event's timestamp, or a due time. The last rule does not apply
there: in `any_of` an event must be able to run the schedule whatever ran it last.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from synergy.schedule.definition import AllOf, EventTrigger, Trigger
from synergy.schedule.progress.state import Met, Occurrence


def has_lifetimes_only(trigger: Trigger) -> bool:
    """Whether a trigger is a set of dependencies: all leaves have lifetimes, under `all_of`."""
    return isinstance(trigger, AllOf) and all(
        isinstance(leg, EventTrigger) or has_lifetimes_only(leg) for leg in trigger.legs
    )


def newest(stored: Met | None, arriving: Occurrence) -> Met:
    """The newest event: one that is older but arrives later does not replace it."""
    if stored is not None and stored.at > arriving.at:
        return stored
    return Met(arriving.at, event=arriving.id)


def is_alive(
    dependency: EventTrigger, stored: Met | None, at: datetime, *, has_just_come: bool
) -> bool:
    """Whether a dependency is alive at `at`; with life 0 only if its event just arrived."""
    if stored is None:
        return False
    if dependency.life <= timedelta(0):
        return has_just_come
    return at - stored.at <= dependency.life
