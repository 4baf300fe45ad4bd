"""Runs the tests of the engine over each of its servers."""

from __future__ import annotations

import pytest

from tests.contract.engines import SERVERS
from tests.servers.mongodb import Server


@pytest.fixture(scope="session", params=SERVERS)
def mongodb(request: pytest.FixtureRequest) -> Server:
    """Each of the servers."""
    server: Server = request.getfixturevalue(request.param)
    return server
