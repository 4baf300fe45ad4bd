"""Fixtures: a client of the bus, and a channel for direct access to the broker."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pika
import pytest

from tests.contract.rabbitmq.kit import (
    Client,
    client,
)
from tests.servers import rabbitmq as servers


@pytest.fixture
def rabbit(rabbitmq_url: str) -> Iterator[Client]:
    with client(rabbitmq_url) as rabbit:
        yield rabbit


@pytest.fixture
def channel(rabbitmq_url: str) -> Iterator[pika.adapters.blocking_connection.BlockingChannel]:
    """A channel beside the bus, as an operator would open it."""
    with closing(servers.connect(rabbitmq_url)) as connection:
        yield connection.channel()
