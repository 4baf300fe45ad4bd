"""Observe, plan, act: the loop that keeps this box's processes alive.

The loop sleeps on the pidfds of its processes, on the pipes in which they say that they are
ready, and on a bell that rings when the box configuration changes or the supervisor shall
stop. Nothing is polled but, four times a minute, the assignments, in case a notice was lost.

What runs is written down so that a supervisor that was killed finds it again: the marker of a
start before it, its pid after it. A process whose pid was written down is adopted by the next
supervisor; one that is found by its marker alone is ended. A start that cannot be written down
does not take place.

If the store is not reachable, what runs keeps running, what dies waits, and the last known
assignments stand.
"""

from __future__ import annotations

import logging
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from synergy.clock import Clock, SystemClock
from synergy.errors import StorageUnavailable
from synergy.messaging.protocol import Bus
from synergy.model.box import ObservedProcess
from synergy.model.process import Deployment
from synergy.names import process_memory
from synergy.runtime import abandoned_work
from synergy.runtime.identity import boot_id
from synergy.runtime.stop import Stop
from synergy.storage.protocol import Store
from synergy.supervisor import assignment, memory_report
from synergy.supervisor.host import Group, ProcessHost
from synergy.supervisor.plan import (
    Action,
    Confirm,
    Kill,
    Rest,
    Start,
    Terminate,
    Timing,
    failures_after_death,
    next_deadline,
    plan,
)
from synergy.supervisor.states import Slot, SlotState, SlotStatus
from synergy.supervisor.watch import Watch, listen

POLL = 15.0
RETRY = 2.0
KILL_PATIENCE = 5.0

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class SupervisorConfig:
    """All that a supervisor needs to know. Nothing in it may be open before it runs.

    `command(process, instance)` is what to run for a slot, in `directory`. `connect` opens
    store and bus, and `open_logs` the log, both in the process that will supervise. The clock
    measures waits, so it has to be one that moves.
    """

    box: str
    home: Path
    directory: Path
    deployment: Deployment
    command: Callable[[str, int], Sequence[str]]
    connect: Callable[[], tuple[Store, Bus]]
    open_logs: Callable[[], None]
    clock: Clock = field(default_factory=SystemClock)
    timing: Timing = field(default_factory=Timing)


class Supervisor:
    """Keeps the processes of one box and home alive. `turn` holds the work; `run` repeats it."""

    def __init__(self, config: SupervisorConfig, store: Store, bus: Bus, stop: Stop) -> None:
        self._config = config
        self._store = store
        self._bus = bus
        self._stop = stop
        self._clock = config.clock
        self._host = ProcessHost(config.home, config.directory)
        self._watch = Watch()
        self._belonging = assignment.belonging(config.deployment, config.box)
        self._desired: frozenset[Slot] | None = None  # None until the store was read
        self._status: dict[Slot, SlotStatus] = {}
        self._groups: dict[Slot, Group] = {}
        self._look_at = self._clock.monotonic()
        self._is_unreported = False
        self._is_cut_off = False
        self._stop_by: float | None = None
        stop.interrupts(self._watch.ring)

    @property
    def is_settled(self) -> bool:
        """Whether each process that shall run either runs or has died at least once."""
        return self._desired is not None and all(
            self._status[slot].state is SlotState.RUNNING or self._status[slot].failures > 0
            for slot in self._desired
        )

    def view(self) -> tuple[ObservedProcess, ...]:
        """The present state of all slots, as it is reported to the store."""
        return tuple(self._observed(slot, {}) for slot in sorted(self._status))

    def look_now(self) -> None:
        """Reads the box configuration at the next turn, which begins at once; from any thread."""
        self._look_at = self._clock.monotonic()
        self._watch.ring()

    def run(self, after_turn: Callable[[], None] = lambda: None) -> None:
        """Runs until `stop` is set and all processes have ended."""
        self._host.become_subreaper()
        listener = listen(self._bus, self._stop, self.look_now)
        while not self._is_over():
            self._guarded(self.turn)
            self._guarded(after_turn)
            self.wait()
        self._guarded(self._finish)
        listener.join(RETRY)
        self.close()

    def turn(self) -> None:
        """Looks at processes and box configuration, and does what is due now."""
        self._collect()
        if self._stop.is_set:
            self._desired = frozenset()
        elif self._clock.monotonic() >= self._look_at:
            self._look()
        if self._desired is None:
            return
        now = self._clock.monotonic()
        self._act(plan(self._desired, self._status, now, self._config.timing))
        if self._is_unreported and not self._stop.is_set:
            self._report()

    def wait(self, at_most: float = POLL) -> None:
        """Waits until something happened, something is due, or `at_most` seconds are over."""
        self._watch.wait(min(at_most, self._until_due()))

    def close(self) -> None:
        """Lets go of everything; the processes themselves are left as they are."""
        for slot in list(self._groups):
            self._release(slot)
        self._watch.close()

    # Observing

    def _collect(self) -> None:
        """Takes notice of who ended and who is ready."""
        readable = self._watch.readable()
        for slot, group in list(self._groups.items()):
            if group.has_exited:
                self._watch.drop(group.pidfd)
                self._ended(slot, group)
            elif group.ready in readable:
                self._watch.drop(group.ready)
                if group.said_ready() and self._status[slot].state is SlotState.STARTING:
                    self._running(slot)
        self._host.reap_orphans({group.leader.pid for group in self._groups.values()})

    def _ended(self, slot: Slot, group: Group) -> None:
        match self._status[slot].state:
            case SlotState.STOPPING:
                if not group.signal_kin(signal.SIGTERM):
                    self._stopped(slot)
            case SlotState.KILLING:
                if not group.signal_kin(signal.SIGKILL):
                    self._stopped(slot)
            case _:
                group.kill_kin()
                self._died(slot)

    def _look(self) -> None:
        """Reads what shall run; on the first time also what did, and adopts it."""
        self._look_at = self._clock.monotonic() + POLL
        self._host.trim_output()
        box, deployment = self._config.box, self._config.deployment
        try:
            if self._desired is None:
                self._store.boxes.assign(box, assignment.assigned(deployment, box))
                observed = self._store.boxes.observed(box)
            assignments = self._store.boxes.assignments(box)
            controls = self._store.controls.all()
        except StorageUnavailable as error:
            self._cut_off(error)
            return
        if self._desired is None:
            self._take_over(observed)
        self._desired = assignment.desired(deployment, box, assignments, controls)
        self._is_unreported = True  # that the box is alive is worth a report as well

    def _take_over(self, observed: Sequence[ObservedProcess]) -> None:
        """Adopts what is provably ours of what was written down, and ends the rest."""
        for record in observed:
            group = self._adopted(record)
            if group is not None:
                slot = Slot(record.process, record.instance)
                self._groups[slot] = group
                self._watch.add(group.pidfd)
                now = self._clock.monotonic()
                since = record.since or self._clock.now()
                self._status[slot] = SlotStatus(
                    SlotState.RUNNING, now, since, born=now, restarts=record.restarts
                )
                self._log(slot, logging.INFO, "adopted", "pid %d is still running", record.pid)
        for slot in self._belonging - self._status.keys():
            self._enter(slot, SlotState.STOPPED)
        self._host.sweep({group.leader.marker for group in self._groups.values()})

    def _adopted(self, record: ObservedProcess) -> Group | None:
        if record.pid is None or record.boot_id != boot_id():
            return None
        return self._host.adopt(record.pid, record.started, record.marker)

    def _until_due(self) -> float:
        if self._stop.is_set and not self._groups:
            return 0.0
        now = self._clock.monotonic()
        headless = [self._status[s] for s, group in self._groups.items() if group.has_exited]
        if headless:  # nothing tells when the last of a group's rest is gone
            is_fresh = now - min(status.entered for status in headless) < 2 * KILL_PATIENCE
            return 0.1 if is_fresh else RETRY
        due = [self._look_at if self._stop_by is None else self._stop_by]
        deadline = next_deadline(self._desired or (), self._status, self._config.timing)
        if deadline is not None:
            due.append(deadline)
        return max(min(due) - now, 1.0 if self._is_cut_off else 0.0)

    # Acting

    def _act(self, actions: Sequence[Action]) -> None:
        starts = [action.slot for action in actions if isinstance(action, Start)]
        if starts:
            self._start(starts)
        for action in actions:
            match action:
                case Confirm(slot):
                    self._running(slot)
                case Terminate(slot):
                    self._terminate(slot)
                case Kill(slot):
                    self._kill(slot)
                case Rest(slot):
                    self._stopped(slot)
                case Start(_):
                    pass

    def _start(self, slots: Sequence[Slot]) -> None:
        markers = {slot: self._host.marker(self._config.box, slot) for slot in slots}
        if not self._report(markers):
            return
        for slot, marker in markers.items():
            try:
                group = self._host.spawn(slot, self._config.command(*_place(slot)), marker)
            except OSError as error:
                self._log(slot, logging.ERROR, "start_failed", "cannot be started: %s", error)
                self._failed(slot)
                continue
            self._started(slot, group)

    def _started(self, slot: Slot, group: Group) -> None:
        before = self._status[slot]
        self._groups[slot] = group
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

    def _terminate(self, slot: Slot) -> None:
        self._groups[slot].signal_leader(signal.SIGTERM)
        self._enter(slot, SlotState.STOPPING)
        self._log(slot, logging.INFO, "stopping", "was asked to end")

    def _kill(self, slot: Slot) -> None:
        group = self._groups[slot]
        group.signal_leader(signal.SIGKILL)
        group.kill_kin()
        self._enter(slot, SlotState.KILLING)
        self._log(slot, logging.WARNING, "killed", "did not end in time and was killed")

    def _stopped(self, slot: Slot) -> None:
        self._release(slot)
        self._enter(slot, SlotState.STOPPED, failures=0)
        self._log(slot, logging.INFO, "stopped", "is stopped")
        if slot not in self._belonging:
            del self._status[slot]

    def _died(self, slot: Slot) -> None:
        code = self._release(slot)
        why = ": its work did not let go of a unit" if code == abandoned_work.EXIT else ""
        self._log(slot, logging.WARNING, "died", "died, exit code %s%s", code, why)
        self._failed(slot, code)

    def _failed(self, slot: Slot, code: int | None = None) -> None:
        now, timing = self._clock.monotonic(), self._config.timing
        failures = failures_after_death(self._status[slot], now, timing, code)
        self._enter(slot, SlotState.BACKOFF, failures=failures)

    def _release(self, slot: Slot) -> int | None:
        group = self._groups.pop(slot, None)
        if group is None:
            return None
        self._watch.drop(group.pidfd)
        if group.ready is not None:
            self._watch.drop(group.ready)
        return group.close()

    def _guarded(self, step: Callable[[], None]) -> None:
        """The loop's boundary: a mistake of the keeper must not cost the processes their keeper."""
        try:
            step()
        except Exception:
            logger.exception("A turn failed", extra={"event": "supervisor.turn_failed"})
            self._stop.wait(RETRY)

    def _is_over(self) -> bool:
        if not self._stop.is_set:
            return False
        now = self._clock.monotonic()
        if self._stop_by is None:
            self._stop_by = now + self._config.timing.grace + KILL_PATIENCE
        return not self._groups or now >= self._stop_by

    def _finish(self) -> None:
        """Nothing that this home started is left; what the kernel itself holds is named."""
        for entry in self._host.sweep():
            logger.error(
                "pid %d survives KILL", entry.pid, extra={"event": "supervisor.left_behind"}
            )
        self._report()

    # Telling

    def _enter(self, slot: Slot, state: SlotState, **changes: Any) -> None:
        now, since = self._clock.monotonic(), self._clock.now()
        before = self._status.get(slot) or SlotStatus(state, now, since)
        self._status[slot] = replace(before, state=state, entered=now, since=since, **changes)
        self._is_unreported = True

    def _report(self, intended: Mapping[Slot, str] | None = None) -> bool:
        """Writes down what runs, and what is about to; False if the store is not reachable."""
        observed = [self._observed(slot, intended or {}) for slot in sorted(self._status)]
        box, taken = self._config.box, memory_report.report(observed)
        try:
            with self._store.batch():
                self._store.boxes.report(box, observed, self._clock.now())
                self._store.facts.set(process_memory(box), taken)
        except StorageUnavailable as error:
            self._cut_off(error)
            return False
        self._is_unreported = False
        if self._is_cut_off:
            self._is_cut_off = False
            logger.info("The store answers again", extra={"event": "supervisor.store_back"})
        return True

    def _cut_off(self, error: StorageUnavailable) -> None:
        self._look_at = self._clock.monotonic() + RETRY
        if not self._is_cut_off:
            self._is_cut_off = True
            logger.warning(
                "The store does not answer (%s): what runs keeps running, nothing is started",
                error,
                extra={"event": "supervisor.store_lost"},
            )

    def _observed(self, slot: Slot, intended: Mapping[Slot, str]) -> ObservedProcess:
        status, group = self._status[slot], self._groups.get(slot)
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
        # `process` would be the natural field, but is taken by the standard library's own.
        extra = {"event": f"process.{event}", "slot": str(slot)}
        logger.log(level, f"%s {message}", slot, *facts, extra=extra)  # noqa: G004


def _place(slot: Slot) -> tuple[str, int]:
    return slot.process, slot.instance
