"""The permissions that docs/operations.md gives to users suffice, and reach nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from uuid import uuid4

import pika
import pytest
from pika.exceptions import ChannelClosedByBroker

from synergy.errors import ConfigurationError
from tests.contract.rabbitmq.kit import (
    ONE,
    THREE,
    TWO,
    WAIT_SECONDS,
    Client,
    client,
    undeclared,
    until_it_fails,
    with_user,
)
from tests.servers.rabbitmq import Broker, connect

OF_DEPLOYMENT = ("^synergy[.]", "^synergy[.]", "^synergy[.]")
OF_BOX = ("^synergy[.]bells[.]", "^synergy[.](work$|bells)", "^synergy[.]")
DOC = (Path(__file__).resolve().parents[3] / "docs" / "operations.md").read_text(encoding="utf-8")


@pytest.fixture(params=[OF_DEPLOYMENT, OF_BOX, None], ids=["deployment", "box", "none"])
def permissions(request: pytest.FixtureRequest) -> tuple[str, str, str] | None:
    """The patterns of configuring, writing and reading."""
    given: tuple[str, str, str] | None = request.param
    return given


@pytest.fixture
def user(rabbitmq: Broker, permissions: tuple[str, str, str] | None) -> Iterator[str]:
    """The URL of a user with these permissions."""
    if rabbitmq.node is None:
        pytest.skip("permissions can be set only on a server that the tests started")
    name = f"user-{uuid4().hex[:8]}"
    rabbitmq.node.add_user(name, "secret-word")
    if permissions is not None:
        rabbitmq.node.allow(name, *permissions)
    yield with_user(rabbitmq.url, name, "secret-word")
    rabbitmq.node.delete_user(name)


def by(*permissions: tuple[str, str, str] | None) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("permissions", permissions, indirect=True)


@pytest.fixture
def foreign(rabbitmq_url: str) -> Iterator[str]:
    """A queue and an exchange of the same name that belong to others."""
    name = f"foreign.{uuid4().hex[:8]}"
    with closing(connect(rabbitmq_url)) as connection:
        channel = connection.channel()
        channel.queue_declare(name)
        channel.exchange_declare(name)
        channel.basic_publish("", name, b"theirs")
        yield name
        assert channel.queue_delete(name).method.message_count == 1, "their message is lost"
        channel.exchange_delete(name)


def test_the_documentation_names_these_permissions() -> None:
    text = " ".join(DOC.split())
    for patterns in (OF_DEPLOYMENT, OF_BOX):
        assert " ".join(f"'{pattern}'" for pattern in patterns) in text


@by(OF_DEPLOYMENT)
def test_the_user_of_a_deployment_declares_queues(user: str) -> None:
    name = f"new-{uuid4().hex[:8]}"
    with undeclared(user) as rabbit:
        rabbit.bus.declare([name])
        rabbit.publish(ONE, queue=name)
        assert rabbit.bus.depths([name]) == {name: 1}
        assert rabbit.bus.purge(name) == 1


@by(OF_DEPLOYMENT, OF_BOX)
def test_the_permissions_suffice_for_work(user: str, rabbit: Client) -> None:
    rabbit.publish(ONE)
    with (
        client(user) as other,
        closing(other.bus.consumer("q")) as consumer,
        closing(other.bus.listener("topic")) as listener,
        closing(rabbit.bus.listener("other topic")) as heard,
    ):
        assert other.take(consumer, 1) == [ONE]
        other.publish(TWO)
        assert other.bus.depths() == {"q": 1}
        assert other.bus.purge("q") == 1
        rabbit.bus.notify("topic")
        assert listener.wait(WAIT_SECONDS)
        other.bus.notify("other topic")
        assert heard.wait(WAIT_SECONDS)


ACTS = {
    "declare a queue": lambda channel, name: channel.queue_declare(f"{name}.more"),
    "declare an exchange": lambda channel, name: channel.exchange_declare(f"{name}.more"),
    "delete their queue": lambda channel, name: channel.queue_delete(name),
    "delete their exchange": lambda channel, name: channel.exchange_delete(name),
    "purge their queue": lambda channel, name: channel.queue_purge(name),
    "read their queue": lambda channel, name: channel.basic_get(name),
    "bind their queue": lambda channel, name: channel.queue_bind(name, "synergy.work", "q"),
    "publish to their exchange": lambda channel, name: channel.basic_publish(name, "", b"ours"),
    "publish to their queue": lambda channel, name: channel.basic_publish("", name, b"ours"),
}


@by(OF_DEPLOYMENT, OF_BOX)
@pytest.mark.parametrize("act", ACTS)
def test_what_belongs_to_others_cannot_be_touched(user: str, foreign: str, act: str) -> None:
    refuse(user, act, foreign)


def refuse(url: str, act: str, name: str) -> None:
    """Asserts that the broker refuses an act."""
    with closing(connect(url)) as connection:
        channel = connection.channel()
        channel.confirm_delivery()
        with pytest.raises(ChannelClosedByBroker, match="ACCESS_REFUSED"):
            ACTS[act](channel, name)


@by(OF_BOX)
@pytest.mark.parametrize("act", ["delete their queue", "delete their exchange"])
def test_a_box_deletes_nothing_of_the_deployment(user: str, rabbit: Client, act: str) -> None:
    refuse(user, act, "synergy.q" if act == "delete their queue" else "synergy.work")


@by(OF_BOX)
def test_a_missing_permission_to_declare_is_explained(user: str, rabbit: Client) -> None:
    with undeclared(user) as other, pytest.raises(ConfigurationError) as raised:
        other.bus.declare(["q", "other"])
    assert "there is no queue synergy.other" in str(raised.value)
    assert "run launch.py store init" in str(raised.value)
    assert "secret" not in str(raised.value)


@by(None)
def test_a_user_without_permissions_is_told_which_are_looked_at(user: str) -> None:
    with undeclared(user) as other, pytest.raises(ConfigurationError) as raised:
        other.bus.declare(["q"])
    name = pika.URLParameters(user).credentials.username
    assert f"rabbitmqctl list_user_permissions {name}" in str(raised.value)
    assert "secret" not in str(raised.value)


@by(OF_BOX)
def test_publishing_resumes_once_a_revoked_permission_is_granted_again(
    rabbitmq: Broker, user: str, rabbit: Client
) -> None:
    assert rabbitmq.node is not None
    name = pika.URLParameters(user).credentials.username
    configure, _, read = OF_BOX
    with client(user) as other:
        other.publish(ONE)
        rabbitmq.node.allow(name, configure, "^$", read)
        rabbitmq.node.close_connections()  # open connections cache permissions
        until_it_fails(lambda: other.publish(TWO), "ACCESS_REFUSED")
        rabbitmq.node.allow(name, *OF_BOX)
        other.publish_with_retries(THREE)
    assert rabbit.bus.depths()["q"] >= 2
