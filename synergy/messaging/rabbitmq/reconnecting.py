"""A connection to the broker that is reopened whenever it is lost."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pika

from synergy.messaging.amqp import Address
from synergy.messaging.rabbitmq.faults import Fault
from synergy.messaging.rabbitmq.wire import Connection
from synergy.runtime.service import RetryRule

RULE = RetryRule(waiting="bus.lost", failing="bus.failed", first=1.0, longest=30.0)
PROVEN_SECONDS = 30.0  # after a connection that lasted so long, pauses begin short again
CLOSE_SECONDS = 2.0

log = logging.getLogger(__name__)

Prepare = Callable[[Connection], Awaitable[None]]


class ReconnectingConnection:
    """Keeps one connection open; `prepare` opens the channels on each new one, and may raise Fault.

    It is a task of the event loop, not a `Service` with a thread. It begins with its first use, and
    pauses after failures by the same rule as services.
    """

    def __init__(
        self, settings: pika.ConnectionParameters, address: Address, name: str, prepare: Prepare
    ) -> None:
        self._settings = settings
        self._address = address
        self._name = name
        self._prepare = prepare
        self._task: asyncio.Task[None] | None = None
        self._changed: asyncio.Future[None] | None = None
        self._opened: Connection | None = None
        self._connection: Connection | None = None
        self._is_good = True
        self._fault: Fault | None = None

    @property
    def connection(self) -> Connection | None:
        """The current connection, if it is open and prepared."""
        return self._connection

    def start(self) -> None:
        """Begins to connect; a second call does nothing."""
        if self._task is None:
            self._changed = asyncio.get_running_loop().create_future()
            self._task = asyncio.create_task(self._keep())

    async def up(self) -> Connection:
        """The connection, once it is open; raises Fault if an attempt fails or has just failed."""
        self.start()
        while self._connection is None:
            if self._fault is not None:
                raise self._fault
            assert self._changed is not None
            await asyncio.shield(self._changed)
        return self._connection

    def drop(self, why: str) -> None:
        """Treats the current connection as lost; another one is opened."""
        if self._connection is not None:
            self._connection.drop(Fault(f"RabbitMQ at {self._address.place}: {why}"))

    async def close(self) -> None:
        """Closes the connection in good order, if the broker answers in time."""
        if self._task is None:
            return
        self._task.cancel()
        await asyncio.wait({self._task})
        if self._opened is not None:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._opened.close(), CLOSE_SECONDS)

    async def _keep(self) -> None:
        failures = 0
        clock = asyncio.get_running_loop().time
        while True:
            began = clock()
            try:
                fault = await self._run_connection()
            except Exception as error:  # the boundary of the thread: it must go on
                log.exception("%s fails", self._name, extra={"event": RULE.failing})
                fault = Fault(f"{self._name}: {error}")
            if clock() - began >= PROVEN_SECONDS:
                failures = 0
            self._log_change(fault)
            self._publish_state(None, fault)
            failures += 1
            await asyncio.sleep(RULE.pause(failures) * random.uniform(0.5, 1.0))
            self._fault = None

    async def _run_connection(self) -> Fault:
        """Opens one connection and waits for its end; returns why it ended."""
        try:
            self._opened = connection = await Connection.open(self._settings, self._address)
            try:
                await self._prepare(connection)
            except Fault as fault:
                connection.drop(fault)
                raise
        except Fault as fault:
            return fault
        self._log_change(None)
        self._publish_state(connection, None)
        return await asyncio.shield(connection.lost)

    def _log_change(self, fault: Fault | None) -> None:
        """Logs the first fault after a good time, and the recovery."""
        if fault is not None and self._is_good:
            log.warning("%s: %s", self._name, fault, extra={"event": RULE.waiting})
        elif fault is None and not self._is_good:
            log.info("%s: connected", self._name, extra={"event": "bus.connected"})
        self._is_good = fault is None

    def _publish_state(self, connection: Connection | None, fault: Fault | None) -> None:
        """Publishes the new state to all tasks that wait in `up`."""
        self._connection, self._fault = connection, fault
        changed, self._changed = self._changed, asyncio.get_running_loop().create_future()
        if changed is not None:
            changed.set_result(None)
