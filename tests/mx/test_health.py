"""Health: alive, and whether all is well that work needs, whatever hangs."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from synergy.errors import MessagingUnavailable, StorageUnavailable
from synergy.model.process import DaemonProcess
from synergy.mx.app import THREADS
from synergy.queries.health.readiness import Health, LeaseWatch, Probe
from synergy.queries.reads import Reads
from synergy.runtime.leaders import DECIDER
from synergy.runtime.leadership import WAIT
from tests.deployments import site_and_client

SITE = {"scheduler/tree/site": "tree site"}


def wrong(answer):
    """What is not well, by check."""
    return {one["name"]: one["detail"] for one in answer.json()["checks"] if not one["ok"]}


@pytest.mark.parametrize("path", ["/livez", "/healthz", "/api/v1/livez", "/api/v1/healthz"])
def test_mx_is_alive_whatever_else_is_not(client, path):
    answer = client.get(path)
    assert (answer.status_code, answer.json()) == (200, {"alive": True})


@pytest.mark.parametrize("path", ["/readyz", "/api/v1/readyz"])
def test_all_is_well_while_a_scheduler_is_at_work(world, client, path):
    world.schedule()
    answer = client.get(path)
    assert answer.status_code == 200
    assert answer.json() == {
        "ready": True,
        "checks": [
            {"name": name, "ok": True, "detail": ""}
            for name in ("store", "bus", "scheduler", "collector")
        ],
    }


def test_without_a_scheduler_nothing_is_ready_and_it_is_said_why(client):
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert wrong(answer) == {
        "scheduler": "tree site is led by nobody; tree client is led by nobody",
        "collector": "the collector is led by nobody",
    }


def test_a_scheduler_that_stands_still_shows_when_its_lease_is_over(world, client):
    world.schedule()
    assert client.get("/readyz").status_code == 200
    world.clock.advance(WAIT - 1)  # nobody renews meanwhile
    assert client.get("/readyz").status_code == 200
    world.clock.advance(1)
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert wrong(answer)["scheduler"].startswith("tree site has had no sign of its leader for 18 s")


def test_a_scheduler_that_renews_is_well_for_as_long_as_it_does(world, client):
    world.schedule()
    client.get("/readyz")
    for _ in range(10):
        world.advance(WAIT / 2)
        assert client.get("/readyz").status_code == 200


def test_who_could_not_renew_while_the_store_was_away_is_well(world, monkeypatch):
    world.schedule()
    watch = LeaseWatch(world.store, world.clock)
    assert watch.look(SITE) == ""

    def away(*_):
        raise StorageUnavailable("away")

    with monkeypatch.context() as patch:
        patch.setattr(type(world.store.leases), "read", away)
        with pytest.raises(StorageUnavailable):
            watch.look(SITE)
        world.clock.advance(WAIT)
    assert watch.look(SITE) == ""
    world.clock.advance(WAIT)
    assert watch.look(SITE) == f"tree site has had no sign of its leader for {WAIT:.0f} s"


def test_a_lease_that_was_given_up_or_whose_holder_is_gone_is_nobodys(world):
    watch, leases = LeaseWatch(world.store, world.clock), world.store.leases
    assert watch.look(SITE) == "tree site is led by nobody"
    lease = leases.take(None, "scheduler/tree/site", "a scheduler on another box")
    assert watch.look(SITE) == ""
    leases.release(lease)
    assert watch.look(SITE) == "tree site is led by nobody"


def test_where_agents_are_declared_one_has_to_decide(worlds):
    agent = DaemonProcess(
        name="Agent", classname="synergy.agent.agent.Agent.start", token="agent",
        present_on_boxes=(".*",),
    )  # fmt: skip
    deployment = site_and_client()
    world = worlds(replace(deployment, processes={**deployment.processes, "Agent": agent}))
    asked = Health(world.store, world.bus, world.deployment, world.clock)
    found = {check.name: check.detail for check in asked.look().checks}
    assert found["agent"] == "deciding about schedules is led by nobody"
    world.store.leases.take(None, DECIDER, "an agent")
    assert {check.name: check.ok for check in asked.look().checks}["agent"]


def test_whoever_switched_agents_off_is_not_told_that_none_decides(worlds):
    agent = DaemonProcess(
        name="Agent", classname="synergy.agent.agent.Agent.start", token="agent",
        present_on_boxes=(".*",), is_on=False,
    )  # fmt: skip
    deployment = site_and_client()
    world = worlds(replace(deployment, processes={**deployment.processes, "Agent": agent}))
    asked = Health(world.store, world.bus, world.deployment, world.clock)
    assert {check.name: check.ok for check in asked.look().checks}["agent"]
    world.store.controls.set_on("Agent", is_on=True, who="ann", why="", now=world.clock.now())
    assert not {check.name: check.ok for check in asked.look().checks}["agent"]


def test_a_store_or_bus_that_does_not_answer_is_named_and_nothing_of_where_it_is(
    world, client, monkeypatch
):
    world.schedule()

    def no_store(*_):
        raise StorageUnavailable("mongodb://ann:secret@db does not answer")

    def no_bus(*_):
        raise MessagingUnavailable("the broker is away")

    with monkeypatch.context() as patch:
        patch.setattr(type(world.store.journal), "last_seq", no_store)
        patch.setattr(type(world.bus), "depths", no_bus)
        answer = client.get("/readyz")
    assert wrong(answer) == {
        "store": "the store does not answer; the log of MX says more",
        "bus": "the bus does not answer; the log of MX says more",
    }
    assert client.get("/readyz").status_code == 200


class Hanging:
    """A question that is answered when it is let go on."""

    def __init__(self):
        self.asked = 0
        self.going_on = threading.Event()

    def __call__(self):
        self.asked += 1
        self.going_on.wait(10)
        return {"store": ""}


def test_what_hangs_is_not_well_and_is_not_asked_again_meanwhile(world):
    hanging = Hanging()
    probe = Probe(["store"], hanging, world.clock)
    for waited in (0, 5):
        probe.begin()
        (check,) = probe.answer(0.01)
        assert (check.ok, check.detail) == (False, f"has not answered for {waited} s")
        world.clock.advance(5)
    assert hanging.asked == 1
    hanging.going_on.set()
    (check,) = probe.answer(10)
    assert check.ok
    probe.begin()
    probe.answer(10)
    assert hanging.asked == 2


def test_a_store_that_hangs_gives_an_answer_and_no_hang(world, monkeypatch):
    world.schedule()
    going_on = threading.Event()
    monkeypatch.setattr(type(world.store.journal), "last_seq", lambda _: going_on.wait(10))
    asked = Health(world.store, world.bus, world.deployment, world.clock, deadline=0.01)
    found = {check.name: check.ok for check in asked.look().checks}
    going_on.set()
    assert found["store"] is False


def test_all_that_hangs_is_waited_for_together(world, monkeypatch):
    patience = []

    def answered(_, seconds):
        patience.append(seconds)
        world.clock.advance(0.75)
        return []

    monkeypatch.setattr(Probe, "answer", answered)
    Health(world.store, world.bus, world.deployment, world.clock).look()
    assert patience == [2, 1.25, 0.5]


def test_health_is_told_while_all_threads_wait_for_the_store(world, client, monkeypatch):
    world.schedule()
    going_on, waiting = threading.Event(), threading.Semaphore(0)

    def hangs(_):
        waiting.release()
        going_on.wait(30)
        return []

    monkeypatch.setattr(Reads, "progress", hangs)
    answered = []
    askers = [
        threading.Thread(target=lambda: answered.append(client.get("/api/v1/trees")))
        for _ in range(THREADS)
    ]
    for asker in askers:
        asker.start()
    for _ in askers:
        assert waiting.acquire(timeout=30)
    health = [client.get(path).status_code for path in ("/livez", "/readyz")]
    before = list(answered)
    going_on.set()
    for asker in askers:
        asker.join(120)
    assert (health, before, len(answered)) == ([200, 200], [], THREADS)


def test_a_check_that_fails_oddly_is_not_well(world):
    def odd():
        raise ValueError("secret")

    probe = Probe(["store", "bus"], odd, world.clock)
    probe.begin()
    assert [(check.ok, check.detail) for check in probe.answer(10)] == [
        (False, "failed: ValueError")
    ] * 2
