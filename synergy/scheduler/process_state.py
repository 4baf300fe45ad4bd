"""The scheduler's state of one managed process; all of it is a cache of rows."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from datetime import datetime

from synergy.lifecycle.decision import PASSES, Gate, UnitView
from synergy.model.process import ManagedProcess, StateMachine
from synergy.model.process_control import ProcessControl
from synergy.model.unit_of_work import UnitState
from synergy.schedule.trigger import Trigger, parse
from synergy.timetable.level import Level
from synergy.timetable.timetable import Place


class ProcessState:
    """A level with its work in flight.

    While its tree is held here, it adds itself to `awake` whenever there may be something to
    decide; otherwise only its job states are kept. `cursor` is the first period that was not
    considered since the last tick; `closed` the first period that is not closed; `candidates` the
    periods that an event concerns, each with whether an interim run is due; `busy` the periods in
    progress; `head`, where order is strict, the period whose turn it is after the decisions of this
    turn; `retries` a heap of the times of automatic retries of failed periods; the backlog holds
    the periods that were ready while all slots were taken.
    """

    def __init__(self, place: Place, now: datetime, awake: dict[ProcessState, None]) -> None:
        self.place = place
        self._awake = awake
        self.level: Level = place.level
        self.process: ManagedProcess = place.process
        self.is_held = False
        self.is_on = True
        self.trigger: Trigger = parse(self.process.trigger_frequency)
        self.next_tick = now
        self.cursor = self.level.frontier
        self.closed = self.level.start
        self.candidates: dict[int, bool] = {}
        self.units: dict[int, list[UnitView]] = {}
        self.busy: set[int] = set()
        self.head = self.level.frontier
        self.refresh_at: dict[int, float] = {}
        self.retries: list[tuple[datetime, int]] = []
        self._retry_at: dict[int, datetime] = {}
        self._backlog: list[int] = []
        self._in_backlog: set[int] = set()
        self.close(now)

    def hold(self) -> None:
        """Starts deciding about the process here: everything unfinished is considered."""
        self.is_held = True
        self.head = self.level.frontier
        self.tick()
        self.wake_failed(self.level.start, self.level.end)

    def drop(self) -> None:
        """Stops deciding about the process here, and forgets its work in flight."""
        self.is_held = False
        self._awake.pop(self, None)
        self.candidates.clear()
        self.units.clear()
        self.busy.clear()
        self.refresh_at.clear()
        self.retries.clear()
        self._retry_at.clear()
        self._backlog.clear()
        self._in_backlog.clear()

    def apply_control(self, control: ProcessControl | None, now: datetime) -> None:
        """Applies an operator's settings; None: everything as declared."""
        declared = self.process
        was_on = self.is_on
        self.is_on = declared.is_on if control is None or control.is_on is None else control.is_on
        text = (control and control.trigger_frequency) or declared.trigger_frequency
        trigger = parse(text)
        if trigger != self.trigger:
            self.trigger = trigger
            self.next_tick = trigger.next_after(now)
        if self.is_on and not was_on:
            self.tick()
            self.wake_failed(self.level.start, self.level.end)

    def wake_failed(self, first: int, end: int) -> None:
        """Wakes the failed periods of `[first, end)`, which the cursor passes over."""
        for ordinal in self.level.failed(first, end):
            self.wake(ordinal)

    def retry_later(self, ordinal: int, due: datetime) -> None:
        """Schedules a retry of a failed period."""
        if self._retry_at.get(ordinal) != due:
            self._retry_at[ordinal] = due
            heapq.heappush(self.retries, (due, ordinal))

    def wake_due_retries(self, now: datetime) -> None:
        """Wakes the failed periods whose retry is due."""
        while self.retries and self.retries[0][0] <= now:
            _, ordinal = heapq.heappop(self.retries)
            self._retry_at.pop(ordinal, None)
            self.wake(ordinal)

    def close(self, now: datetime) -> Iterator[int]:
        """Advances `closed` to `now`; returns the unfinished periods that this closes."""
        bound = min(self.process.closed_before(now), self.level.end)
        first, self.closed = self.closed, max(self.closed, bound)
        return self.level.unfinished(max(first, self.level.frontier), self.closed)

    def fire(self, now: datetime) -> None:
        """Acts on the trigger: closes periods, and has everything unfinished considered again."""
        closed_before = self.closed
        self.close(now)
        self.wake_failed(closed_before, self.closed)
        self.tick()

    def tick(self) -> None:
        """Has everything unfinished considered again; open periods may get an interim run."""
        if not self.is_held:
            return
        self.cursor = self.level.frontier
        self._awake[self] = None
        for ordinal in self.level.unfinished(max(self.closed, self.level.frontier), self.level.end):
            self.candidates[ordinal] = True

    @property
    def scan_end(self) -> int:
        """The first period that the cursor does not reach."""
        if not self.is_on:
            return self.cursor
        continuous = self.process.state_machine is StateMachine.CONTINUOUS
        return self.level.end if continuous else self.closed

    @property
    def need(self) -> int:
        """How many periods may have to be considered, at most."""
        unseen = max(self.scan_end - max(self.cursor, self.level.frontier), 0)
        return len(self.candidates) + len(self._backlog) + unseen

    @property
    def has_work(self) -> bool:
        """Whether there may be something to decide in another turn."""
        if self.candidates:
            return True
        # If periods are carried out strictly in order, only the frontier can be next.
        end = min(self.scan_end, self.level.frontier + 1) if self.is_strict else self.scan_end
        return self.free > 0 and (bool(self._backlog) or self.cursor < end)

    @property
    def free(self) -> int:
        """The number of free slots."""
        return self.process.max_active - len(self.busy)

    @property
    def is_strict(self) -> bool:
        """Whether periods are carried out strictly in order."""
        return self.process.max_active == 1

    def gate(self, ordinal: int) -> Gate:
        """Whether the process has room for another unit of the job; the tree is held here."""
        is_its_turn = not self.is_strict or ordinal == self.head
        has_slot = self.free > 0
        if ordinal in self.busy or (self.is_on and is_its_turn and has_slot):
            return PASSES
        return Gate(self.is_on, is_its_turn=is_its_turn, has_slot=has_slot)

    def wake(self, ordinal: int) -> None:
        """Makes the period a candidate of the next decisions, if its tree is held here."""
        if self.is_held and self.level.holds(ordinal):
            self.candidates.setdefault(ordinal, False)
            self._awake[self] = None

    def postpone(self, ordinal: int) -> None:
        """Puts a ready period into the backlog until a slot is free."""
        if ordinal not in self._in_backlog:
            self._in_backlog.add(ordinal)
            heapq.heappush(self._backlog, ordinal)

    def resume(self) -> None:
        """Wakes as many periods of the backlog, oldest first, as there are free slots."""
        for _ in range(min(self.free, len(self._backlog))):
            ordinal = heapq.heappop(self._backlog)
            self._in_backlog.discard(ordinal)
            self.wake(ordinal)

    def set_units(self, ordinal: int, views: list[UnitView]) -> None:
        """Sets the units of a job's present generation, oldest first."""
        self.units[ordinal] = views
        self.count(ordinal)

    def count(self, ordinal: int) -> None:
        """Updates `busy` after a unit of the job changed."""
        if any(not view.state.is_finished for view in self.units.get(ordinal, ())):
            self.busy.add(ordinal)
        else:
            self._release(ordinal)

    def cancel_units(self, ordinal: int) -> None:
        """Marks the unfinished units of a job that failed as canceled, as the store has them."""
        for unit in self.units.get(ordinal, ()):
            if not unit.state.is_finished:
                unit.follow(UnitState.CANCELED, None)
        self._release(ordinal)

    def forget(self, ordinal: int) -> None:
        """Forgets the units of a job that was finished or started over."""
        self.units.pop(ordinal, None)
        self.refresh_at.pop(ordinal, None)
        self._release(ordinal)

    def _release(self, ordinal: int) -> None:
        if ordinal in self.busy:
            self.busy.discard(ordinal)
            self._awake[self] = None  # a slot is free
