"""Runs the tests of the engine over each of its servers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.contract.engines import SERVERS, case
from tests.servers.mongodb import Server


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "mongodb_url" in metafunc.fixturenames:
        servers = [case(name, metafunc.function) for name in SERVERS]
        metafunc.parametrize("mongodb_url", servers, indirect=True)


@pytest.fixture
def mongodb_url(request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of a database of the test's own, on each of the servers."""
    server: Server = request.getfixturevalue(request.param)
    with server.fresh_database() as url:
        yield url
