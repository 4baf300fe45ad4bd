"""The processes of one box: the states of their slots, and the process groups that run."""

from __future__ import annotations

import logging
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from synergy.model.box import ObservedProcess
from synergy.runtime import abandoned_work, retirement
from synergy.runtime.identity import boot_id
from synergy.runtime.stop import FINISH
from synergy.supervisor import assignment
from synergy.supervisor.config import SupervisorConfig
from synergy.supervisor.host import Group, ProcessHost
from synergy.supervisor.plan import Action, failures_after_death
from synergy.supervisor.states import Slot, SlotState, SlotStatus
from synergy.supervisor.watch import Watch

logger = logging.getLogger(__name__)

Record = Callable[[Mapping[Slot, str]], bool]
"""Records what runs, and the markers of processes about to start; False without the store."""


class ProcessSlots:
    """Starts, adopts, stops and observes processes; `watch` wakes the loop when one changes."""

    def __init__(self, config: SupervisorConfig, watch: Watch) -> None:
        self._config = config
        self._clock = config.clock
        self._watch = watch
        self._belonging = assignment.belonging(config.deployment, config.box)
        self._host = ProcessHost(config.home, config.directory, config.fork_server, config.server)
        self.status: dict[Slot, SlotStatus] = {}
        self.groups: dict[Slot, Group] = {}
        self.is_changed = False  # since the last report

    def become_subreaper(self) -> None:
        """Makes orphans of the processes children of this one."""
        self._host.become_subreaper()

    def belong(self, slots: frozenset[Slot]) -> None:
        """Says which slots belong to the box, switched on or not; others are forgotten."""
        self._belonging = slots
        for slot in slots - self.status.keys():
            self._enter(slot, SlotState.STOPPED)
        for slot in self.status.keys() - slots:
            if self.status[slot].state is SlotState.STOPPED:
                del self.status[slot]

    def trim_output(self) -> None:
        """Trims the output files of the processes that have grown too large."""
        self._host.trim_output()

    def observed(self, intended: Mapping[Slot, str] | None = None) -> list[ObservedProcess]:
        """The present state of all slots; `intended`: the markers of processes about to start."""
        return [self._observed(slot, intended or {}) for slot in sorted(self.status)]

    def sweep(self) -> None:
        """Ends all leftovers of this home, and logs survivors."""
        for entry in self._host.sweep():
            logger.error(
                "pid %d survives KILL", entry.pid, extra={"event": "supervisor.left_behind"}
            )

    def close(self) -> None:
        """Closes the handles of the processes, which keep running."""
        self._host.close()
        for slot in list(self.groups):
            self._release(slot)

    # Observing

    def collect(self) -> None:
        """Notes which processes ended, and which are ready."""
        readable = self._watch.readable()
        for slot, group in list(self.groups.items()):
            if group.has_exited:
                self._watch.drop(group.pidfd)
                self._ended(slot, group)
            elif group.ready in readable:
                self._watch.drop(group.ready)
                if group.take_ready() and self.status[slot].state is SlotState.STARTING:
                    self._running(slot)
        self._host.reap_orphans({group.leader.pid for group in self.groups.values()})

    def _ended(self, slot: Slot, group: Group) -> None:
        match self.status[slot].state:
            case SlotState.FINISHING | SlotState.STOPPING as state:
                if not group.signal_members(signal.SIGTERM):
                    self._stopped(slot)
                elif state is SlotState.FINISHING:  # its members have the grace time
                    self._enter(slot, SlotState.STOPPING)
            case SlotState.KILLING:
                if not group.signal_members(signal.SIGKILL):
                    self._stopped(slot)
            case _:
                group.kill_members()
                self._died(slot)

    def take_over(self, observed: Sequence[ObservedProcess]) -> None:
        """Adopts the recorded processes that provably belong here, and ends the rest."""
        for record in observed:
            group = self._adopted(record)
            if group is not None:
                slot = Slot(record.process, record.instance)
                self.groups[slot] = group
                self._watch.add(group.pidfd)
                now = self._clock.monotonic()
                since = record.since or self._clock.now()
                self.status[slot] = SlotStatus(
                    SlotState.RUNNING, now, since, born=now, restarts=record.restarts
                )
                self._log(slot, logging.INFO, "adopted", "pid %d is still running", record.pid)
        self._host.sweep({group.leader.marker for group in self.groups.values()})

    def _adopted(self, record: ObservedProcess) -> Group | None:
        if record.pid is None or record.boot_id != boot_id():
            return None
        return self._host.adopt(record.pid, record.started, record.marker)

    def act(self, actions: Mapping[Slot, Action], record: Record) -> None:
        """Carries out a plan; starts take place only if `record` stored them."""
        starts = [slot for slot, action in actions.items() if action is Action.START]
        if starts:
            self._start(starts, record)
        for slot, action in actions.items():
            match action:
                case Action.START:
                    pass
                case Action.CONFIRM:
                    self._running(slot)
                case Action.FINISH:
                    self._finish(slot)
                case Action.TERMINATE:
                    self._terminate(slot)
                case Action.KILL:
                    self._kill(slot)
                case Action.REST:
                    self._stopped(slot)

    def _start(self, slots: Sequence[Slot], record: Record) -> None:
        markers = {slot: self._host.marker(self._config.box, slot) for slot in slots}
        if not record(markers):
            return
        with self._host.together():
            for slot, marker in markers.items():
                self._spawn(slot, marker)

    def _spawn(self, slot: Slot, marker: str) -> None:
        try:
            group = self._host.spawn(slot, self._config.command(*_place(slot)), marker)
        except OSError as error:
            self._log(slot, logging.ERROR, "start_failed", "cannot be started: %s", error)
            self._failed(slot)
        else:
            self._started(slot, group)

    def _started(self, slot: Slot, group: Group) -> None:
        before = self.status[slot]
        self.groups[slot] = group
        self._watch.add(group.pidfd)
        if group.ready is not None:
            self._watch.add(group.ready)
        self._enter(
            slot,
            SlotState.STARTING,
            born=self._clock.monotonic(),
            restarts=before.restarts + (before.failures > 0),
        )
        self._log(slot, logging.INFO, "started", "pid %d", group.leader.pid)

    def _running(self, slot: Slot) -> None:
        self._enter(slot, SlotState.RUNNING)
        self._log(slot, logging.INFO, "running", "runs")

    def _finish(self, slot: Slot) -> None:
        self.groups[slot].signal_leader(FINISH)
        self._enter(slot, SlotState.FINISHING)
        self._log(slot, logging.INFO, "finishing", "finishes its work and ends")

    def _terminate(self, slot: Slot) -> None:
        self.groups[slot].signal_leader(signal.SIGTERM)
        self._enter(slot, SlotState.STOPPING)
        self._log(slot, logging.INFO, "stopping", "was asked to end")

    def _kill(self, slot: Slot) -> None:
        group = self.groups[slot]
        group.signal_leader(signal.SIGKILL)
        group.kill_members()
        self._enter(slot, SlotState.KILLING)
        self._log(slot, logging.WARNING, "killed", "did not end in time and was killed")

    def _stopped(self, slot: Slot) -> None:
        self._release(slot)
        self._enter(slot, SlotState.STOPPED, failures=0)
        self._log(slot, logging.INFO, "stopped", "is stopped")
        if slot not in self._belonging:
            del self.status[slot]

    def _died(self, slot: Slot) -> None:
        code = self._release(slot)
        if code == retirement.EXIT_CODE:
            self._log(slot, logging.INFO, "replaced", "has grown, and is replaced")
            self._failed(slot, code)
            return
        why = ": its work on a lost unit did not return" if code == abandoned_work.EXIT_CODE else ""
        self._log(slot, logging.WARNING, "died", "died, exit code %s%s", code, why)
        self._failed(slot, code)

    def _failed(self, slot: Slot, code: int | None = None) -> None:
        now, timing = self._clock.monotonic(), self._config.timing
        failures = failures_after_death(self.status[slot], now, timing, code)
        self._enter(slot, SlotState.BACKOFF, failures=failures)

    def _release(self, slot: Slot) -> int | None:
        group = self.groups.pop(slot, None)
        if group is None:
            return None
        self._watch.drop(group.pidfd)
        if group.ready is not None:
            self._watch.drop(group.ready)
        return group.close()

    def _enter(self, slot: Slot, state: SlotState, **changes: Any) -> None:
        now, since = self._clock.monotonic(), self._clock.now()
        before = self.status.get(slot) or SlotStatus(state, now, since)
        self.status[slot] = replace(before, state=state, entered=now, since=since, **changes)
        self.is_changed = True

    def _observed(self, slot: Slot, intended: Mapping[Slot, str]) -> ObservedProcess:
        status, group = self.status[slot], self.groups.get(slot)
        observed = ObservedProcess(
            self._config.box,
            slot.process,
            slot.instance,
            status.state.value,
            boot_id=boot_id(),
            since=status.since,
            restarts=status.restarts,
        )
        if slot in intended:
            return replace(observed, state=SlotState.STARTING.value, marker=intended[slot])
        if group is None:
            return observed
        leader = group.leader
        return replace(observed, marker=leader.marker, pid=leader.pid, started=leader.started)

    def _log(self, slot: Slot, level: int, event: str, message: str, *facts: object) -> None:
        # The natural field, `process`, is one of the standard library's.
        extra = {"event": f"process.{event}", "slot": str(slot)}
        logger.log(level, "%s %s", slot, message % facts, extra=extra)


def _place(slot: Slot) -> tuple[str, int]:
    return slot.process, slot.instance
