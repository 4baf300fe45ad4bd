"""Awaitable connections and channels over pika.

They belong to the thread of the event loop, because pika is not thread-safe.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, Self

import pika
from pika.adapters.asyncio_connection import AsyncioConnection
from pika.exceptions import AMQPError

from synergy.errors import ConfigurationError
from synergy.messaging.amqp import Address, Tls
from synergy.messaging.rabbitmq.faults import CLOSED_BY_US, Fault, lost, unopened

HEARTBEAT_SECONDS = 30
CONNECT_SECONDS = 5.0  # for TCP, TLS and AMQP together
OPEN_SECONDS = 15.0  # for finding the host, and trying all of its addresses
BLOCKED_SECONDS = 60.0  # a connection that the broker blocks for so long is closed

# pika logs what it raises, with tracebacks, at each try; the bus logs it once.
logging.getLogger("pika").setLevel(logging.CRITICAL)


def parameters(address: Address, host: str = "") -> pika.ConnectionParameters:
    """Pika's parameters of an address; raises ConfigurationError for an unusable certificate.

    With `host`, the connection is made to it instead of the address's host; the certificate must
    name the latter all the same.
    """
    return pika.ConnectionParameters(
        host=host or address.host,
        port=address.port,
        virtual_host=address.vhost,
        credentials=pika.PlainCredentials(address.user, address.password),
        heartbeat=HEARTBEAT_SECONDS,
        blocked_connection_timeout=BLOCKED_SECONDS,
        socket_timeout=CONNECT_SECONDS,
        stack_timeout=CONNECT_SECONDS,
        ssl_options=pika.SSLOptions(_tls(address.tls), address.host) if address.tls else None,
        client_properties={"connection_name": f"synergy {socket.gethostname()} {os.getpid()}"},
    )


def _tls(wanted: Tls) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=wanted.cacertfile)
        if wanted.certfile is not None:
            context.load_cert_chain(wanted.certfile, wanted.keyfile, password=_no_password)
    except (OSError, ValueError) as error:
        files = filter(None, (wanted.cacertfile, wanted.certfile, wanted.keyfile))
        raise ConfigurationError([f"SYNERGY_BUS: {', '.join(files)}: {error}"]) from error
    if not wanted.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _no_password() -> str:
    raise ValueError("the key is encrypted: expected one without a password")


class Connection:
    """An open connection; `lost` is set to the reason when it can no longer be used.

    `blocked` is the reason for which the broker accepts no messages at present, or empty.
    """

    def __init__(self, raw: AsyncioConnection, address: Address) -> None:
        self._raw = raw
        self._address = address
        self.lost: asyncio.Future[Fault] = asyncio.get_running_loop().create_future()
        self.blocked = ""
        self._ended = asyncio.Event()
        raw.add_on_close_callback(self._end)
        raw.add_on_connection_blocked_callback(self._block)
        raw.add_on_connection_unblocked_callback(self._unblock)

    @classmethod
    async def open(cls, settings: pika.ConnectionParameters, address: Address) -> Self:
        """A new connection; raises Fault."""
        loop = asyncio.get_running_loop()
        opened: asyncio.Future[AsyncioConnection] = loop.create_future()

        def fail(_raw: object, error: BaseException) -> None:
            if not opened.done():
                opened.set_exception(unopened(error, address))

        def succeed(raw: AsyncioConnection) -> None:
            if opened.done():
                raw.close()
            else:
                opened.set_result(raw)

        raw = AsyncioConnection(settings, succeed, fail, custom_ioloop=loop)
        try:
            return cls(await asyncio.wait_for(opened, OPEN_SECONDS), address)
        except (TimeoutError, asyncio.CancelledError) as error:
            with suppress(AMQPError):
                raw.close()
            if isinstance(error, TimeoutError):
                raise unopened(error, address) from error
            raise

    @property
    def bytes_received(self) -> int:
        """The number of bytes so far; a connection that receives no more may be dead."""
        return int(self._raw.bytes_received)

    def drop(self, why: Fault) -> None:
        """Treats the connection as lost, whether or not the other side notices."""
        if not self.lost.done():
            self.lost.set_result(why)
        with suppress(AMQPError):
            self._raw.close()

    async def close(self) -> None:
        """Closes the connection in good order: data that was sent before the call arrives."""
        self.drop(Fault("the bus was closed"))
        await self._ended.wait()

    async def channel(self) -> Channel:
        """A new channel; raises Fault."""
        if self.lost.done():
            raise self.lost.result()
        opened: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        try:
            raw = self._raw.channel(on_open_callback=lambda _: _resolve(opened, None))
        except AMQPError as error:
            raise lost(error, self._address) from error
        channel = Channel(raw, self._address)
        await channel.answered(opened)
        return channel

    async def vital_channel(self) -> Channel:
        """A channel whose loss makes the connection useless; raises Fault."""
        channel = await self.channel()

        def ended(reason: asyncio.Future[Fault]) -> None:
            if reason.result().code != CLOSED_BY_US:
                self.drop(reason.result())

        channel.lost.add_done_callback(ended)
        return channel

    @asynccontextmanager
    async def temporary_channel(self) -> AsyncIterator[Channel]:
        """A channel for a few requests; the broker closes it if it rejects one."""
        channel = await self.channel()
        try:
            yield channel
        finally:
            channel.close()

    def _end(self, _raw: object, error: BaseException) -> None:
        self._ended.set()
        if not self.lost.done():
            self.lost.set_result(lost(error, self._address))

    def _block(self, _raw: object, frame: Any) -> None:
        self.blocked = f"it takes no messages at the moment: {frame.method.reason}"

    def _unblock(self, *_: object) -> None:
        self.blocked = ""


class Channel:
    """An open channel; `lost` is set to the reason when it can no longer be used."""

    def __init__(self, raw: Any, address: Address) -> None:
        self.raw = raw
        self._address = address
        self.lost: asyncio.Future[Fault] = asyncio.get_running_loop().create_future()
        raw.add_on_close_callback(lambda _, error: self._end(error))

    async def call(self, method: Callable[..., object], **arguments: object) -> Any:
        """Calls a method of `raw` and awaits the broker's answer; raises Fault."""
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.cast(method, **arguments, callback=lambda frame: _resolve(answer, frame))
        return (await self.answered(answer)).method

    def cast(self, method: Callable[..., object], *some: object, **arguments: object) -> None:
        """Calls a method of `raw` that has no answer; raises Fault."""
        try:
            method(*some, **arguments)
        except AMQPError as error:
            raise self._fault(error) from error

    async def answered(self, answer: asyncio.Future[Any]) -> Any:
        """The answer; raises Fault if the channel is lost before."""
        await asyncio.wait({answer, self.lost}, return_when=asyncio.FIRST_COMPLETED)
        if answer.done():
            return answer.result()
        raise self.lost.result()

    def close(self) -> None:
        """Closes the channel, unless it is closed already."""
        if self.raw.is_open:
            self.raw.close(CLOSED_BY_US, "done")

    def fail(self, why: str) -> None:
        """Treats the channel as lost."""
        if not self.lost.done():
            self.lost.set_result(Fault(f"RabbitMQ at {self._address.place}: {why}"))

    def _end(self, error: BaseException) -> None:
        if not self.lost.done():
            self.lost.set_result(lost(error, self._address))

    def _fault(self, error: BaseException) -> Fault:
        return self.lost.result() if self.lost.done() else lost(error, self._address)


def _resolve(future: asyncio.Future[Any], value: object) -> None:
    if not future.done():
        future.set_result(value)
