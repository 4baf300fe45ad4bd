"""Clients and helpers that the tests of the RabbitMQ engine share."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from urllib.parse import urlsplit, urlunsplit

from synergy.clock import SystemClock
from synergy.errors import MessagingUnavailable
from synergy.messaging.amqp import Address
from synergy.messaging.message import Message, UnitMessage
from synergy.messaging.protocol import Consumer
from synergy.messaging.rabbitmq import RabbitBus
from synergy.storage.sqlite import SqliteStore

WAIT_SECONDS = 30.0  # a bound: no passing test waits that long
ONE, TWO, THREE = (UnitMessage("u", n) for n in (1, 2, 3))


class Client:
    """Stands for a process of a deployment: it has a store of its own, and a bus."""

    def __init__(self, url: str, deployment: str = "ours") -> None:
        self.store = SqliteStore.open(":memory:")
        self.store.facts.set("deployment", deployment)
        self.bus = RabbitBus(Address.parse(url), self.store)

    def publish(self, *messages: Message, queue: str = "q") -> None:
        with self.store.batch() as batch:
            self.bus.publish(queue, messages, batch)

    def publish_with_retries(self, *messages: Message, queue: str = "q") -> None:
        """Publishes, and tries again until it succeeds."""
        for why in _tries(lambda: self.publish(*messages, queue=queue)):
            if not why:
                return
        raise AssertionError(f"publishing still fails: {why}")

    def take_once(self, consumer: Consumer, limit: int = 10) -> list[Message]:
        with self.store.batch() as batch:
            return [delivery.message for delivery in consumer.take(limit, batch)]

    def take(self, consumer: Consumer, count: int) -> list[Message]:
        """Takes the next messages; fails if fewer than `count` arrive."""
        found: list[Message] = []
        while len(found) < count:
            some = self.take_once(consumer, count - len(found))
            assert some or consumer.wait(WAIT_SECONDS), f"{found}, and nothing more comes"
            found += some
        return found

    def take_until(self, consumer: Consumer, message: Message) -> list[Message]:
        """Takes all messages up to and including this one."""
        found: list[Message] = []
        while message not in found:
            found += self.take(consumer, 1)
        return found

    def close(self) -> None:
        self.bus.close()
        self.store.close()


@contextmanager
def client(url: str, deployment: str = "ours") -> Iterator[Client]:
    """A client that has declared the queue `q`."""
    made = Client(url, deployment)
    try:
        made.bus.declare(["q"])
        yield made
    finally:
        made.close()


@contextmanager
def undeclared(url: str) -> Iterator[Client]:
    """A client that has not contacted the broker yet."""
    made = Client(url)
    try:
        yield made
    finally:
        made.close()


def with_user(url: str, user: str, password: str) -> str:
    """Returns the URL with another user and password."""
    parts = urlsplit(url)
    where = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=f"{user}:{password}@{where}"))


def until_it_fails(act: Callable[[], None], saying: str) -> None:
    """Repeats an action until it fails with this reason."""
    for why in _tries(act):
        if saying in why:
            return
    raise AssertionError(f"no failure with {saying!r}; the last result: {why!r}")


def _tries(act: Callable[[], None]) -> Iterator[str]:
    """Repeats an action for a bounded time; yields its error message, empty after a success."""
    clock, pause = SystemClock(), threading.Event()
    deadline = clock.monotonic() + WAIT_SECONDS
    while clock.monotonic() < deadline:
        try:
            act()
        except MessagingUnavailable as error:
            yield str(error)
        else:
            yield ""
        pause.wait(0.1)


def publish_to(rabbit: Client, queues: list[str], confirmed: list[str]) -> None:
    """Publishes a message to each queue in one batch that also writes to the store."""
    with rabbit.store.batch() as batch:
        rabbit.store.facts.set("written", "yes")
        for queue in queues:
            rabbit.bus.publish(queue, [ONE], batch, partial(confirmed.append, queue))
