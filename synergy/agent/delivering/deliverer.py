"""Delivers launched runs to their destinations.

A run is claimed by compare-and-set (owner, attempt + 1), sent, and its outcome written. Many go
together: one commit claims a group and takes its messages, another writes all outcomes that have
come. The runs that an agent holds when it is killed are sent again by another one, with the same
key. Memory is expendable: runs are rows, and the deciding agent sends messages for them again.

The deciding half of the same agent claims the runs there is room for in the step that launches
them, and hands them to this half.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import partial
from random import Random
from typing import Protocol

from synergy.agent.context import AgentContext
from synergy.agent.deciding.launcher import DELIVERIES
from synergy.agent.delivering.deferred_runs import DeferredRuns
from synergy.agent.delivering.outcomes import Outcomes
from synergy.agent.delivering.requests import claimed, request_of
from synergy.agent.membership import Membership
from synergy.delivery.request import Request, Response, failed
from synergy.errors import InvalidValue, MessagingUnavailable, StorageUnavailable
from synergy.messaging.message import UnitMessage
from synergy.messaging.protocol import Consumer
from synergy.model.schedule import Run, RunChange, RunState
from synergy.storage.protocol import Batch

GROUP = 500  # runs claimed in one commit
IN_HAND = 1000  # runs that are claimed with their launch, before others get their share
BEGUN = 10_000  # attempts that are remembered, so that none is given twice
LONGEST_WAIT = 60.0  # seconds
GATHERING = 0.05  # seconds that outcomes wait for each other
UNSURE = 10.0  # seconds in which a write may still come about whose answer was lost
LOOK_AGAIN = 1.0  # seconds between two looks meanwhile


class Sends(Protocol):
    """What is needed of `synergy.delivery.sender.Sender`."""

    def submit(self, request: Request, done: Callable[[Response], None]) -> None: ...

    def room(self, destination: str) -> int: ...

    def close(self, patience: float) -> None: ...


class Deliverer:
    """The delivering half of an agent. What belongs to another thread is marked."""

    def __init__(
        self,
        kit: AgentContext,
        owner: str,
        sender: Sends,
        members: Membership,
        random: Random | None = None,
    ) -> None:
        self._kit = kit
        self._store = kit.store
        self._clock = kit.clock
        self._meter = kit.meter
        self._owner = owner
        self._sender = sender
        self._members = members
        self._outcomes = Outcomes(kit, owner, random or Random())
        self._aside = DeferredRuns(kit.clock)
        self._in_hand: set[str] = set()
        self._given: deque[tuple[int, Run]] = deque()  # claimed by the deciding half; `joined` then
        self._doubted: deque[str] = deque()  # the same, if they were written at all
        self._begun: dict[str, int] = {}  # the newest attempts, by run
        self._unsure: dict[str, float] = {}  # claims whose answer was lost; until when (monotonic)
        self._presses = threading.Event()  # something is not to wait for outcomes
        self.wake: Callable[[], object] = lambda: None

    # In the thread of the deciding half

    def own(self, runs: Sequence[Run]) -> list[Run]:
        """Runs as they are about to be written: those launched that there is room for are ours."""
        now = self._clock.now()
        places = IN_HAND - len(self._in_hand) - len(self._given)
        room: dict[str, int] = {}
        owned = []
        for run in runs:
            if places > 0 and self._members.is_member and _is_free(run, now, is_our_turn=False):
                left = room.setdefault(run.program, self._sender.room(run.program))
                if left > 0:
                    room[run.program] -= 1
                    places -= 1
                    owned.append(claimed(run, self._owner, now))
                    continue
            owned.append(run)
        return owned

    def take(self, runs: Sequence[Run]) -> None:
        """Sends those that were written as ours."""
        given = [run for run in runs if self._is_held(run)]
        if given:
            self._given.extend((self._members.joined, run) for run in given)
            self._meter.count("job_leased_total", "claimed", len(given))
            self._presses.set()
            self.wake()

    def doubt(self, runs: Sequence[Run]) -> None:
        """It is not known whether these were written."""
        self._doubted.extend(run.id for run in runs if run.owner == self._owner)
        self.wake()

    # In its own thread

    def turn(self, consumer: Consumer) -> float:
        """Sends, writes what was answered, and claims; seconds until there is more by itself."""
        is_member = self._members.is_member
        if is_member:
            self._take_up_given()
            self._take_up_unsure()
        wrote = self._conclude()
        if not is_member:
            return 0.0 if wrote else LONGEST_WAIT
        is_more = self._claim(consumer)
        if wrote or is_more:
            return 0.0
        longest = LOOK_AGAIN if self._unsure else LONGEST_WAIT
        return min([longest, *self._aside.due_in()])

    def gather(self) -> None:
        """Lets outcomes gather for a moment, while others are under way.

        A commit for each would hold up what is being sent, and would wake all who look at them.
        """
        if 0 < len(self._outcomes) < len(self._in_hand):
            self._presses.wait(GATHERING)
        self._presses.clear()

    def give_back(self) -> None:
        """Writes the last outcomes, once the sender is closed: what was not sent is nobody's."""
        self._take_up_given()
        self._take_up_unsure()
        while self._conclude():
            pass

    def _conclude(self) -> bool:
        """Writes a group of outcomes; whether there were any."""
        done, concluded = self._outcomes.conclude()
        self._in_hand.difference_update(sent.run.id for sent in done)
        now = self._clock.now()
        for run in concluded:
            if run.not_before is not None:
                self._aside.try_again_in(run.id, (run.not_before - now).total_seconds())
        return bool(done)

    # Claims

    def _claim(self, consumer: Consumer) -> bool:
        """Claims what there is room for, and sends it; whether messages may be left."""
        began = self._clock.monotonic()
        again = self._aside.due()
        wanted = [*again, *self._aside.with_room(self._sender.room)]
        claims: list[Run] = []
        lost: set[str] = set()
        try:
            with self._store.batch() as batch:
                told = self._messages(consumer, batch)
                claims = self._claims([*wanted, *told], set(again), batch)
                changes = [RunChange(run, "", self._kit.who) for run in claims]
                lost = {c.run.id for c in self._store.runs.change(changes)} if changes else lost
        except (StorageUnavailable, MessagingUnavailable):
            self._be_unsure(run.id for run in claims)
            for run in wanted:
                self._aside.try_again_in(run, 0.0)
            raise
        self._send([run for run in claims if run.id not in lost])
        if claims:
            self._leased(len(claims) - len(lost), len(lost), began)
        return len(told) == GROUP

    def _messages(self, consumer: Consumer, batch: Batch) -> list[str]:
        """The runs that messages tell of; what is no run is put into quarantine."""
        found: list[str] = []
        for delivery in consumer.take(GROUP, batch) if self._aside.may_take else ():
            if isinstance(delivery.message, UnitMessage):
                found.append(delivery.message.unit)
            else:
                consumer.reject(delivery, "expected a run", batch)
        return found

    def _claims(self, wanted: Iterable[str], again: set[str], batch: Batch) -> list[Run]:
        """The runs as they shall be in our hands, as far as there is room for them."""
        now = self._clock.now()
        ids = [run for run in dict.fromkeys(wanted) if run not in self._in_hand]
        rows = {row.id: row for row in self._store.runs.get(ids)} if ids else {}
        room: dict[str, int] = {}
        claims, crowded = [], []
        for row in (rows[run] for run in ids if run in rows):
            if not _is_free(row, now, is_our_turn=row.id in again):
                continue
            left = room.setdefault(row.program, self._sender.room(row.program))
            if left <= 0:
                crowded.append(row)
                continue
            room[row.program] -= 1
            claims.append(claimed(row, self._owner, now))
        self._lay_aside(crowded, batch)
        return claims

    def _lay_aside(self, crowded: Sequence[Run], batch: Batch) -> None:
        handed_on = [] if self._members.is_alone else self._aside.hand_on(crowded)
        if handed_on:
            messages = [UnitMessage(run.id, run.attempt) for run in handed_on]
            self._kit.bus.publish(DELIVERIES, messages, batch)
        gone = {run.id for run in handed_on}
        self._aside.keep_back(run for run in crowded if run.id not in gone)

    def _take_up_given(self) -> None:
        """What a decision that is made again gives may have been sent by now.

        Who lost his membership meanwhile, and is a member again, asks whose they are.
        """
        given: dict[str, Run] = {}
        while self._given:
            joined, run = self._given.popleft()
            if joined != self._members.joined:
                self._be_unsure([run.id])
            elif self._begun.get(run.id, 0) < run.attempt:
                given[run.id] = run
        self._send(list(given.values()))

    def _take_up_unsure(self) -> None:
        """Claims whose answer was lost: those that were made are ours to send.

        A server may make one after we have given up waiting for it.
        """
        while self._doubted:
            self._be_unsure([self._doubted.popleft()])
        if not self._unsure:
            return
        rows = self._store.runs.get(list(self._unsure))
        held = [r for r in rows if self._is_held(r) and r.id not in self._in_hand]
        now = self._clock.monotonic()
        known = {run.id for run in held} | self._in_hand
        self._unsure = {r: at for r, at in self._unsure.items() if at > now and r not in known}
        self._send(held)

    def _be_unsure(self, runs: Iterable[str]) -> None:
        self._unsure.update(dict.fromkeys(runs, self._clock.monotonic() + UNSURE))

    def _is_held(self, run: Run) -> bool:
        return (run.state, run.owner) == (RunState.LAUNCHED, self._owner)

    def _leased(self, claimed: int, refused: int, began: float) -> None:
        self._meter.count("job_leased_total", "claimed", claimed)
        if refused:
            self._meter.count("job_leased_total", "refused", refused)
        seconds = self._clock.monotonic() - began
        self._meter.observe("job_leased_duration_seconds", "claimed", seconds)

    # Sending

    def _send(self, runs: Sequence[Run]) -> None:
        now = self._clock.now()
        left = deque(runs)
        try:
            while left:
                self._begin(left[0], now)
                left.popleft()
        finally:  # the store gave no body: they are claimed, and sent when it is there again
            self._be_unsure(run.id for run in left)

    def _begin(self, run: Run, now: datetime) -> None:
        done = partial(self._done, run)
        try:
            request = request_of(run, self._store.payloads)
        except (InvalidValue, UnicodeError) as error:
            self._remember(run)
            done(failed(str(error), may_retry=False))
            return
        self._remember(run)
        delay = (now - run.due_at).total_seconds()
        self._meter.observe(
            "job_executed_delay_seconds", "first" if run.attempt == 1 else "again", delay
        )
        self._sender.submit(request, done)

    def _remember(self, run: Run) -> None:
        self._in_hand.add(run.id)
        self._begun.pop(run.id, None)
        self._begun[run.id] = run.attempt
        if len(self._begun) > BEGUN:
            del self._begun[next(iter(self._begun))]

    def _done(self, run: Run, answer: Response) -> None:
        """Called by the sender, in a thread of its own."""
        self._meter.count("job_executed_total", str(answer.outcome))
        self._meter.observe("job_executed_duration_seconds", str(answer.outcome), answer.seconds)
        if self._outcomes.add(run, answer):
            self.wake()
        if len(self._outcomes) >= len(self._in_hand):
            self._presses.set()


def _is_free(row: Run, now: datetime, *, is_our_turn: bool) -> bool:
    """Whether a run waits to be sent. Our own clock tells when it is our turn to try again."""
    if row.state is not RunState.LAUNCHED or row.owner is not None or not row.is_delivery:
        return False
    return is_our_turn or row.not_before is None or row.not_before <= now
