"""The loop of every worker process: take, carry out, wait to be woken."""

from __future__ import annotations

import logging
from collections.abc import Callable

from synergy.errors import MessagingUnavailable, StorageUnavailable
from synergy.messaging.protocol import Consumer
from synergy.runtime.workplace import Workplace

IDLE = 10.0  # seconds after which a worker that has nothing to do looks without being woken
LONGEST_PAUSE = 10.0  # seconds between two tries while the store or the bus does not answer

log = logging.getLogger(__name__)


def repeat(workplace: Workplace, step: Callable[[Consumer], bool]) -> None:
    """Calls `step` with the consumer of the process's queue until the process shall stop.

    `step` says whether it found something; if not, the next one waits for a message. While
    store or bus do not answer, it is tried again with growing pauses.
    """
    stop = workplace.stop
    consumer = workplace.bus.consumer(workplace.process.queue)
    stop.interrupts(consumer.interrupt)
    failures = 0
    try:
        while not stop.is_set:
            try:
                if not step(consumer):
                    consumer.wait(IDLE)
                failures = 0
            except (StorageUnavailable, MessagingUnavailable) as error:
                failures += 1
                if failures == 1:
                    log.warning("Waiting: %s", error, extra={"event": "worker.waits"})
                stop.wait(min(0.5 * 2 ** min(failures, 5), LONGEST_PAUSE))
    finally:
        consumer.close()
