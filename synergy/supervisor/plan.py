"""Plans the next actions: desired + known + now → actions. Pure.

A process that dies is started again at once, then after 1, 2, 4 … 60 s. A life of a minute resets
the count of deaths. So does a worker that ends itself because its work does not return (see
`abandoned_work`): it is started again at once, which cannot repeat quickly because of the grace
time before. A process that is no longer desired is asked to end, and killed after the grace time.
A slot that is desired again while its process is still ending waits for that end: there are never
two copies of one process. A process that is to finish its work first has no grace time.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from synergy.runtime import abandoned_work, retirement
from synergy.supervisor.states import Slot, SlotState, SlotStatus


@dataclass(frozen=True, slots=True)
class Timing:
    """Times in seconds.

    `grace`: from TERM to KILL. `ready_after`: a process that does not report that it is ready
    counts as running after this. `healthy_after`: a life this long resets the count of deaths.
    `longest_delay`: the longest wait before a restart.
    """

    grace: float = 10.0
    ready_after: float = 15.0
    healthy_after: float = 60.0
    longest_delay: float = 60.0


class Action(Enum):
    """An action on a slot."""

    START = "start"  # spawn the process
    CONFIRM = "confirm"  # it has lived long enough: starting → running
    FINISH = "finish"  # ask the process to end when the work that it has begun is done
    TERMINATE = "terminate"  # ask the process to end: TERM
    KILL = "kill"  # end the process and all its descendants: KILL
    REST = "rest"  # a slot that waited for its restart is no longer desired: → stopped


def plan(
    desired: Collection[Slot],
    known: Mapping[Slot, SlotStatus],
    now: float,
    timing: Timing,
    finishing: Collection[Slot] = (),
) -> dict[Slot, Action]:
    """The actions that are due at `now` (monotonic seconds), in the order of the slots.

    `finishing` are slots that are not desired and may finish their work.
    """
    actions = {
        slot: _action(_Wish(slot in desired, slot in finishing), known.get(slot), now, timing)
        for slot in sorted({*desired, *known})
    }
    return {slot: action for slot, action in actions.items() if action is not None}


def next_deadline(
    desired: Collection[Slot],
    known: Mapping[Slot, SlotStatus],
    timing: Timing,
    finishing: Collection[Slot] = (),
) -> float | None:
    """When time alone may make `plan` return an action; None: never."""
    deadlines = (
        _deadline(_Wish(slot in desired, slot in finishing), status, timing)
        for slot, status in known.items()
    )
    return min((deadline for deadline in deadlines if deadline is not None), default=None)


def restart_delay(failures: int, timing: Timing) -> float:
    """Seconds from the last of `failures` deaths in a row to the next start."""
    if failures <= 1:
        return 0.0
    return min(2.0 ** min(failures - 2, 30), timing.longest_delay)


def failures_after_death(
    status: SlotStatus, now: float, timing: Timing, code: int | None = None
) -> int:
    """Deaths in a row, including the present one; `code` is the exit code, if known.

    0 after the end of a process that has grown (see `retirement`), which was no death.
    """
    lived = now - status.born
    if code == retirement.EXIT_CODE and lived >= retirement.LEAST_SECONDS:
        return 0
    is_on_purpose = code == abandoned_work.EXIT_CODE and lived >= abandoned_work.GRACE_SECONDS
    return 1 if is_on_purpose or lived >= timing.healthy_after else status.failures + 1


class _Wish(NamedTuple):
    """Whether a slot is to run, and if not, whether it may finish its work first."""

    is_desired: bool
    may_finish: bool


def _action(wish: _Wish, status: SlotStatus | None, now: float, timing: Timing) -> Action | None:
    is_desired = wish.is_desired
    if status is None or status.state is SlotState.STOPPED:
        return Action.START if is_desired else None
    deadline = _deadline(wish, status, timing)
    if deadline is None or now < deadline:
        return None
    match status.state:
        case SlotState.STOPPING:
            return Action.KILL
        case SlotState.BACKOFF:
            return Action.START if is_desired else Action.REST
        case _:
            if is_desired:
                return Action.CONFIRM
            return Action.FINISH if wish.may_finish else Action.TERMINATE


def _deadline(wish: _Wish, status: SlotStatus, timing: Timing) -> float | None:
    is_desired = wish.is_desired
    match status.state:
        case SlotState.FINISHING if is_desired or wish.may_finish:
            return None
        case SlotState.STOPPED | SlotState.KILLING:
            return None
        case SlotState.STOPPING:
            return status.entered + timing.grace
        case SlotState.BACKOFF if is_desired:
            return status.entered + restart_delay(status.failures, timing)
        case SlotState.STARTING if is_desired:
            return status.entered + timing.ready_after
        case SlotState.RUNNING if is_desired:
            return None
        case _:
            return status.entered
