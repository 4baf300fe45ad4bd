"""The objects in the broker: two exchanges, and a durable queue for each process.

All names begin with `synergy.`, so that permissions can be given by prefix. Everything is declared
in advance, and again when it is found missing, because a broker may lose it. A user who may not
declare uses what exists.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping

from synergy.messaging.rabbitmq.faults import (
    ACCESS_REFUSED,
    NOT_FOUND,
    PRECONDITION_FAILED,
    Fault,
)
from synergy.messaging.rabbitmq.wire import Channel, Connection
from synergy.program import PROGRAM

PREFIX = "synergy."
WORK = f"{PREFIX}work"  # routes each message to the queue whose name is its key
WAKEUPS = f"{PREFIX}bells"  # routes wake-ups to the listeners of their topic

_QUORUM = {"x-queue-type": "quorum"}
_Declare = Callable[[Channel], Awaitable[object]]


def name_of(queue: str) -> str:
    """The broker's name for a process's queue."""
    return f"{PREFIX}{queue}"


async def declare(connection: Connection, queues: Iterable[str] = ()) -> None:
    """Creates exchanges, queues and bindings where they are missing; raises Fault."""
    for name in (WORK, WAKEUPS):
        await _ensure(
            connection, f"exchange {name}", _exchange(name), _exchange(name, passive=True)
        )
    for queue in queues:
        name = name_of(queue)
        try:
            await _ensure(connection, f"queue {name}", _queue(name), _queue(name, passive=True))
        except Fault as fault:
            if fault.code != PRECONDITION_FAILED or "'quorum'" not in str(fault):
                raise
            # The vhost, or another declaration, uses quorum queues, which are durable as well.
            make = _queue(name, _QUORUM)
            await _ensure(connection, f"queue {name}", make, _queue(name, passive=True))


async def depth(connection: Connection, queue: str) -> int:
    """The number of ready messages; 0 for a missing queue."""
    try:
        async with connection.temporary_channel() as channel:
            found = await channel.call(
                channel.raw.queue_declare, queue=name_of(queue), passive=True
            )
    except Fault as fault:
        if fault.code == NOT_FOUND:
            return 0
        raise
    return int(found.message_count)


async def purge(connection: Connection, queue: str) -> int:
    """Deletes all ready messages; returns how many, 0 for a missing queue."""
    try:
        async with connection.temporary_channel() as channel:
            dropped = await channel.call(channel.raw.queue_purge, queue=name_of(queue))
    except Fault as fault:
        if fault.code == NOT_FOUND:
            return 0
        raise
    return int(dropped.message_count)


def _exchange(name: str, *, passive: bool = False) -> _Declare:
    async def declare_it(channel: Channel) -> None:
        await channel.call(
            channel.raw.exchange_declare,
            exchange=name,
            exchange_type="direct",
            durable=True,
            passive=passive,
        )

    return declare_it


def _queue(
    name: str, arguments: Mapping[str, str] | None = None, *, passive: bool = False
) -> _Declare:
    async def declare_it(channel: Channel) -> None:
        raw = channel.raw
        await channel.call(
            raw.queue_declare, queue=name, durable=True, passive=passive, arguments=arguments
        )
        if not passive:
            await channel.call(raw.queue_bind, queue=name, exchange=WORK, routing_key=name)

    return declare_it


async def _ensure(connection: Connection, what: str, make: _Declare, check: _Declare) -> None:
    """Creates an object, or, if that is not allowed, checks that it exists."""
    try:
        async with connection.temporary_channel() as channel:
            await make(channel)
    except Fault as fault:
        if fault.code == PRECONDITION_FAILED:
            raise Fault(
                f"{fault}: {what} exists with other properties than Synergy needs; delete it, "
                f"then run {PROGRAM} store init",
                is_mistake=True,
                code=fault.code,
            ) from fault
        if fault.code != ACCESS_REFUSED:
            raise
        await _check_exists(connection, what, check, fault)


async def _check_exists(connection: Connection, what: str, check: _Declare, refusal: Fault) -> None:
    try:
        async with connection.temporary_channel() as channel:
            await check(channel)
    except Fault as fault:
        if fault.code != NOT_FOUND:
            raise
        raise Fault(
            f"{refusal}; there is no {what}, and this user may not make it: run {PROGRAM} store "
            "init with a SYNERGY_BUS whose user may configure synergy.*",
            is_mistake=True,
            code=fault.code,
        ) from fault
