"""MX over a deployment in memory: a world moved by hand, and a client of its web application."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from synergy.mx.app import create_app
from synergy.mx.services import Services
from tests.deployments import site_and_client
from tests.mx.asking import Client
from tests.mx.house import HERE, House
from tests.service.scheduler_harness import SchedulerHarness, close_systems

BASE = "http://localhost:5000"


@pytest.fixture
def worlds() -> Iterator[Callable[..., SchedulerHarness]]:
    """Makes worlds that are closed after the test."""
    yield SchedulerHarness
    close_systems()


@pytest.fixture
def world(worlds: Callable[..., SchedulerHarness]) -> SchedulerHarness:
    """A world of the deployment that most tests use."""
    return worlds(site_and_client())


def client_of(world: SchedulerHarness) -> Client:
    """A client of MX over a world, on this machine."""
    place = replace(world.workplace("", "mx"), deployment=world.deployment)
    return Client(create_app(Services.at(place)), HERE, base_url=BASE)


@pytest.fixture
def client(world: SchedulerHarness) -> Client:
    return client_of(world)


@pytest.fixture
def house(world: SchedulerHarness, tmp_path: Path) -> House:
    """MX with users."""
    return House(world, tmp_path)
