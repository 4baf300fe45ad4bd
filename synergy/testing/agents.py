"""An agent that is stepped by hand, and a sender that sends nothing."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from synergy.agent.agent import Agent
from synergy.delivery.request import Request, Response, SendOutcome, failed, sent
from synergy.names import DELIVERIES
from synergy.runtime.workplace import Workplace

Receiver = Callable[[Request], Response | None]


class RecordingSender:
    """Replaces `delivery.sender.Sender`: requests wait in `under_way` until `answer` is called.

    `receiver` gives the answers, by default 200; None leaves a request unanswered.
    """

    def __init__(self, receiver: Receiver | None = None, rooms: int = 1000) -> None:
        self.receiver = receiver or (lambda _: sent(200))
        self.rooms = rooms
        self.requests: list[Request] = []
        self.under_way: deque[tuple[Request, Callable[[Response], None]]] = deque()
        self.is_closed = False

    def submit(self, request: Request, done: Callable[[Response], None]) -> None:
        self.requests.append(request)
        self.under_way.append((request, done))

    def room(self, destination: str) -> int:
        busy = sum(r.target.destination == destination for r, _ in self.under_way)
        return max(0, self.rooms - busy)

    def close(self, timeout_seconds: float) -> None:
        self.is_closed = True
        while self.under_way:
            self.under_way.popleft()[1](failed("stopped", SendOutcome.STOPPED))

    def answer(self) -> int:
        """Passes on the answers that the receiver gives; returns how many."""
        number = 0
        for _ in range(len(self.under_way)):
            request, done = self.under_way.popleft()
            answer = self.receiver(request)
            if answer is None:
                self.under_way.append((request, done))
            else:
                number += 1
                done(answer)
        return number


class SteppedAgent:
    """One agent and its sender."""

    def __init__(self, place: Workplace, sender: RecordingSender) -> None:
        self.agent = Agent(place, sender)
        self.sender = sender
        self.consumer = place.bus.consumer(DELIVERIES)

    def decide(self) -> float:
        return self.agent.run_once()

    def deliver(self) -> float:
        return self.agent.deliverer.turn(self.consumer)

    def renew(self) -> None:
        """Renews the leases."""
        self.agent._members.renew()

    def rest(self) -> float:
        """Runs the agent until nothing is due; returns the seconds until something is."""
        for _ in range(1000):
            pause = self.decide()
            delivers_in = self.deliver()
            if self.sender.answer():
                continue
            if pause > 0 and delivers_in > 0:
                return min(pause, delivers_in)
        raise AssertionError("the agent never comes to rest")
