"""Runs calls at once: in threads of this process, and in other processes."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from threading import Barrier
from typing import Any

from synergy.messaging.amqp import Address
from synergy.messaging.protocol import Bus
from synergy.messaging.rabbitmq import RabbitBus
from synergy.messaging.stored import StoredBus
from synergy.storage.mongodb import MongoStore
from synergy.storage.protocol import Store
from synergy.storage.sqlite import SqliteStore
from tests.contract.mongomock_engine import mongomock_store

# New processes inherit nothing from this one: they are forked from a server process that opens
# nothing and has imported the slow modules already.
_spawn = multiprocessing.get_context("forkserver")
_spawn.set_forkserver_preload(["pytest", "hypothesis", __name__])


def open_store(address: str) -> Store:
    """Opens the store at an address; addresses can be passed to other processes."""
    engine, _, place = address.partition(":")
    match engine:
        case "sqlite":
            return SqliteStore.open(place)
        case "mongodb":
            return MongoStore.open(address)
        case "mongomock":
            return mongomock_store()
    raise AssertionError(f"an unknown engine: {engine}")


def open_bus(place: str, store: Store, pooled: Sequence[str] = ()) -> Bus:
    """Opens the bus at an address, which is `stored:<home>` or a URL."""
    engine, _, home = place.partition(":")
    if engine == "stored":
        return StoredBus(store, Path(home) if home else None, pooled=pooled)
    return RabbitBus(Address.parse(place), store, pooled=pooled)


def in_threads(count: int, act: Callable[[int], Any]) -> list[Any]:
    """Returns the results of `act(n)` in `count` threads that begin together."""
    barrier = Barrier(count)

    def begin(number: int) -> Any:
        barrier.wait()
        return act(number)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(begin, range(count)))


def in_processes(
    address: str, act: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]
) -> list[Any]:
    """Returns the results of `act(store, *arguments[n])`, each in a process, all at once."""
    pipes = [_spawn.Pipe() for _ in arguments]
    processes = [
        _spawn.Process(target=_act, args=(address, act, given, theirs))
        for given, (_, theirs) in zip(arguments, pipes, strict=True)
    ]
    for process, (_, theirs) in zip(processes, pipes, strict=True):
        process.start()
        theirs.close()  # so that the end of the process ends the waiting for it
    for ours, _ in pipes:
        assert ours.recv() == "ready"
    for ours, _ in pipes:
        ours.send("go")
    results = [ours.recv() for ours, _ in pipes]
    for process in processes:
        process.join()
    for ours, _ in pipes:
        ours.close()
    return results


@contextmanager
def paused_in_batch(address: str, act: Callable[[Store], Any]) -> Iterator[BaseProcess]:
    """Runs a process that commits a fact, calls `act` in a batch and leaves the batch open."""
    ours, theirs = _spawn.Pipe()
    process = _spawn.Process(target=_hold, args=(address, act, theirs))
    process.start()
    try:
        assert ours.recv() == "batch open"
        yield process
    finally:
        process.kill()
        process.join()
        ours.close()
        theirs.close()


def _act(address: str, act: Callable[..., Any], given: tuple[Any, ...], pipe: Connection) -> None:
    store = open_store(address)
    pipe.send("ready")
    pipe.recv()
    pipe.send(act(store, *given))
    store.close()


def _hold(address: str, act: Callable[[Store], Any], pipe: Connection) -> None:
    store = open_store(address)
    store.facts.set("committed", "yes")
    with store.batch():
        act(store)
        pipe.send("batch open")
        pipe.recv()
