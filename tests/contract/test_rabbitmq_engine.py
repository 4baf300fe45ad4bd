"""What is RabbitMQ's own: topology, permissions, quarantine, prefetch, refusals."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from functools import partial
from uuid import UUID, uuid4

import pika
import pytest
from pika.exceptions import ChannelClosedByBroker

from synergy.errors import ConfigurationError, MessagingUnavailable
from synergy.messaging.amqp import Address
from synergy.messaging.message import EventsMessage, UnitMessage, encode
from synergy.messaging.rabbitmq import RabbitBus, receiver
from synergy.messaging.rabbitmq import consumer as consumers
from synergy.storage.sqlite import SqliteStore
from tests.contract.rabbits import (
    LONG,
    ONE,
    THREE,
    TWO,
    Client,
    client,
    undeclared,
    until_it_fails,
    with_user,
)
from tests.servers import rabbitmq as servers
from tests.servers.ports import free_port
from tests.servers.rabbitmq import Broker
from tests.servers.wire import wire


@pytest.fixture
def rabbit(rabbitmq_url: str) -> Iterator[Client]:
    with client(rabbitmq_url) as rabbit:
        yield rabbit


@pytest.fixture
def channel(rabbitmq_url: str) -> Iterator[pika.adapters.blocking_connection.BlockingChannel]:
    """An operator's way in."""
    with closing(servers.connect(rabbitmq_url)) as connection:
        yield connection.channel()


def publish_to(rabbit: Client, queues: list[str], confirmed: list[str]) -> None:
    """A batch that writes something, and a message for each queue."""
    with rabbit.store.batch() as batch:
        rabbit.store.facts.set("written", "yes")
        for queue in queues:
            rabbit.bus.publish(queue, [ONE], batch, partial(confirmed.append, queue))


# Refusals: each with what to do next, and without the secret


def refusal(url: str) -> str:
    with undeclared(url) as rabbit:
        with pytest.raises((ConfigurationError, MessagingUnavailable)) as raised:
            rabbit.bus.declare(["q"])
        with pytest.raises(MessagingUnavailable):
            rabbit.publish(ONE)
        assert rabbit.bus.dead() == []
    said = str(raised.value)
    assert "secret" not in said
    is_mistake = isinstance(raised.value, ConfigurationError)
    return f"{'a mistake' if is_mistake else 'unavailable'}: {said}"


def test_a_wrong_password(rabbitmq: Broker) -> None:
    said = refusal(with_user(rabbitmq.url, "guest", "secret"))
    assert said.startswith("a mistake")
    assert "refuses user guest or its password: correct SYNERGY_BUS" in said


def test_a_vhost_that_is_not_there(rabbitmq: Broker) -> None:
    said = refusal(rabbitmq.at("no such vhost"))
    assert said.startswith("a mistake")
    assert "vhost no such vhost" in said
    assert "rabbitmqctl list_vhosts" in said


def test_nobody_listens() -> None:
    said = refusal(f"amqp://me:secret@127.0.0.1:{free_port()}/")
    assert said.startswith("unavailable")
    assert "refuses connections: is it running" in said


def test_a_host_without_an_address() -> None:
    assert "there is no address for that name" in refusal("amqp://me:secret@no-such-host.invalid/")


@pytest.fixture
def silent() -> Iterator[int]:
    """The port of somebody who accepts connections, and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


@pytest.mark.parametrize("scheme", ["amqp", "amqps"])
def test_somebody_who_says_nothing(silent: int, scheme: str) -> None:
    said = refusal(f"{scheme}://me:secret@127.0.0.1:{silent}/")
    assert said.startswith("unavailable")
    assert "does not answer: is it running, and is no firewall in between?" in said


def test_somebody_who_hangs_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def hang_up() -> None:
            with suppress(OSError):
                while True:
                    listener.accept()[0].close()

        threading.Thread(target=hang_up, daemon=True).start()
        said = refusal(f"amqp://me:secret@127.0.0.1:{listener.getsockname()[1]}/")
        listener.shutdown(socket.SHUT_RDWR)
    assert "hangs up: is that a port for amqp://, and is it RabbitMQ?" in said


def test_tls_where_there_is_none(rabbitmq: Broker) -> None:
    said = refusal(rabbitmq.url.replace("amqp://", "amqps://"))
    assert "is it a port for amqps://" in said or "does not answer" in said


# Topology


def test_a_queue_that_was_made_otherwise_is_a_clear_error(rabbitmq_url: str, channel) -> None:
    channel.queue_declare("synergy.q", durable=False)
    with undeclared(rabbitmq_url) as rabbit, pytest.raises(ConfigurationError) as raised:
        rabbit.bus.declare(["q"])
    said = str(raised.value)
    assert "'durable' for queue 'synergy.q'" in said
    assert "delete it, then run launch.py store init" in said


def test_an_exchange_that_was_made_otherwise_is_one_too(rabbitmq_url: str, channel) -> None:
    channel.exchange_declare("synergy.work", "fanout", durable=True)
    with undeclared(rabbitmq_url) as rabbit, pytest.raises(ConfigurationError) as raised:
        rabbit.bus.declare(["q"])
    assert "exchange synergy.work exists with other properties" in str(raised.value)


def test_a_quorum_queue_is_as_good(rabbitmq_url: str, channel) -> None:
    channel.queue_declare("synergy.q", durable=True, arguments={"x-queue-type": "quorum"})
    with client(rabbitmq_url) as rabbit, closing(rabbit.bus.consumer("q")) as consumer:
        rabbit.publish(ONE, TWO, THREE)
        assert rabbit.take(consumer, 2) == [ONE, TWO]
        assert rabbit.take(consumer, 1) == [THREE]


def test_a_queue_that_was_deleted_is_made_again(rabbit: Client, channel) -> None:
    rabbit.publish(ONE)
    channel.queue_delete("synergy.q")
    rabbit.publish(TWO)
    assert rabbit.bus.depths() == {"q": 1}


def test_a_queue_that_lost_its_binding_is_bound_again(rabbit: Client, channel) -> None:
    channel.queue_unbind("synergy.q", "synergy.work", "synergy.q")
    rabbit.publish(TWO)
    assert rabbit.bus.depths() == {"q": 1}


def test_a_consumer_survives_that_its_queue_is_deleted(rabbit: Client, channel) -> None:
    with closing(rabbit.bus.consumer("q")) as consumer:
        rabbit.publish(ONE)
        assert rabbit.take(consumer, 1) == [ONE]
        assert not consumer.wait(0.05)
        channel.queue_delete("synergy.q")
        rabbit.publish(TWO)
        assert rabbit.take(consumer, 1) == [TWO]


def test_messages_are_durable_and_say_whose_they_are(rabbit: Client, channel) -> None:
    rabbit.publish(ONE)
    _, properties, body = channel.basic_get("synergy.q", auto_ack=True)
    assert (properties.delivery_mode, properties.app_id) == (2, "ours")
    assert body == encode(ONE)


def test_a_queue_that_refuses_messages_is_named(rabbitmq_url: str, channel) -> None:
    limited = {"x-max-length": 1, "x-overflow": "reject-publish"}
    channel.exchange_declare("synergy.work", "direct", durable=True)
    channel.queue_declare("synergy.full", durable=True, arguments=limited)
    channel.queue_bind("synergy.full", "synergy.work", "synergy.full")
    confirmed: list[str] = []
    try:
        with client(rabbitmq_url) as rabbit:
            rabbit.publish(ONE, queue="full")
            with pytest.raises(MessagingUnavailable, match=r"refuses synergy\.full"):
                publish_to(rabbit, ["full", "q"], confirmed)
            assert rabbit.bus.depths() == {"full": 1, "q": 1}
    finally:
        channel.queue_delete("synergy.full")
    assert confirmed == ["q"], "one queue's trouble is no other's"


# Permissions


@pytest.fixture(scope="module")
def least(rabbitmq: Broker) -> Iterator[str]:
    """The URL of a user who may not make queues, but for ears of its own."""
    if rabbitmq.node is None:
        pytest.skip("who may do what can be said on a server of our own alone")
    user = f"least-{uuid4().hex[:8]}"
    rabbitmq.node.add_user(user, "secret")
    rabbitmq.node.allow(user, r"^synergy\.bells\.", r"^synergy\.", r"^synergy\.")
    yield with_user(rabbitmq.url, user, "secret")
    rabbitmq.node.delete_user(user)


def test_the_least_privileges_do_for_all_but_making_queues(least: str, rabbit: Client) -> None:
    rabbit.publish(ONE)
    with (
        client(least) as other,
        closing(other.bus.consumer("q")) as consumer,
        closing(other.bus.listener("topic")) as listener,
    ):
        assert other.take(consumer, 1) == [ONE]
        other.publish(TWO)
        assert other.bus.depths() == {"q": 1}
        assert other.bus.purge("q") == 1
        rabbit.bus.notify("topic")
        assert listener.wait(LONG)


def test_who_may_not_make_what_is_missing_is_told_who_may(least: str, rabbit: Client) -> None:
    with undeclared(least) as other, pytest.raises(ConfigurationError) as raised:
        other.bus.declare(["q", "other"])
    assert "there is no queue synergy.other" in str(raised.value)
    assert "run launch.py store init" in str(raised.value)


def test_work_goes_on_once_a_permission_that_was_taken_is_given_back(
    rabbitmq: Broker, least: str, rabbit: Client
) -> None:
    assert rabbitmq.node is not None
    user = least.partition("//")[2].partition(":")[0]
    with client(least) as other:
        other.publish(ONE)
        rabbitmq.node.allow(user, r"^synergy\.bells\.", "^$", r"^synergy\.")
        rabbitmq.node.close_connections()  # it remembers what one might
        until_it_fails(lambda: other.publish(TWO), "ACCESS_REFUSED")
        rabbitmq.node.allow(user, r"^synergy\.bells\.", r"^synergy\.", r"^synergy\.")
        other.insist(THREE)
    assert rabbit.bus.depths()["q"] >= 2


def test_an_exchange_that_was_deleted_is_made_again(rabbit: Client, channel) -> None:
    """The broker closes the channel of who publishes to it."""
    rabbit.publish(ONE)
    channel.exchange_delete("synergy.work")
    with pytest.raises(MessagingUnavailable, match=r"no exchange 'synergy\.work'"):
        rabbit.publish(TWO)
    rabbit.insist(THREE)
    assert rabbit.bus.depths() == {"q": 2}


# Bad messages


def test_a_message_of_another_deployment_is_put_into_quarantine(
    rabbitmq_url: str, rabbit: Client
) -> None:
    with client(rabbitmq_url, "theirs") as other:
        other.publish(ONE)
    rabbit.publish(TWO)
    servers.put(rabbitmq_url, "q", [encode(THREE)], "")
    with closing(rabbit.bus.consumer("q")) as consumer:
        assert rabbit.take(consumer, 1) == [TWO]
        rabbit.publish(THREE)
        assert rabbit.take(consumer, 1) == [THREE]
    unknown, theirs = rabbit.bus.dead()
    assert theirs.body == encode(ONE)
    assert theirs.reason == "sent by deployment theirs, this is ours"
    assert unknown.reason == "sent by deployment unknown, this is ours"


def test_of_an_overlong_bad_message_the_beginning_is_kept(
    rabbitmq_url: str, rabbit: Client
) -> None:
    servers.put(rabbitmq_url, "q", [b"x" * (consumers.LONGEST_KEPT + 1)], "ours")
    rabbit.publish(ONE)
    with closing(rabbit.bus.consumer("q")) as consumer:
        assert rabbit.take(consumer, 1) == [ONE]
    (dead,) = rabbit.bus.dead()
    assert dead.body == b"x" * consumers.LONGEST_KEPT
    assert f"of which the first {consumers.LONGEST_KEPT} are kept" in dead.reason


def test_the_same_message_twice_comes_twice(rabbitmq_url: str, rabbit: Client) -> None:
    """It is the claim that refuses it."""
    rabbit.publish(ONE)
    servers.put(rabbitmq_url, "q", [encode(ONE)], "ours")
    with closing(rabbit.bus.consumer("q")) as consumer:
        assert rabbit.take(consumer, 2) == [ONE, ONE]


def test_who_has_no_id_yet_gets_one_that_stays(rabbitmq_url: str, rabbit: Client, channel) -> None:
    with closing(SqliteStore.open(":memory:")) as store:
        for _ in range(2):
            bus = RabbitBus(Address.parse(rabbitmq_url), store)
            with closing(bus), store.batch() as batch:
                bus.publish("q", [ONE], batch)
        ids = [channel.basic_get("synergy.q", auto_ack=True)[1].app_id for _ in range(2)]
        assert ids == [store.facts.get("deployment")] * 2
    assert UUID(ids[0])


# Who gets how much


def test_who_takes_one_and_is_busy_holds_back_no_other(rabbit: Client) -> None:
    rabbit.publish(ONE, TWO, THREE)
    with closing(rabbit.bus.consumer("q")) as busy, closing(rabbit.bus.consumer("q")) as free:
        assert rabbit.take(busy, 1) == [ONE]
        assert rabbit.take(free, 2) == [TWO, THREE]


def test_who_takes_many_and_is_busy_gives_back_what_was_sent_ahead(rabbit: Client) -> None:
    messages = [UnitMessage("u", n) for n in range(50)]
    rabbit.publish(*messages)
    with closing(rabbit.bus.consumer("q")) as busy, closing(rabbit.bus.consumer("q")) as free:
        taken = rabbit.take(busy, 10)
        assert taken == messages[:10]
        rest = rabbit.take(free, 40)
        assert sorted(rest, key=lambda message: message.attempt) == messages[10:]


def test_what_is_taken_from_and_given_back_comes_in_order(rabbit: Client) -> None:
    messages = [UnitMessage("u", n) for n in range(300)]
    rabbit.publish(*messages)
    found: list[object] = []
    with closing(rabbit.bus.consumer("q")) as consumer:
        for limit in (1, 1, 2, 4, 8, 16, 32, 64, 1, 1, 64, 3):
            assert consumer.wait(LONG)
            found += rabbit.take_once(consumer, limit)
            with suppress(ZeroDivisionError), rabbit.store.batch() as batch:
                consumer.take(limit, batch)
                raise ZeroDivisionError
        found += rabbit.take(consumer, len(messages) - len(found))
    assert found == messages


def test_what_a_consumer_holds_does_not_count_as_waiting(rabbit: Client) -> None:
    rabbit.publish(ONE, TWO)
    with closing(rabbit.bus.consumer("q")) as consumer:
        assert consumer.wait(LONG)
        assert rabbit.bus.depths() == {"q": 1}
    assert rabbit.bus.depths() == {"q": 2}


# Rings


def test_other_processes_are_heard(rabbitmq_url: str, rabbit: Client) -> None:
    topics = ["scheduler", "x" * 500, "Zürich 東京", "", "a\0b\n"]
    with client(rabbitmq_url) as other:
        for topic in topics:
            with (
                closing(other.bus.listener(topic)) as mine,
                closing(other.bus.listener(f"not {topic}")) as another,
            ):
                rabbit.bus.notify(topic)
                assert mine.wait(LONG)
                assert not another.wait(0)


def test_who_rings_and_leaves_is_heard(rabbitmq_url: str, rabbit: Client) -> None:
    with closing(rabbit.bus.listener("scheduler")) as listener:
        with undeclared(rabbitmq_url) as passer_by:
            passer_by.bus.notify("scheduler")
        assert listener.wait(LONG)


def test_rings_do_not_pile_up(rabbitmq_url: str, rabbit: Client) -> None:
    with client(rabbitmq_url) as other, closing(other.bus.listener("scheduler")) as listener:
        for _ in range(10_000):
            rabbit.bus.notify("scheduler")
        assert listener.wait(LONG)


# Connections that seem to be there


def test_a_wire_that_goes_dead_ends_a_publish_and_heals(rabbitmq_url: str) -> None:
    with wire(rabbitmq_url) as (line, url), client(url) as rabbit:
        confirmed: list[str] = []
        line.go_dead()
        with pytest.raises(MessagingUnavailable, match="no confirm within 3 s"):
            publish_to(rabbit, ["q"], confirmed)
        assert rabbit.store.facts.get("written") == "yes"
        assert confirmed == []
        with pytest.raises(MessagingUnavailable):
            rabbit.bus.depths()
        line.revive()
        rabbit.insist(TWO)


def test_a_wire_that_is_cut_is_mended(rabbitmq_url: str) -> None:
    with (
        wire(rabbitmq_url) as (line, url),
        client(url) as rabbit,
        closing(rabbit.bus.consumer("q")) as consumer,
        closing(rabbit.bus.listener("scheduler")) as listener,
        client(rabbitmq_url) as other,
    ):
        for message in (ONE, TWO, THREE):
            other.publish(message)
            rabbit.until(consumer, message)  # one whose ack was lost comes again
            line.cut()
            assert listener.wait(LONG), "something may have been missed"
            other.bus.notify("scheduler")
            assert listener.wait(LONG)


class Deafening:
    """Drops all messages from the broker, and lets everything else through."""

    DELIVER = b"\x00\x3c\x00\x3c"

    def __init__(self) -> None:
        self.is_on = threading.Event()
        self._rest = b""
        self._dropping: set[bytes] = set()

    def __call__(self, some: bytes) -> bytes:
        self._rest += some
        passed = b""
        while len(self._rest) >= 8:
            end = 8 + int.from_bytes(self._rest[3:7], "big")
            if len(self._rest) < end:
                break
            frame, self._rest = self._rest[:end], self._rest[end:]
            if not self._is_dropped(frame):
                passed += frame
        return passed

    def _is_dropped(self, frame: bytes) -> bool:
        kind, channel = frame[0], frame[1:3]
        if kind == 1:
            self._dropping.discard(channel)
            if frame[7:11] == self.DELIVER and self.is_on.is_set():
                self._dropping.add(channel)
        return kind != 8 and channel in self._dropping


def test_who_is_deaf_connects_anew(
    rabbitmq_url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The channel is open, the heart beats, and nothing ever comes: the watch finds out."""
    monkeypatch.setattr(receiver, "STALL_CHECK_SECONDS", 0.2)
    monkeypatch.setattr(receiver, "STALL_CONFIRM_SECONDS", 0.1)
    filters: list[Deafening] = []

    def deafening() -> Deafening:
        filters.append(Deafening())
        return filters[-1]

    with (
        wire(rabbitmq_url, deafening) as (_, url),
        client(url) as rabbit,
        closing(rabbit.bus.consumer("q")) as consumer,
        client(rabbitmq_url) as other,
    ):
        assert rabbit.take_once(consumer, 1) == []
        for present in filters:
            present.is_on.set()
        messages = [UnitMessage("u", n) for n in range(5)]
        other.publish(*messages)
        assert rabbit.take(consumer, 2) == messages[:2]
    assert "which is not empty" in caplog.text


def test_events_arrive_whole(rabbit: Client) -> None:
    events = EventsMessage([{"number": n, "text": "x" * 200} for n in range(5_000)])
    rabbit.publish(events)
    with closing(rabbit.bus.consumer("q")) as consumer:
        assert rabbit.take(consumer, 1) == [events]


def test_a_vhost_may_make_quorum_queues_of_all_that_last(rabbitmq: Broker) -> None:
    if rabbitmq.node is None:
        pytest.skip("a vhost can be made on a server of our own alone")
    name = f"quorum-{uuid4().hex[:8]}"
    rabbitmq.node.ctl("add_vhost", name, "--default-queue-type", "quorum")
    rabbitmq.node.ctl("set_permissions", "-p", name, "guest", ".*", ".*", ".*")
    url = rabbitmq.at(name)
    try:
        with (
            client(url) as rabbit,
            client(url) as other,
            closing(rabbit.bus.consumer("q")) as consumer,
            closing(rabbit.bus.listener("scheduler")) as listener,
        ):
            rabbit.bus.declare(["q"])
            messages = [UnitMessage("u", n) for n in range(100)]
            other.publish(*messages)
            taken = rabbit.take(consumer, len(messages))  # what was given back is last in line
            assert sorted(taken, key=lambda message: message.attempt) == messages
            other.bus.notify("scheduler")
            assert listener.wait(LONG)
            with closing(servers.connect(url)) as connection:
                declare = connection.channel().queue_declare
                with pytest.raises(ChannelClosedByBroker, match="'quorum'"):
                    declare("synergy.q", durable=True, arguments={"x-queue-type": "classic"})
    finally:
        rabbitmq.node.ctl("delete_vhost", name)
