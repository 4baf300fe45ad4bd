"""Malformed rows of any kind: everything goes on without them, and they are counted.

The rows are chosen at random. `SYNERGY_TEST_SEEDS` sets the number of rounds.
"""

from __future__ import annotations

from random import Random

import pytest

from synergy.commands.row_check import check_rows
from synergy.queries.malformed_rows import malformed_rows
from synergy.queries.reads import Reads
from tests.contract.mongomock_engine import mongomock_store
from tests.malformed_rows import spoiled
from tests.mx.asking import Client
from tests.mx.conftest import client_of
from tests.mx.populated import a_populated_deployment, populate
from tests.seeds import seeds
from tests.service.scheduler_harness import SchedulerHarness

ROUNDS = 30
LISTS = """verdict trees jobs units runs schedules events journal boxes processes queues queues/dead
    operations gc audit"""
PAGES = "units runs schedules events journal boxes processes queues audit metrics"
PATHS = ["/", *(f"/{name}" for name in PAGES.split())]
PATHS += [f"/api/v1/{name}" for name in LISTS.split()]


@pytest.fixture(scope="module", params=["sqlite", "mongomock"])
def filled(request, tmp_path_factory) -> tuple[SchedulerHarness, Client]:
    """A system with rows of every kind, and a client of its MX."""
    store = mongomock_store() if request.param == "mongomock" else None
    world = SchedulerHarness(a_populated_deployment(), store=store)
    populate(world, tmp_path_factory.mktemp("home"))
    return world, client_of(world)


@pytest.mark.parametrize("seed", seeds(ROUNDS))
def test_everything_goes_on_without_a_malformed_row(filled, seed: int) -> None:
    world, client = filled
    with spoiled(world.store, Random(seed)) as done:
        for path in PATHS:
            answer = client.get(path)
            assert answer.status_code < 500, (done, path, answer.text[:500])
        world.schedule()
        while not check_rows(world.store):
            pass
        found = Reads(world.store, world.bus, world.deployment, world.clock).verdict()
        assert found.is_well is not True, done
        kinds = {finding.kind.value: finding.count for finding in found.findings}
        assert kinds.get("malformed"), (done, found.findings)
    assert malformed_rows(world.store) == (), done
