"""The process that is a member of the pool: started, woken, stopped and replaced."""

from __future__ import annotations

import logging
from contextlib import closing

from synergy.names import POOL_TOPIC, SUPERVISOR_TOPIC
from synergy.runtime import retirement, service
from synergy.runtime.service import Retry
from synergy.runtime.topic_relay import TopicRelay
from synergy.runtime.workplace import Daemon, Workplace
from synergy.worker.loop import IDLE_POLL_SECONDS, RULE
from synergy.worker.pool.member import PoolMember
from synergy.worker.pool.runners import WorkerOf
from synergy.worker.unit_runner import announce

SWITCHES_SECONDS = 15.0  # the time between two looks at the switches, in case a notice was lost

log = logging.getLogger(__name__)


class Pool(Daemon):
    """A member of the pool. It works until it is asked to stop, or has grown too large."""

    def __init__(self, workplace: Workplace, worker_of: WorkerOf) -> None:
        super().__init__(workplace)
        self._member = PoolMember(workplace, worker_of)

    def start(self) -> None:
        place, member = self.workplace, self._member
        with closing(place.bus.listener(POOL_TOPIC)) as waiter, closing(member):
            place.stop.interrupts(waiter.interrupt)

            def switched() -> None:
                if member.refresh():
                    waiter.interrupt()

            def turn() -> float | None:
                if not member.round():
                    return IDLE_POLL_SECONDS
                return None if member.has_grown else 0.0

            notices = TopicRelay(
                place.bus, place.clock, SUPERVISOR_TOPIC, switched, longest=SWITCHES_SECONDS
            )
            notices.start()
            announce(place)
            try:
                service.repeat(turn, place.stop, waiter.wait, Retry(RULE, place.stop))
            finally:
                notices.stop()
            if not place.stop.is_set:
                log.info("It has grown and is replaced", extra={"event": "pool.grown"})
                raise SystemExit(retirement.EXIT_CODE)
