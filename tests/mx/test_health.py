"""Health: liveness and readiness, also while a check hangs."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from synergy.errors import MessagingUnavailable, StorageUnavailable
from synergy.model.process import DaemonProcess
from synergy.mx.app import THREADS
from synergy.queries.health.readiness import Health, LeaseWatch, Probe
from synergy.queries.reads import Reads
from synergy.runtime.leadership import WAIT_SECONDS
from synergy.runtime.shared_parts import DECIDER
from tests.deployments import site_and_client

SITE = {"scheduler/tree/site": "tree site"}


def wrong(answer):
    """The details of failed checks by name."""
    return {one["name"]: one["detail"] for one in answer.json()["checks"] if not one["ok"]}


@pytest.mark.parametrize("path", ["/livez", "/healthz", "/api/v1/livez", "/api/v1/healthz"])
def test_mx_is_alive_without_store_and_scheduler(client, path):
    answer = client.get(path)
    assert (answer.status_code, answer.json()) == (200, {"alive": True})


@pytest.mark.parametrize("path", ["/readyz", "/api/v1/readyz"])
def test_mx_is_ready_while_a_scheduler_works(world, client, path):
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


def test_without_a_scheduler_mx_is_not_ready(client):
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert wrong(answer) == {
        "scheduler": "tree site has no leader; tree client has no leader",
        "collector": "the collector has no leader",
    }


def test_a_stalled_scheduler_is_noticed_when_its_lease_ends(world, client):
    world.schedule()
    assert client.get("/readyz").status_code == 200
    world.clock.advance(WAIT_SECONDS - 1)  # no scheduler renews the lease
    assert client.get("/readyz").status_code == 200
    world.clock.advance(1)
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert wrong(answer)["scheduler"].startswith("tree site has had no sign of its leader for 18 s")


def test_a_scheduler_that_renews_its_lease_is_well(world, client):
    world.schedule()
    client.get("/readyz")
    for _ in range(10):
        world.advance(WAIT_SECONDS / 2)
        assert client.get("/readyz").status_code == 200


def test_a_lease_does_not_end_because_the_store_was_unavailable(world, monkeypatch):
    world.schedule()
    watch = LeaseWatch(world.store, world.clock)
    assert watch.look(SITE) == ""

    def away(*_):
        raise StorageUnavailable("away")

    with monkeypatch.context() as patch:
        patch.setattr(type(world.store.leases), "read", away)
        with pytest.raises(StorageUnavailable):
            watch.look(SITE)
        world.clock.advance(WAIT_SECONDS)
    assert watch.look(SITE) == ""
    world.clock.advance(WAIT_SECONDS)
    assert watch.look(SITE) == f"tree site has had no sign of its leader for {WAIT_SECONDS:.0f} s"


def test_a_released_lease_has_no_leader(world):
    watch, leases = LeaseWatch(world.store, world.clock), world.store.leases
    assert watch.look(SITE) == "tree site has no leader"
    lease = leases.take(None, "scheduler/tree/site", "a scheduler on another box")
    assert watch.look(SITE) == ""
    leases.release(lease)
    assert watch.look(SITE) == "tree site has no leader"


@pytest.mark.parametrize("is_on", [True, False])
def test_without_a_deciding_agent_mx_is_not_ready_if_an_agent_is_declared_and_on(worlds, is_on):
    agent = DaemonProcess(
        name="Agent", classname="synergy.agent.agent.Agent.start", token="agent",
        present_on_boxes=(".*",), is_on=is_on,
    )  # fmt: skip
    deployment = site_and_client()
    world = worlds(replace(deployment, processes={**deployment.processes, "Agent": agent}))
    asked = Health(world.store, world.bus, world.deployment, world.clock)

    def detail():
        return {check.name: check.detail for check in asked.look().checks}["agent"]

    no_leader = "deciding about schedules has no leader"
    assert detail() == (no_leader if is_on else "")
    world.store.controls.set_on("Agent", is_on=True, who="ann", why="", now=world.clock.now())
    assert detail() == no_leader
    world.store.leases.take(None, DECIDER, "an agent")
    assert detail() == ""


def test_an_unavailable_store_or_bus_is_named_without_its_address(world, client, monkeypatch):
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
    """A check that ends when it is released."""

    def __init__(self):
        self.asked = 0
        self.going_on = threading.Event()

    def __call__(self):
        self.asked += 1
        self.going_on.wait(10)
        return {"store": ""}


def test_a_hanging_check_fails_and_is_not_repeated_meanwhile(world):
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


def test_hanging_checks_share_one_deadline(world, monkeypatch):
    patience = []

    def answered(_, seconds):
        patience.append(seconds)
        world.clock.advance(0.75)
        return []

    monkeypatch.setattr(Probe, "answer", answered)
    Health(world.store, world.bus, world.deployment, world.clock).look()
    assert patience == [2, 1.25, 0.5]


def test_health_responds_while_all_threads_wait_for_the_store(world, client, monkeypatch):
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


def test_an_unexpected_error_fails_the_check(world):
    def odd():
        raise ValueError("secret")

    probe = Probe(["store", "bus"], odd, world.clock)
    probe.begin()
    assert [(check.ok, check.detail) for check in probe.answer(10)] == [
        (False, "failed: ValueError")
    ] * 2
