"""Taking messages that RabbitMQ has sent."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from synergy.clock import Clock
from synergy.messaging.message import BadMessage, Message, decode
from synergy.messaging.protocol import Delivery, Waiter
from synergy.messaging.rabbitmq.subscription import Received, Subscription
from synergy.storage.protocol import Batch, Messages

LONGEST_KEPT = 1 << 20
"""Bytes of a bad message that quarantine keeps: no store takes what a broker may carry."""


class RabbitConsumer:
    """See `synergy.messaging.protocol.Consumer`."""

    def __init__(
        self,
        subscription: Subscription,
        bell: Waiter,
        graveyard: Messages,
        deployment: Callable[[], str],
        clock: Clock,
        leave: Callable[[], None],
    ) -> None:
        """`deployment` is whose messages are expected; `leave` gives back what was not taken."""
        self._subscription = subscription
        self._bell = bell
        self._graveyard = graveyard
        self._deployment = deployment
        self._clock = clock
        self._leave = leave

    def take(self, limit: int, batch: Batch) -> list[Delivery]:
        """Acknowledged, all together, when the batch is durable; at hand again if it fails."""
        deliveries: list[Delivery] = []
        while (missing := limit - len(deliveries)) > 0:
            found = self._subscription.take(missing)
            if not found:
                break
            batch.after_commit(partial(self._subscription.done, found))
            batch.after_failure(partial(self._subscription.back, found))
            for received in found:
                try:
                    deliveries.append(Delivery(self._understood(received), received.body))
                except BadMessage as error:
                    self._bury(received.body, str(error))
        return deliveries

    def reject(self, delivery: Delivery, reason: str, batch: Batch) -> None:
        self._bury(delivery.body, reason)

    def wait(self, timeout: float) -> bool:
        return self._subscription.await_any(partial(self._bell.wait, timeout))

    def interrupt(self) -> None:
        self._bell.interrupt()

    def close(self) -> None:
        self._leave()
        self._bell.close()

    def _understood(self, received: Received) -> Message:
        message = decode(received.body)
        if received.deployment != self._deployment():
            raise BadMessage(
                f"sent by deployment {received.deployment[:64] or 'unknown'}, "
                f"this is {self._deployment()}"
            )
        return message

    def _bury(self, body: bytes, reason: str) -> None:
        if len(body) > LONGEST_KEPT:
            reason += f"; it had {len(body)} bytes, of which the first {LONGEST_KEPT} are kept"
        self._graveyard.bury(
            self._subscription.queue, body[:LONGEST_KEPT], reason, self._clock.now()
        )
