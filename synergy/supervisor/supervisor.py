"""Observe, plan, act: the loop that keeps this box's processes running.

The loop waits for the pidfds of its processes, for the pipes in which they report that they are
ready, and for a wake-up, which comes when the box configuration changes or a stop is requested.
The box configuration is also read every `POLL_SECONDS`, in case a notice was lost. A store that
cannot be reached, and process groups whose leader has ended, are looked at more often.

The store records the processes, so that the next supervisor finds them if this one is killed: the
marker before a process is started, its pid afterwards. The next one adopts a process whose pid is
recorded, and ends one that only its marker identifies. A start that cannot be recorded does not
take place.

A changed context is taken over on request: see `reload`.

While the store is unreachable, processes keep running, those that die are not started again, and
the last known assignments hold.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

from synergy.errors import StorageUnavailable
from synergy.messaging.protocol import Bus
from synergy.model.box import ObservedProcess
from synergy.names import SUPERVISOR_TOPIC, process_memory
from synergy.runtime.service import Retry, RetryRule
from synergy.runtime.stop import Stop
from synergy.runtime.topic_relay import TopicRelay
from synergy.storage.protocol import Store
from synergy.supervisor import assignment, memory_report
from synergy.supervisor.config import SupervisorConfig
from synergy.supervisor.plan import next_deadline, plan
from synergy.supervisor.process_slots import ProcessSlots
from synergy.supervisor.reloader import Reloader
from synergy.supervisor.states import Slot, SlotState
from synergy.supervisor.watch import Watch

POLL_SECONDS = 15.0  # the time between two reads of the assignments
RETRY_SECONDS = 2.0  # the time between two checks of an unreachable store or a leaderless group
KILL_SECONDS = 5.0  # how long killed processes may take to end
FAILED = "supervisor.turn_failed"
RULE = RetryRule(waiting=FAILED, failing=FAILED)

logger = logging.getLogger(__name__)


class Supervisor:
    """Keeps the processes of one box and home running. `turn` does the work; `run` repeats it."""

    def __init__(self, config: SupervisorConfig, store: Store, bus: Bus, stop: Stop) -> None:
        self._config = config
        self._store = store
        self._bus = bus
        self._stop = stop
        self._clock = config.clock
        self._watch = Watch()
        self._slots = ProcessSlots(config, self._watch)
        self._reloader = Reloader(config, store.facts)
        self._desired: frozenset[Slot] | None = None  # None until the store was read
        self._is_other = True  # whether another context applies since the last complete look
        self._look_at = self._clock.monotonic()
        self._is_cut_off = False
        self._stop_by: float | None = None
        stop.interrupts(self._watch.wake)

    @property
    def is_settled(self) -> bool:
        """Whether each process that is to run now runs, or has died or failed to start."""
        status = self._slots.status
        return self._desired is not None and all(
            status[slot].state is SlotState.RUNNING or status[slot].failures > 0
            for slot in self._desired - self._reloader.held
        )

    def view(self) -> tuple[ObservedProcess, ...]:
        """The present state of all slots, as it is reported to the store."""
        return tuple(self._slots.observed())

    def refresh(self) -> None:
        """Begins the next turn at once, which reads the box configuration. Thread-safe."""
        self._look_at = self._clock.monotonic()
        self._watch.wake()

    def run(self, after_turn: Callable[[], None] = lambda: None) -> None:
        """Runs until `stop` is set, and all processes have ended or the time for that is over."""
        self._slots.become_subreaper()
        notices = TopicRelay(self._bus, self._clock, SUPERVISOR_TOPIC, self.refresh)
        notices.start()
        turns, others = Retry(RULE, self._stop), Retry(RULE, self._stop)
        while not self._is_over():
            turns.run(self.turn)
            others.run(after_turn)
            self.wait()
        others.run(self._finish)
        notices.stop()
        self.close()

    def turn(self) -> None:
        """Reads the states of processes and the box configuration, and does what is due."""
        self._slots.collect()
        if self._stop.is_set:
            self._desired = frozenset()
            self._reloader.abandon()
        elif self._clock.monotonic() >= self._look_at:
            self._look()
        if self._desired is None:
            return
        now, status, reloader = self._clock.monotonic(), self._slots.status, self._reloader
        reloader.advance(self._desired, status)
        wanted = self._desired - reloader.held
        finishing = reloader.finishing(self._desired)
        actions = plan(wanted, status, now, self._config.timing, finishing)
        self._slots.act(actions, self._report)
        if self._slots.is_changed and not self._stop.is_set:
            self._report()

    def wait(self, at_most: float = POLL_SECONDS) -> None:
        """Waits until something happens, something is due, or `at_most` seconds have passed."""
        self._watch.wait(min(at_most, self._until_due()))

    def close(self) -> None:
        """Closes all handles; the processes keep running."""
        self._slots.close()
        self._watch.close()

    # Observing

    def _look(self) -> None:
        """Reads which processes are to run; the first time it adopts the recorded ones."""
        self._look_at = self._clock.monotonic() + POLL_SECONDS
        self._slots.trim_output()
        box = self._config.box
        try:
            if self._desired is None:
                self._reloader.begin()
                observed = self._store.boxes.observed(box)
            self._is_other = self._reloader.take_request() or self._is_other
            deployment = self._reloader.deployment
            if self._is_other:
                self._store.boxes.assign(box, assignment.assigned(deployment, box))
            assignments = self._store.boxes.assignments(box)
            controls = self._store.controls.all()
        except StorageUnavailable as error:
            self._cut_off(error)
            return
        if self._desired is None:
            self._slots.take_over(observed)
            self._reloader.resume(self._slots.groups)
        if self._is_other:
            self._slots.belong(assignment.belonging(deployment, box))
            self._is_other = False
        self._desired = assignment.desired(deployment, box, assignments, controls)
        self._slots.is_changed = True  # so that a report shows that the box is alive

    def _until_due(self) -> float:
        if self._stop.is_set and not self._slots.groups:
            return 0.0
        now = self._clock.monotonic()
        status, groups = self._slots.status, self._slots.groups
        headless = [status[slot] for slot, group in groups.items() if group.has_exited]
        if headless:  # no descriptor shows the end of the other processes of a group
            is_fresh = now - min(one.entered for one in headless) < 2 * KILL_SECONDS
            return 0.1 if is_fresh else RETRY_SECONDS
        due = [self._look_at if self._stop_by is None else self._stop_by]
        desired = self._desired or frozenset()
        wanted, finishing = desired - self._reloader.held, self._reloader.finishing(desired)
        deadline = next_deadline(wanted, status, self._config.timing, finishing)
        if deadline is not None:
            due.append(deadline)
        return max(min(due) - now, 1.0 if self._is_cut_off else 0.0)

    # Acting

    def _is_over(self) -> bool:
        if not self._stop.is_set:
            return False
        now = self._clock.monotonic()
        if self._stop_by is None:
            self._stop_by = now + self._config.timing.grace + KILL_SECONDS
        return not self._slots.groups or now >= self._stop_by

    def _finish(self) -> None:
        """Ends all leftovers of this home, and reports."""
        self._slots.sweep()
        self._report()

    # Reporting

    def _report(self, intended: Mapping[Slot, str] | None = None) -> bool:
        """Records all slots, and the markers of intended starts; False if that failed."""
        observed = self._slots.observed(intended)
        box, taken = self._config.box, memory_report.report(observed)
        try:
            with self._store.batch():
                self._store.boxes.report(box, observed, self._clock.now())
                self._store.facts.set(process_memory(box), taken)
        except StorageUnavailable as error:
            self._cut_off(error)
            return False
        self._slots.is_changed = False
        if self._is_cut_off:
            self._is_cut_off = False
            logger.info("The store answers again", extra={"event": "supervisor.store_back"})
        return True

    def _cut_off(self, error: StorageUnavailable) -> None:
        self._look_at = self._clock.monotonic() + RETRY_SECONDS
        if not self._is_cut_off:
            self._is_cut_off = True
            logger.warning(
                "The store does not answer (%s): processes keep running, none is started",
                error,
                extra={"event": "supervisor.store_lost"},
            )
