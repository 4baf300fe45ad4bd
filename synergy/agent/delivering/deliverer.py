"""Delivers launched runs to their destinations.

A run is claimed by compare-and-set (owner, attempt + 1), sent, and its outcome written, in groups:
one commit claims a group and takes its messages, another writes all outcomes that have arrived.
The claims of an agent that is killed are sent again by another one, with the same key. The state
here may be lost: runs are rows, and the deciding agent sends messages for them again.

The deciding half of the same agent claims runs in the step that launches them, as far as there is
room, and passes them to this half.
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
from synergy.agent.delivering.claim_checks import ClaimChecks
from synergy.agent.delivering.deferred_runs import DeferredRuns
from synergy.agent.delivering.outcomes import Outcomes
from synergy.agent.delivering.requests import claimed, request_of
from synergy.agent.delivering.uncertain_claims import UncertainClaims, is_held
from synergy.agent.membership import Membership
from synergy.delivery.request import Request, Response, failed
from synergy.errors import InvalidValue, MessagingUnavailable, StorageUnavailable
from synergy.messaging.message import UnitMessage
from synergy.messaging.protocol import Consumer
from synergy.model.schedule import Run, RunChange, RunState
from synergy.names import DELIVERIES
from synergy.storage.protocol import Batch

GROUP = 500  # messages taken in one commit
MOST_IN_FLIGHT = 1000  # beyond these, launched runs are announced to all agents, not claimed
BEGUN = 10_000  # attempts that are remembered, so that none is sent twice
LONGEST_WAIT_SECONDS = 60.0
GATHER_SECONDS = 0.05  # how long an outcome waits for others that are written together with it
RECHECK_SECONDS = 1.0  # the time between two reads of uncertain claims


class Sends(Protocol):
    """The part of `synergy.delivery.sender.Sender` that a deliverer uses."""

    def submit(self, request: Request, done: Callable[[Response], None]) -> None: ...

    def room(self, destination: str) -> int: ...

    def close(self, timeout_seconds: float) -> None: ...


class Deliverer:
    """The delivering half of an agent; its sections name the thread that calls them."""

    def __init__(
        self,
        context: AgentContext,
        owner: str,
        sender: Sends,
        members: Membership,
        random: Random | None = None,
    ) -> None:
        self._context = context
        self._store = context.store
        self._clock = context.clock
        self._meter = context.meter
        self._owner = owner
        self._sender = sender
        self._members = members
        self._checks = ClaimChecks(context.store.runs, members, owner)
        self._outcomes = Outcomes(context, owner, random or Random())
        self._deferred = DeferredRuns(context.clock)
        self._in_flight: set[str] = set()
        # From the deciding half: claimed runs with `joined` as of then, and runs possibly claimed.
        self._accepted: deque[tuple[int, Run]] = deque()
        self._newly_uncertain: deque[str] = deque()
        self._begun: dict[str, int] = {}  # the newest attempts, by run
        self._uncertain = UncertainClaims(self._store.runs, self._clock, owner)
        self._flush_now = threading.Event()  # ends the gathering of outcomes
        self.wake: Callable[[], object] = lambda: None

    # In the thread of the deciding half

    def claim_locally(self, runs: Sequence[Run]) -> list[Run]:
        """The runs, of which launched ones are claimed as far as there is room."""
        now = self._clock.now()
        places = MOST_IN_FLIGHT - len(self._in_flight) - len(self._accepted)
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

    def accept(self, runs: Sequence[Run]) -> None:
        """Queues the written runs that this agent claimed, for the thread that sends them."""
        held = [run for run in runs if is_held(run, self._owner)]
        if held:
            self._accepted.extend((self._members.joined, run) for run in held)
            self._meter.count("job_leased_total", "claimed", len(held))
            self._flush_now.set()
            self.wake()

    def mark_uncertain(self, runs: Sequence[Run]) -> None:
        """Notes runs that may or may not have been written."""
        self._newly_uncertain.extend(run.id for run in runs if run.owner == self._owner)
        self.wake()

    # In its own thread

    def turn(self, consumer: Consumer) -> float:
        """Sends, writes outcomes, and claims; returns the seconds until the next turn is due."""
        is_member = self._members.is_member
        if is_member:
            self._send_accepted()
            self._resolve_uncertain()
        wrote = self._conclude()
        if not is_member:
            return 0.0 if wrote else LONGEST_WAIT_SECONDS
        is_more = self._claim(consumer)
        if wrote or is_more:
            return 0.0
        longest = RECHECK_SECONDS if self._uncertain else LONGEST_WAIT_SECONDS
        return min([longest, *self._deferred.due_in()])

    def gather(self) -> None:
        """Lets outcomes gather for a moment, while other runs are in flight.

        A commit for each outcome would delay sending, and would wake all listeners.
        """
        if 0 < len(self._outcomes) < len(self._in_flight):
            self._flush_now.wait(GATHER_SECONDS)
        self._flush_now.clear()

    def flush(self) -> None:
        """Writes the last outcomes, once the sender is closed; runs not sent lose their owner."""
        self._send_accepted()
        self._resolve_uncertain()
        while self._conclude():
            pass
        self._checks.close()

    def _conclude(self) -> bool:
        """Writes a group of outcomes; returns whether there were any."""
        done, concluded = self._outcomes.conclude()
        self._in_flight.difference_update(sent.run.id for sent in done)
        now = self._clock.now()
        for run in concluded:
            if not run.state.is_finished:
                pause = (run.not_before or now) - now
                self._deferred.try_again_in(run.id, pause.total_seconds())
        return bool(done)

    # Claims

    def _claim(self, consumer: Consumer) -> bool:
        """Claims and sends the runs there is room for; returns whether messages may be left."""
        began, joined = self._clock.monotonic(), self._members.joined
        again = self._deferred.due()
        wanted = [*again, *self._deferred.with_room(self._sender.room)]
        claims: list[Run] = []
        lost: set[str] = set()
        try:
            with self._store.batch() as batch:
                announced = self._messages(consumer, batch)
                claims = self._claims([*wanted, *announced], set(again), batch)
                changes = [RunChange(run, "", self._context.name) for run in claims]
                lost = {c.run.id for c in self._store.runs.change(changes)} if changes else lost
        except (StorageUnavailable, MessagingUnavailable):
            self._uncertain.add(run.id for run in claims)
            for run in wanted:
                self._deferred.try_again_in(run, 0.0)
            raise
        self._send(joined, [run for run in claims if run.id not in lost])
        if claims:
            self._leased(len(claims) - len(lost), len(lost), began)
        return len(announced) == GROUP

    def _messages(self, consumer: Consumer, batch: Batch) -> list[str]:
        """The runs that messages announce; other messages are put into quarantine."""
        found: list[str] = []
        for delivery in consumer.take(GROUP, batch) if self._deferred.may_take else ():
            if isinstance(delivery.message, UnitMessage):
                found.append(delivery.message.unit)
            else:
                consumer.reject(delivery, "expected a run", batch)
        return found

    def _claims(self, wanted: Iterable[str], again: set[str], batch: Batch) -> list[Run]:
        """The wanted runs, claimed as far as there is room for them; the others are deferred."""
        now = self._clock.now()
        ids = [run for run in dict.fromkeys(wanted) if run not in self._in_flight]
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
        self._defer(crowded, batch)
        return claims

    def _defer(self, crowded: Sequence[Run], batch: Batch) -> None:
        forwarded = [] if self._members.is_alone else self._deferred.forward(crowded)
        if forwarded:
            messages = [UnitMessage(run.id, run.attempt) for run in forwarded]
            self._context.bus.publish(DELIVERIES, messages, batch)
        ids = {run.id for run in forwarded}
        self._deferred.keep_back(run for run in crowded if run.id not in ids)

    def _send_accepted(self) -> None:
        """Sends the accepted runs, except attempts that were sent before.

        After losing and regaining the membership, the store is asked whether claims still hold.
        """
        accepted: dict[str, Run] = {}
        present = self._members.joined
        while self._accepted:
            joined, run = self._accepted.popleft()
            if joined != present:
                self._uncertain.add([run.id])
            elif self._begun.get(run.id, 0) < run.attempt:
                accepted[run.id] = run
        self._send(present, list(accepted.values()))

    def _resolve_uncertain(self) -> None:
        """Sends the uncertain claims that the store has; it may have written one late."""
        while self._newly_uncertain:
            self._uncertain.add([self._newly_uncertain.popleft()])
        self._send(self._members.joined, self._uncertain.confirmed(self._in_flight))

    def _leased(self, claimed: int, refused: int, began: float) -> None:
        self._meter.count("job_leased_total", "claimed", claimed)
        if refused:
            self._meter.count("job_leased_total", "refused", refused)
        seconds = self._clock.monotonic() - began
        self._meter.observe("job_leased_duration_seconds", "claimed", seconds)

    # Sending

    def _send(self, joined: int, runs: Sequence[Run]) -> None:
        """Sends claims that were made, or confirmed, as the member that joined then."""
        left, now = deque(runs), self._clock.now()
        try:
            while left:
                self._begin(left[0], joined, now)
                left.popleft()
        finally:  # a body could not be read: the rest is claimed, and sent when the store is back
            self._uncertain.add(run.id for run in left)

    def _begin(self, run: Run, joined: int, now: datetime) -> None:
        check = partial(self._checks.assert_held, run, joined)
        try:
            request = request_of(run, self._store.payloads, check)
        except (InvalidValue, UnicodeError) as error:
            self._remember(run)
            self._done(run, failed(str(error), may_retry=False))
            return
        self._remember(run)
        attempt = "first" if run.attempt == 1 else "again"
        delay = (now - run.expected_at).total_seconds()
        self._meter.observe("job_executed_delay_seconds", attempt, delay)
        self._sender.submit(request, partial(self._done, run))

    def _remember(self, run: Run) -> None:
        self._in_flight.add(run.id)
        self._begun.pop(run.id, None)
        self._begun[run.id] = run.attempt
        if len(self._begun) > BEGUN:
            del self._begun[next(iter(self._begun))]

    def _done(self, run: Run, answer: Response) -> None:
        """Takes an answer; the sender calls it in a thread of its own."""
        self._meter.count("job_executed_total", str(answer.outcome))
        self._meter.observe("job_executed_duration_seconds", str(answer.outcome), answer.seconds)
        if self._outcomes.add(run, answer):
            self.wake()
        if len(self._outcomes) >= len(self._in_flight):
            self._flush_now.set()


def _is_free(row: Run, now: datetime, *, is_our_turn: bool) -> bool:
    """Whether a run is free to claim; `is_our_turn` if our own clock says its pause is over."""
    if row.state is not RunState.LAUNCHED or row.owner is not None or not row.is_delivery:
        return False
    return is_our_turn or row.not_before is None or row.not_before <= now
