"""The floor: the rate of pika and SQLite without Synergy.

One process publishes durable messages with confirms, at most a window of them unconfirmed. Another
one takes them, makes two durable commits for each, as many as a unit needs that is claimed and then
concluded, and acknowledges them in groups.
"""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path

import pika
from pika.channel import Channel
from pika.frame import Method
from pika.spec import Basic, BasicProperties

from bench.contestants.race import Race

WINDOW = 100
ACKED_AT = 50  # messages acknowledged together
BODY = b'{"v":1,"type":"unit","unit":"Floor|2026010100|1|0|0","attempt":1}'
DURABLE = BasicProperties(delivery_mode=2)


class Peer:
    """A connection with a channel, and the queue declared."""

    def __init__(self, race: Race) -> None:
        self.queue = race.queue
        self._connection = pika.SelectConnection(
            pika.URLParameters(race.url),
            on_open_callback=lambda connection: connection.channel(on_open_callback=self._opened),
            on_open_error_callback=_failed,
            on_close_callback=_failed,
        )
        self.channel: Channel
        self.run()

    def run(self) -> None:
        """Runs pika until a callback calls `stop`."""
        self._connection.ioloop.start()

    def stop(self) -> None:
        self._connection.ioloop.stop()

    def _opened(self, channel: Channel) -> None:
        self.channel = channel
        channel.queue_declare(self.queue, durable=True, callback=lambda _: self.stop())


class Publisher:
    """Publishes in a window."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self._left = 0
        self._tag = 0
        self._unconfirmed: set[int] = set()
        peer.channel.confirm_delivery(self._confirmed, callback=lambda _: peer.stop())
        peer.run()

    def publish(self, count: int) -> None:
        """Publishes so many messages; returns when all are confirmed."""
        self._left = count
        self._fill()
        self._peer.run()

    def _fill(self) -> None:
        while self._left and len(self._unconfirmed) < WINDOW:
            self._peer.channel.basic_publish("", self._peer.queue, BODY, DURABLE, mandatory=True)
            self._tag += 1
            self._left -= 1
            self._unconfirmed.add(self._tag)

    def _confirmed(self, frame: Method) -> None:
        answer = frame.method
        assert isinstance(answer, Basic.Ack), "the broker did not take a message"
        if answer.multiple:
            self._unconfirmed = {tag for tag in self._unconfirmed if tag > answer.delivery_tag}
        else:
            self._unconfirmed.discard(answer.delivery_tag)
        self._fill()
        if not self._unconfirmed:
            self._peer.stop()


def consume(peer: Peer, file: Path, mark: Callable[[], object]) -> None:
    """Takes messages until it is killed."""
    rows = sqlite3.connect(file, isolation_level=None)
    rows.execute("PRAGMA journal_mode = WAL")
    rows.execute("PRAGMA synchronous = FULL")
    rows.execute("CREATE TABLE units (id INTEGER PRIMARY KEY, state TEXT)")

    def carry_out(
        channel: Channel, delivery: Basic.Deliver, _properties: BasicProperties, _body: bytes
    ) -> None:
        tag = delivery.delivery_tag
        rows.execute("INSERT INTO units VALUES (?, 'in_progress')", (tag,))
        rows.execute("UPDATE units SET state = 'processed' WHERE id = ?", (tag,))
        if tag % ACKED_AT == 0:
            channel.basic_ack(tag, multiple=True)
        mark()

    peer.channel.basic_qos(prefetch_count=2 * ACKED_AT)
    peer.channel.basic_consume(peer.queue, carry_out)
    peer.run()


def clean(race: Race) -> None:
    """Deletes the queue, Celery's exchange, and Dramatiq's queues."""
    with pika.BlockingConnection(pika.URLParameters(race.url)) as connection:
        channel = connection.channel()
        for suffix in ("", ".DQ", ".XQ"):
            channel.queue_delete(race.queue + suffix)
        channel.exchange_delete(race.queue)


def _failed(_connection: object, error: object) -> None:
    raise ConnectionError(str(error))


def main(part: str) -> None:
    """Works, sends, or cleans up after any contestant."""
    race = Race.from_environ()
    match part:
        case "work":
            consume(Peer(race), race.marks.with_suffix(".db"), race.marker())
        case "send":
            race.run(Publisher(Peer(race)).publish)
        case "clean":
            clean(race)


if __name__ == "__main__":
    main(sys.argv[1])
