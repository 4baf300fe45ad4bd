"""Sends requests to their destinations, many at a time, and reports the outcome of each.

One thread runs an event loop. Webhooks and AMQP are awaited in it; SQS and SNS, whose client
blocks, have a few threads each. Every kind has its own limit of what is under way, and every
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

from synergy.clock import Clock
from synergy.delivery import addresses
from synergy.delivery.aws import THREADS, Aws
from synergy.delivery.exchange import AmqpExchanges
from synergy.delivery.fair_queue import FairQueue
from synergy.delivery.options import Options
from synergy.delivery.request import Request, Response, SendOutcome, failed
from synergy.delivery.target import TargetKind
from synergy.delivery.webhook import Resolve, Webhooks
from synergy.errors import SynergyError
from synergy.runtime.event_loop_thread import EventLoopThread
from synergy.runtime.masking import mask

__all__ = ["Done", "Options", "Request", "Response", "SendOutcome", "Sender"]

FEW = 4
AHEAD = 100  # requests for one destination that may wait here, if it is quick
WIND_UP = 5.0  # seconds for what was cancelled to end
CLOSE_SECONDS = 5.0  # for connections to be closed

log = logging.getLogger(__name__)

Done = Callable[[Response], None]
_Item = tuple[Request, Done]


class Transport(Protocol):
    """How requests of one kind travel."""

    async def send(self, request: Request, tell: Done) -> None:
        """Tells the answer as soon as it is known, and returns when nothing of it is left.

        Raises InvalidValue for a request that cannot be sent as it is.
        """
        ...

    def close(self) -> Awaitable[None] | None: ...


class Sender:
    """Begins to work with the first request, in the thread of an event loop.

    Callbacks run in that thread, and hold up all requests: they should only note things.
    """

    def __init__(
        self, options: Options, clock: Clock, *, resolve: Resolve = addresses.resolve
    ) -> None:
        """`resolve` finds the addresses of a host and port, and may block."""
        self._options = options
        self._clock = clock
        self._resolve = resolve
        self._lock = threading.Lock()
        self._lanes: dict[TargetKind, FairQueue[_Item]] = {
            kind: FairQueue(options.per_destination, _most(kind, options), AHEAD)
            for kind in TargetKind
        }
        self._is_closed = False
        self._begins = False  # whether `_begin` is about to be called
        self._loop = EventLoopThread("delivery")
        self._ways: dict[TargetKind, Transport] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def submit(self, request: Request, done: Done) -> None:
        """Sends it soon; never blocks, never raises. `done` is called once, in our thread.

        Requests wait for their turn, also beyond what there is `room` for. After `close`, `done` is
        called at once, in the caller's thread.
        """
        with self._lock:
            if not self._is_closed:
                self._lanes[request.target.kind].put(request.target.destination, (request, done))
                self._begin_soon()
                return
        self._tell(done, _stopped(request))

    def room(self, destination: str) -> int:
        """How many more requests for this destination are welcome: they begin at once, or soon."""
        with self._lock:
            if self._is_closed:
                return 0
            now = self._clock.monotonic()
            return self._lanes[_kind(destination)].room(destination, now)

    def close(self, patience: float) -> None:
        """Waits at most `patience` seconds for the requests under way; the others are `stopped`.

        Not to be called by a callback.
        """
        with self._lock:
            was_closed, self._is_closed = self._is_closed, True
        if was_closed:
            return
        if self._loop.started and (ending := self._loop.submit(self._wind_up(patience))):
            with suppress(TimeoutError):
                ending.result(patience + WIND_UP + CLOSE_SECONDS)
        self._loop.stop()

    def _begin_soon(self) -> None:
        if not self._begins:
            self._begins = True
            self._loop.post(self._begin)

    # In the loop

    def _begin(self) -> None:
        """Begins a few requests: those under way progress before more begin.

        If all began at once, a thousand that are due together would wait for each other, past the
        limits of quick receivers.
        """
        now = self._clock.monotonic()
        with self._lock:
            ready = [
                (kind, *one) for kind, lanes in self._lanes.items() for one in lanes.take(FEW, now)
            ]
            self._begins = False
            if ready:
                self._begin_soon()
        for kind, destination, (request, done) in ready:
            task = asyncio.get_running_loop().create_task(self._carry(request, done))
            self._tasks.add(task)
            task.add_done_callback(partial(self._end, kind, destination))

    def _end(self, kind: TargetKind, destination: str, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        with self._lock:
            self._lanes[kind].release(destination, self._clock.monotonic())
            self._begin_soon()

    async def _carry(self, request: Request, done: Done) -> None:
        """Carries one request from beginning to end: whatever happens, `done` is called once."""
        began = self._clock.monotonic()
        told: list[Response] = []

        def tell(answer: Response) -> None:
            if not told:
                told.append(answer)
                self._tell(done, replace(answer, seconds=self._clock.monotonic() - began))

        try:
            await self._way(request.target.kind).send(request, tell)
        except asyncio.CancelledError:
            tell(_stopped(request))
        except SynergyError as error:
            tell(failed(mask(str(error)), may_retry=False))
        except Exception as error:  # the boundary of the thread: it must go on
            log.exception("a delivery failed", extra={"event": "delivery.failed"})
            tell(failed(mask(f"{request.target.destination}: {error!r}")))

    def _way(self, kind: TargetKind) -> Transport:
        way = self._ways.get(kind)
        if way is None:
            way = self._ways[kind] = self._made(kind)
        return way

    def _made(self, kind: TargetKind) -> Transport:
        match kind:
            case TargetKind.WEBHOOK:
                return Webhooks(self._options, self._clock, self._resolve)
            case TargetKind.AMQP:
                return AmqpExchanges(self._options, self._clock)
            case TargetKind.SQS | TargetKind.SNS:
                return Aws(kind, self._options)

    def _tell(self, done: Done, answer: Response) -> None:
        try:
            done(answer)
        except Exception:
            log.exception("a callback of a delivery failed", extra={"event": "delivery.failed"})

    async def _wind_up(self, patience: float) -> None:
        with self._lock:
            left = [item for lanes in self._lanes.values() for item in lanes.drain()]
        for request, done in left:
            self._tell(done, _stopped(request))
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=patience)
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=WIND_UP)
        for way in self._ways.values():
            closing = way.close()
            if closing is not None:
                await closing


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
