"""Consumes events: takes, handles and commits them in one step.

If the queue is in a store with transactions, events leave it exactly when their effect becomes
durable. If not, an event may come twice, and `handle` must give the same result.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from synergy.errors import MessagingUnavailable, StorageUnavailable
from synergy.messaging.message import EventsMessage
from synergy.messaging.protocol import Consumer, Delivery
from synergy.names import SCHEDULER_TOPIC
from synergy.runtime.workplace import Workplace
from synergy.storage.protocol import Batch, Documents
from synergy.worker.loop import repeat

GROUP = 8  # the most messages that are handled in one commit

log = logging.getLogger(__name__)

Handle = Callable[[Sequence[Mapping[str, object]], Documents], None]


def consume(workplace: Workplace, handle: Handle) -> None:
    """Handles events until the process is asked to stop."""
    repeat(workplace, lambda consumer: handle_some(workplace, consumer, handle) > 0)


def handle_some(workplace: Workplace, consumer: Consumer, handle: Handle) -> int:
    """Handles a group of messages; returns how many there were.

    If a group fails, its messages are handled one by one, and a message that fails again is put
    into quarantine with the reason.
    """
    try:
        return _handle(workplace, consumer, handle, GROUP, [])
    except (StorageUnavailable, MessagingUnavailable):
        raise
    except Exception:
        log.debug("A group of messages failed; they are handled one by one", exc_info=True)
    taken: list[Delivery] = []
    try:
        return _handle(workplace, consumer, handle, 1, taken)
    except (StorageUnavailable, MessagingUnavailable):
        raise
    except Exception as error:
        log.exception("A message cannot be handled", extra={"event": "message.failed"})
        _quarantine(workplace, consumer, taken, f"{type(error).__name__}: {error}")
        return 1


def _handle(
    workplace: Workplace, consumer: Consumer, handle: Handle, limit: int, taken: list[Delivery]
) -> int:
    with workplace.store.batch() as batch:
        taken.extend(consumer.take(limit, batch))
        events = _events(consumer, taken, batch)
        if events:
            handle(events, workplace.store.documents)
            batch.after_commit(lambda: workplace.bus.notify(SCHEDULER_TOPIC))
    return len(taken)


def _quarantine(
    workplace: Workplace, consumer: Consumer, failed: Sequence[Delivery], reason: str
) -> None:
    """Puts the failed message into quarantine, if it is still the next one in the queue.

    Another instance may have taken it meanwhile, and then does the same.
    """
    bodies = {delivery.body for delivery in failed}
    with suppress(_OtherMessage), workplace.store.batch() as batch:
        for delivery in consumer.take(1, batch):
            if delivery.body not in bodies:
                raise _OtherMessage
            consumer.reject(delivery, reason, batch)


class _OtherMessage(Exception):
    """Rolls the batch back, so that the other message stays in the queue."""


def _events(
    consumer: Consumer, deliveries: Sequence[Delivery], batch: Batch
) -> list[Mapping[str, object]]:
    events: list[Mapping[str, object]] = []
    for delivery in deliveries:
        if isinstance(delivery.message, EventsMessage):
            events.extend(delivery.message.events)
        else:
            consumer.reject(delivery, "expected events", batch)
    return events
