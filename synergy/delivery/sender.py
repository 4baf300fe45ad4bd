"""Sends requests to their destinations, many at a time, and reports the outcome of each.

One thread runs an event loop. Webhooks and AMQP are awaited in it; SQS and SNS, whose client
blocks, have a few threads each. Every kind has its own limit of what is in flight, and every
destination its own within it (`fair_queue`), so that one that hangs delays only itself.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Protocol

from synergy import extras
from synergy.clock import Clock
from synergy.delivery import addresses
from synergy.delivery.aws import THREADS, Aws
from synergy.delivery.fair_queue import FairQueue
from synergy.delivery.options import Options
from synergy.delivery.request import NotSent, Request, Response, SendOutcome, failed
from synergy.delivery.resolver import Resolve, Resolver
from synergy.delivery.target import TargetKind
from synergy.errors import SynergyError
from synergy.runtime.event_loop_thread import EventLoopThread
from synergy.runtime.masking import mask

MOST_AT_ONCE = 4  # requests of each kind that begin in one turn of the event loop
AHEAD = 100  # requests for one destination that may wait here, if it is quick
CANCEL_SECONDS = 5.0  # how long cancelled requests may take to end
CLOSE_SECONDS = 5.0  # how long closing the connections may take

log = logging.getLogger(__name__)

Done = Callable[[Response], None]
_Item = tuple[Request, Done]


class Transport(Protocol):
    """Sends requests of one kind."""

    async def send(self, request: Request, report: Done) -> None:
        """Reports the answer as soon as it is known, and returns when its resources are free.

        Raises InvalidValue for a request that cannot be sent as it is.
        """
        ...

    def close(self) -> Awaitable[None] | None: ...


class Sender:
    """Sends requests in the thread of an event loop, which starts with the first request.

    Callbacks run in that thread and delay all requests: they should return quickly.
    """

    def __init__(
        self, options: Options, clock: Clock, *, resolve: Resolve = addresses.resolve
    ) -> None:
        """`resolve` finds the addresses of a host and port, and may block."""
        self._options = options
        self._clock = clock
        self._resolver = Resolver(options.rules, resolve)
        self._lock = threading.Lock()
        self._queues: dict[TargetKind, FairQueue[_Item]] = {
            kind: FairQueue(options.per_destination, _most(kind, options), AHEAD)
            for kind in TargetKind
        }
        self._is_closed = False
        self._is_begin_posted = False  # whether `_begin` is about to be called
        self._loop = EventLoopThread("delivery")
        self._transports: dict[TargetKind, Transport] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def submit(self, request: Request, done: Done) -> None:
        """Queues a request, even beyond `room`; never blocks, never raises.

        `done` is called once, in the loop's thread; after `close` at once, in the caller's thread.
        """
        with self._lock:
            if not self._is_closed:
                self._queues[request.target.kind].put(request.target.destination, (request, done))
                self._begin_soon()
                return
        self._call_back(done, _stopped(request))

    def room(self, destination: str) -> int:
        """How many more requests for this destination may be submitted: they begin soon."""
        with self._lock:
            if self._is_closed:
                return 0
            now = self._clock.monotonic()
            return self._queues[_kind(destination)].room(destination, now)

    def close(self, timeout_seconds: float) -> None:
        """Waits at most `timeout_seconds` for requests in flight; all that are left are `stopped`.

        Callbacks must not call it.
        """
        with self._lock:
            was_closed, self._is_closed = self._is_closed, True
        if was_closed:
            return
        if self._loop.started and (shutdown := self._loop.submit(self._shut_down(timeout_seconds))):
            with suppress(TimeoutError):
                shutdown.result(timeout_seconds + CANCEL_SECONDS + CLOSE_SECONDS)
        self._loop.stop()

    def _begin_soon(self) -> None:
        if not self._is_begin_posted:
            self._is_begin_posted = True
            self._loop.post(self._begin)

    # In the loop

    def _begin(self) -> None:
        """Begins a few requests, so that those in flight progress before more begin.

        If a thousand began at once, they would delay each other beyond the timeouts of receivers.
        """
        now = self._clock.monotonic()
        with self._lock:
            ready = [
                (kind, *one)
                for kind, queue in self._queues.items()
                for one in queue.take(MOST_AT_ONCE, now)
            ]
            self._is_begin_posted = False
            if ready:
                self._begin_soon()
        for kind, destination, (request, done) in ready:
            task = asyncio.get_running_loop().create_task(self._deliver(request, done))
            self._tasks.add(task)
            task.add_done_callback(partial(self._end, kind, destination))

    def _end(self, kind: TargetKind, destination: str, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        with self._lock:
            self._queues[kind].release(destination, self._clock.monotonic())
            self._begin_soon()

    async def _deliver(self, request: Request, done: Done) -> None:
        """Sends one request; whatever happens, `done` is called once."""
        began = self._clock.monotonic()
        reported: list[Response] = []

        def report(answer: Response) -> None:
            if not reported:
                reported.append(answer)
                self._call_back(done, replace(answer, seconds=self._clock.monotonic() - began))

        try:
            await self._transport(request.target.kind).send(request, report)
        except asyncio.CancelledError:
            report(_stopped(request))
        except NotSent as error:
            text = f"{request.target.destination}: not sent: {error}"
            report(failed(text, SendOutcome.STOPPED))
        except SynergyError as error:
            report(failed(mask(str(error)), may_retry=False))
        except Exception as error:  # the boundary of the thread: it must go on
            log.exception("a delivery failed", extra={"event": "delivery.failed"})
            report(failed(mask(f"{request.target.destination}: {error!r}")))

    def _transport(self, kind: TargetKind) -> Transport:
        transport = self._transports.get(kind)
        if transport is None:
            transport = self._transports[kind] = self._new_transport(kind)
        return transport

    def _new_transport(self, kind: TargetKind) -> Transport:
        """The transport; raises InvalidValue if its packages are an extra and not installed."""
        # httpx and pika take memory that an agent without such requests does not need.
        match kind:
            case TargetKind.WEBHOOK:
                from synergy.delivery.webhook import Webhooks

                return Webhooks(self._options, self._clock, self._resolver)
            case TargetKind.AMQP:
                extras.require("rabbitmq", "pika")
                from synergy.delivery.amqp import AmqpExchanges

                return AmqpExchanges(self._options, self._clock, self._resolver)
            case TargetKind.SQS | TargetKind.SNS:
                extras.require("aws", "boto3")
                return Aws(kind, self._options, self._resolver)

    def _call_back(self, done: Done, answer: Response) -> None:
        try:
            done(answer)
        except Exception:
            log.exception("a callback of a delivery failed", extra={"event": "delivery.failed"})

    async def _shut_down(self, timeout_seconds: float) -> None:
        with self._lock:
            left = [item for queue in self._queues.values() for item in queue.drain()]
        for request, done in left:
            self._call_back(done, _stopped(request))
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=timeout_seconds)
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=CANCEL_SECONDS)
        for transport in self._transports.values():
            closing = transport.close()
            if closing is not None:
                await closing
        self._resolver.close()


def _most(kind: TargetKind, options: Options) -> int:
    return THREADS if kind in (TargetKind.SQS, TargetKind.SNS) else options.most


def _kind(destination: str) -> TargetKind:
    match destination.partition(":")[0]:
        case "amqp" | "amqps":
            return TargetKind.AMQP
        case "sqs":
            return TargetKind.SQS
        case "sns":
            return TargetKind.SNS
    return TargetKind.WEBHOOK


def _stopped(request: Request) -> Response:
    return failed(f"{request.target.destination}: sending was stopped", SendOutcome.STOPPED)
