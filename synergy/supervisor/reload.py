"""Takes over a changed context while the supervisor runs: what changes, and in which order. Pure.

A process whose entry changed ends and starts again; workers finish the unit that they have begun
first. A changed entry of a pooled process restarts the members of the pool. Schedulers, MX and
agents hold the whole context, so they are restarted too, one after the other. Everything else keeps
running: a worker needs nothing but its own entry.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields

from synergy.model.process import BuiltIn, Deployment, Process, WorkingProcess
from synergy.names import POOL
from synergy.supervisor.assignment import belonging
from synergy.supervisor.states import Slot, SlotState, SlotStatus

PLACEMENT = frozenset({"instances", "is_on", "present_on_boxes", "token"})
"""The fields that say where a process runs and how it is shown: it keeps running if they change."""

SHOWN = frozenset({"is_on", "token"})
"""The fields of a pooled process that its workers do not use."""

IN_TURN = (BuiltIn.SCHEDULER, BuiltIn.MX, BuiltIn.AGENT)
"""The services that hold the whole context, in the order in which they are restarted."""


@dataclass(frozen=True, slots=True)
class Changes:
    """What another context changes; `changed` has the fields of each changed process.

    `restarted` are the processes of this box that end and start again.
    """

    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: Mapping[str, tuple[str, ...]]
    unchanged: tuple[str, ...]
    trees: tuple[str, ...]
    schedules_added: tuple[str, ...]
    schedules_removed: tuple[str, ...]
    schedules_changed: tuple[str, ...]
    restarted: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Ending:
    """The slots that are to end.

    `finishing` finish their work first; `in_turn` are services, which end one after the other.
    """

    finishing: frozenset[Slot]
    ending: frozenset[Slot]
    in_turn: tuple[Slot, ...]


def compare(old: Deployment, new: Deployment, box: str) -> Changes:
    """What changes if `new` takes the place of `old`."""
    changed = _changed(old.processes, new.processes)
    unchanged = [name for name in new.processes if old.processes.get(name) == new.processes[name]]
    here = {slot.process for slot in belonging(old, box) & belonging(new, box)}
    stale = {name for name, names in changed.items() if set(names) - PLACEMENT}
    return Changes(
        added=_only_in(new.processes, old.processes),
        removed=_only_in(old.processes, new.processes),
        changed=changed,
        unchanged=tuple(sorted(unchanged)),
        trees=tuple(
            sorted(
                name
                for name in {*old.trees, *new.trees}
                if old.trees.get(name) != new.trees.get(name)
            )
        ),
        schedules_added=_only_in(new.schedules, old.schedules),
        schedules_removed=_only_in(old.schedules, new.schedules),
        schedules_changed=tuple(
            sorted(
                name
                for name in old.schedules.keys() & new.schedules.keys()
                if old.schedules[name] != new.schedules[name]
            )
        ),
        restarted=tuple(sorted(here & (stale | _services(old, new) | _pool(old, new)))),
    )


def ending(old: Deployment, new: Deployment, box: str) -> Ending:
    """The slots of the old context that are to end before the new one is taken over."""
    before, after = belonging(old, box), belonging(new, box)
    restarted, services = compare(old, new, box).restarted, _services(old, new)
    gone = {slot for slot in before if slot not in after or slot.process in restarted}
    working = {slot for slot in gone if _has_units(old.processes[slot.process])}
    in_turn = {slot for slot in gone - working if slot in after and slot.process in services}
    return Ending(
        frozenset(working), frozenset(gone - working - in_turn), _by_turn(in_turn, new.processes)
    )


def workers_of_project(deployment: Deployment) -> list[str]:
    """The processes that import classes of the project, with the pool for those that it serves.

    Those of Synergy and commands are left out.
    """
    pooled = deployment.pooled()
    return sorted(
        {
            POOL if name in pooled else name
            for name, process in deployment.processes.items()
            if process.classname is not None and not process.classname.startswith("synergy.")
        }
    )


def restarting(deployment: Deployment, slots: Collection[Slot]) -> Ending:
    """These slots, which are to end and to start again."""
    processes = deployment.processes
    working = {slot for slot in slots if _has_units(processes[slot.process])}
    in_turn = {slot for slot in slots if processes[slot.process].classname in IN_TURN}
    return Ending(
        frozenset(working), frozenset(set(slots) - working - in_turn), _by_turn(in_turn, processes)
    )


def _by_turn(slots: Collection[Slot], processes: Mapping[str, Process]) -> tuple[Slot, ...]:
    return tuple(sorted(slots, key=lambda slot: (_turn(processes[slot.process]), slot)))


def _changed(old: Mapping[str, Process], new: Mapping[str, Process]) -> dict[str, tuple[str, ...]]:
    return {
        name: _fields(old[name], new[name])
        for name in sorted(old.keys() & new.keys())
        if old[name] != new[name]
    }


def _fields(old: Process, new: Process) -> tuple[str, ...]:
    if type(old) is not type(new):
        return ("kind",)
    return tuple(
        field.name for field in fields(new) if getattr(old, field.name) != getattr(new, field.name)
    )


def _only_in(some: Collection[str], others: Collection[str]) -> tuple[str, ...]:
    return tuple(sorted(set(some) - set(others)))


def _services(old: Deployment, new: Deployment) -> set[str]:
    """The services that hold what changed; schedules concern agents only."""
    if (old.processes, old.trees) != (new.processes, new.trees):
        kinds = set(IN_TURN)
    else:
        kinds = {BuiltIn.AGENT} if old.schedules != new.schedules else set()
    return {name for name, process in new.processes.items() if process.classname in kinds}


def _pool(old: Deployment, new: Deployment) -> set[str]:
    """The pool, if what it serves changed: its members hold the entries of all pooled processes."""
    before, after = old.pooled(), new.pooled()
    changed = any(set(names) - SHOWN for names in _changed(before, after).values())
    return {POOL} if changed or before.keys() != after.keys() else set()


def _has_units(process: Process) -> bool:
    """Whether it may have begun a unit, which it is to finish."""
    return isinstance(process, WorkingProcess) or process.classname == BuiltIn.POOL


def _turn(process: Process) -> int:
    return [str(kind) for kind in IN_TURN].index(process.classname or "")


class Rollout:
    """The slots that still have to end, or to start again, until the new context is taken over."""

    def __init__(self) -> None:
        self._finishing: set[Slot] = set()
        self._ending: set[Slot] = set()
        self._in_turn: deque[Slot] = deque()

    def add(self, ending: Ending) -> None:
        """Adds what another context ends; the services that wait already keep their turn."""
        self._finishing |= ending.finishing
        self._ending |= ending.ending
        self._in_turn.extend(slot for slot in ending.in_turn if slot not in self._in_turn)
        if ending.in_turn:
            self._begin_turn()

    @property
    def finishing(self) -> frozenset[Slot]:
        return frozenset(self._finishing)

    @property
    def held(self) -> frozenset[Slot]:
        """The slots that may not run now."""
        return frozenset(self._finishing | self._ending)

    @property
    def is_over(self) -> bool:
        return not (self._finishing or self._ending or self._in_turn)

    def advance(self, desired: Collection[Slot], known: Mapping[Slot, SlotStatus]) -> None:
        """Notes which slots have ended, and which service has started again.

        A slot that was switched off meanwhile ends as usual.
        """
        ended = {slot for slot in self.held if _has_ended(known.get(slot))}
        self._finishing -= ended
        self._ending -= ended
        while self._in_turn and self._in_turn[0] not in self._ending:
            slot = self._in_turn[0]
            if slot in desired and not _is_settled(known.get(slot)):
                return
            self._in_turn.popleft()
            self._begin_turn()

    def clear(self) -> None:
        """Forgets everything: all processes are to end."""
        self._finishing.clear()
        self._ending.clear()
        self._in_turn.clear()

    def _begin_turn(self) -> None:
        if self._in_turn:
            self._ending.add(self._in_turn[0])


def _has_ended(status: SlotStatus | None) -> bool:
    return status is None or status.state is SlotState.STOPPED


def _is_settled(status: SlotStatus | None) -> bool:
    return status is not None and (status.state is SlotState.RUNNING or status.failures > 0)
