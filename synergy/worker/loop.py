"""The loop of every worker process: take, carry out, wait to be woken."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

from synergy.messaging.protocol import Consumer
from synergy.runtime import service
from synergy.runtime.service import UNAVAILABLE, Retry, RetryRule
from synergy.runtime.workplace import Workplace

IDLE = 10.0  # seconds after which a worker without work looks for some without being woken
RULE = RetryRule("worker.waits", "worker.failed", first=1.0, longest=10.0, retried=UNAVAILABLE)


def repeat(workplace: Workplace, step: Callable[[Consumer], bool]) -> None:
    """Calls `step` with the consumer of the process's queue until the process shall stop.

    `step` returns whether it found something; if not, the next one waits for a message. An
    unforeseen failure ends the process, and the supervisor starts it again after a pause: what
    it holds in memory is not to be trusted then.
    """
    stop = workplace.stop
    with closing(workplace.bus.consumer(workplace.process.queue)) as consumer:
        stop.interrupts(consumer.interrupt)

        def turn() -> float:
            return 0.0 if step(consumer) else IDLE

        service.repeat(turn, stop, consumer.wait, Retry(RULE, stop))
