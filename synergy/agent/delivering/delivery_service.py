"""The delivering loop of an agent, as a service."""

from __future__ import annotations

from contextlib import closing
from datetime import datetime

from synergy.agent.delivering.deliverer import Deliverer, Sends
from synergy.clock import Clock
from synergy.messaging.protocol import Bus, Consumer
from synergy.names import DELIVERIES
from synergy.runtime.service import RetryRule, Service

LAST_SENDS_SECONDS = 5.0  # the time for deliveries in flight when the agent is asked to stop
LAST_WRITES_SECONDS = 3.0  # the time after that for writing their outcomes
RULE = RetryRule(waiting="delivering.waits", failing="delivering.failed")


class DeliveryService(Service):
    """Repeats the turns of a deliverer; at the end closes the sender and writes outcomes."""

    stop_timeout_seconds = LAST_SENDS_SECONDS + LAST_WRITES_SECONDS

    def __init__(self, bus: Bus, clock: Clock, deliverer: Deliverer, sender: Sends) -> None:
        super().__init__("delivering", clock, RULE)
        self._bus = bus
        self._deliverer = deliverer
        self._consumer: Consumer | None = None
        self._opened.callback(deliverer.flush)
        self._opened.callback(sender.close, LAST_SENDS_SECONDS)

    def run_once(self, now: datetime) -> float:
        """Lets outcomes gather for a moment, writes them, and claims and sends runs."""
        if self._consumer is None:
            self._consumer = self._opened.enter_context(closing(self._bus.consumer(DELIVERIES)))
            self._stop.interrupts(self._consumer.interrupt)
            self._deliverer.wake = self._consumer.interrupt
        self._deliverer.gather()
        return self._deliverer.turn(self._consumer)

    def wait(self, seconds: float) -> None:
        assert self._consumer is not None  # run_once opened it
        self._consumer.wait(seconds)
