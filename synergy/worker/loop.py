"""The loop of every worker and event consumer: take what waits in the queue, then wait."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

from synergy.messaging.protocol import Consumer
from synergy.runtime import service
from synergy.runtime.service import UNAVAILABLE, Retry, RetryRule
from synergy.runtime.workplace import Workplace

IDLE_POLL_SECONDS = 10.0  # the longest wait of an idle worker until it looks into the queue again
RULE = RetryRule("worker.waits", "worker.failed", first=1.0, longest=10.0, retried=UNAVAILABLE)


def repeat(workplace: Workplace, step: Callable[[Consumer], bool]) -> None:
    """Calls `step` with the consumer of the process's queue until the process is asked to stop.

    `step` returns whether it found something; if not, the next step waits for a message. An
    unexpected error ends the process, because its state can no longer be trusted, and the
    supervisor restarts it after a pause.
    """
    stop = workplace.stop
    with closing(workplace.bus.consumer(workplace.process.queue)) as consumer:
        stop.interrupts(consumer.interrupt)

        def turn() -> float:
            return 0.0 if step(consumer) else IDLE_POLL_SECONDS

        service.repeat(turn, stop, consumer.wait, Retry(RULE, stop))
