"""Dramatiq: an actor that does no work, sent with publisher confirms, without results."""

from __future__ import annotations

import dramatiq
from dramatiq.brokers.rabbitmq import RabbitmqBroker

from bench.contestants.race import Race

race = Race.from_environ()
mark = race.marker()
dramatiq.set_broker(RabbitmqBroker(url=race.url, confirm_delivery=True))


def mark_only() -> None:
    """Does no work; its mark counts the message as processed."""
    mark()


nothing = dramatiq.actor(mark_only, actor_name="nothing", queue_name=race.queue)


def send(count: int) -> None:
    """Sends messages, which are durable by default."""
    for _ in range(count):
        nothing.send()


if __name__ == "__main__":
    race.run(send)
