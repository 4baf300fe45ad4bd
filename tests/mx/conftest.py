"""MX over a deployment in memory: a scheduler harness, and a client of its web application."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from fastapi import Request

from synergy.mx.access import Operator, Viewer
from synergy.mx.services import Services
from synergy.runtime.stop import Stop
from synergy.runtime.workplace import Workplace
from tests.deployments import site_and_client
from tests.mx.asking import Client, local_app
from tests.mx.secured_mx import HERE, SecuredMx
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
    return Client(local_app(Services.at(place)), HERE, base_url=BASE)


@pytest.fixture
def client(world: SchedulerHarness) -> Client:
    return client_of(world)


@pytest.fixture
def secured(world: SchedulerHarness, tmp_path: Path) -> SecuredMx:
    """MX with users."""
    return SecuredMx(world, tmp_path)


async def size(request: Request, _: Operator) -> dict[str, int]:
    """Returns the length of the body."""
    return {"size": len(await request.body())}


def looked_at(_: Viewer, a: str = "") -> str:
    """Returns a long response; `a` is not looked at."""
    return "x" * 5000


@pytest.fixture
def echo_routes(secured: SecuredMx, client: Client) -> None:
    """Adds routes that return what reached them."""
    for app in (secured.app, client.app):
        for path in ("/api/v1/size", "/api/v1/schedules/a/size"):
            app.add_api_route(path, size, methods=["POST", "PUT"])
        app.add_api_route("/api/v1/long", looked_at)
        app.add_api_route("/api/v1/long", size, methods=["POST"])


@pytest.fixture
def place(world: SchedulerHarness, tmp_path: Path) -> Workplace:
    """A workplace of MX without users, at a free port."""
    place = replace(world.workplace("", "mx"), deployment=world.deployment, home=tmp_path)
    return replace(place, mx_address=("127.0.0.1", 0), stop=Stop())


@pytest.fixture
def secured_place(secured: SecuredMx, place: Workplace) -> Workplace:
    """A workplace of MX with the users of `secured`, at a free port."""
    return replace(place, mx_users_file=secured.file)
