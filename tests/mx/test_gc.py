"""The garbage collector by REST."""

from __future__ import annotations

import pytest

from tests.deployments import site_and_client

AT = "/api/v1/gc"


@pytest.fixture
def world(worlds):
    """A world whose units are requested and whose messages are lost."""
    world = worlds(site_and_client(source=None))
    world.schedule()
    for queue in list(world.bus.depths()):
        world.bus.purge(queue)
    return world


def test_the_collector_shows_its_leader_and_unfinished_units(client):
    seen = client.get(AT).json()
    assert seen["is_led"] is True
    assert seen["units"]["Sitehourly"] == {"requested": 8}  # max_active
    assert seen["runs"] == []


def test_a_requested_run_says_what_it_will_do(world, client):
    world.clock.advance(100)  # what was said lately is not said again
    body = {"flush": True, "reason": "lost messages"}
    answer = client.post(f"{AT}/run", json=body).json()
    assert (answer["dry_run"], answer["count"]) == (False, 14)  # 8 hours, and 3 days of each tree
    assert {one["verdict"] for one in answer["touched"]} == {"publish"}
    entry = world.store.journal.find(limit=1)[0]
    assert (entry.event, entry.why, entry.who) == ("gc.flush", "lost messages", "local (mx)")
    world.schedule()
    assert sum(world.bus.depths().values()) == 14
    (run,) = client.get(AT).json()["runs"]
    assert (run["event"], run["why"]) == ("gc.run", "publish 14")


def test_a_run_may_be_for_one_process(client):
    body = {"process": "Sitehourly", "flush": True}
    touched = client.post(f"{AT}/run", json=body).json()["touched"]
    assert {one["process"] for one in touched} == {"Sitehourly"}


def test_a_dry_run_changes_nothing(world, client):
    before = world.store.journal.last_seq()
    answer = client.post(f"{AT}/run", json={"flush": True, "dry_run": True})
    assert answer.json()["count"] > 8
    assert world.store.journal.last_seq() == before


def test_without_a_scheduler_only_a_dry_run_is_accepted(world, client):
    for lease in world.store.leases.all(""):
        world.store.leases.release(lease)
    assert client.get(AT).json()["is_led"] is False
    assert client.post(f"{AT}/run", json={}).status_code == 503
    assert client.post(f"{AT}/run", json={"dry_run": True}).status_code == 200


def test_a_process_without_units_is_refused(client):
    for body in ({"process": "Nobody"}, {"process": "Nobody", "dry_run": True}):
        assert client.post(f"{AT}/run", json=body).status_code == 404
