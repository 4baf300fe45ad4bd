"""Takes the messages that RabbitMQ has sent."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from synergy.messaging.message import BadMessage, Message, decode
from synergy.messaging.protocol import Delivery, Waiter
from synergy.messaging.quarantine import Quarantine
from synergy.messaging.rabbitmq.pulling import PulledMessages
from synergy.messaging.rabbitmq.subscription import Received, Subscription
from synergy.storage.protocol import Batch


class RabbitPuller:
    """See `synergy.messaging.protocol.Puller`."""

    def __init__(
        self,
        received: PulledMessages | Subscription,
        quarantine: Quarantine,
        deployment: Callable[[], str],
    ) -> None:
        """`deployment` returns the expected sender."""
        self._received = received
        self._quarantine = quarantine
        self._deployment = deployment

    def take(self, limit: int, batch: Batch) -> list[Delivery]:
        """Takes messages, acknowledged when the batch is durable, requeued if it fails."""
        deliveries: list[Delivery] = []
        while (missing := limit - len(deliveries)) > 0:
            found = self._received.take(missing)
            if not found:
                break
            batch.after_commit(partial(self._received.acknowledge, found))
            batch.after_failure(partial(self._received.requeue, found))
            for received in found:
                try:
                    deliveries.append(Delivery(self._decoded(received), received.body))
                except BadMessage as error:
                    self._put_aside(received.body, str(error))
        return deliveries

    def reject(self, delivery: Delivery, reason: str, batch: Batch) -> None:
        self._put_aside(delivery.body, reason)

    def _decoded(self, received: Received) -> Message:
        message = decode(received.body)
        if received.deployment != self._deployment():
            raise BadMessage(
                f"sent by deployment {received.deployment[:64] or 'unknown'}, "
                f"this is {self._deployment()}"
            )
        return message

    def _put_aside(self, body: bytes, reason: str) -> None:
        self._quarantine.put(self._received.queue, body, reason)


class RabbitConsumer(RabbitPuller):
    """See `synergy.messaging.protocol.Consumer`."""

    def __init__(
        self,
        subscription: Subscription,
        waiter: Waiter,
        quarantine: Quarantine,
        deployment: Callable[[], str],
        detach: Callable[[], None],
    ) -> None:
        """`detach` returns messages that were not taken."""
        super().__init__(subscription, quarantine, deployment)
        self._subscription = subscription
        self._waiter = waiter
        self._detach = detach

    def wait(self, timeout: float) -> bool:
        return self._subscription.await_any(partial(self._waiter.wait, timeout))

    def interrupt(self) -> None:
        self._waiter.interrupt()

    def close(self) -> None:
        self._detach()
        self._waiter.close()
