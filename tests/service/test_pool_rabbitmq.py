"""A pool over RabbitMQ: woken by the broker, it holds no message while it is at work."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from synergy.messaging.amqp import Address
from synergy.messaging.rabbitmq import RabbitBus
from synergy.model.unit_of_work import UnitState
from synergy.names import POOL_TOPIC
from synergy.worker.task import Task
from tests.service.free_runs import unit
from tests.service.pools import Members, a_pooled_system, launched, pooled, states
from tests.service.scheduler_harness import SchedulerHarness

WAIT_SECONDS = 30.0  # a bound: no passing test waits that long
NAMES = ["q", "other", "pooled"]  # the queues that the fixture empties


@pytest.fixture
def system(rabbitmq_url: str) -> Iterator[SchedulerHarness]:
    made = a_pooled_system(*map(pooled, NAMES))
    made.bus.close()
    with closing(RabbitBus(Address.parse(rabbitmq_url), made.store, pooled=NAMES)) as made.bus:
        made.bus.declare(NAMES)
        yield made


def test_a_member_is_woken_and_carries_out_units_of_all_queues(system: SchedulerHarness) -> None:
    members = Members(system)
    with closing(system.bus.listener(POOL_TOPIC)) as waiter, members.member() as member:
        assert not member.round()
        runs = [run for name in NAMES for run in launched(system, name, 3)]
        assert waiter.wait(WAIT_SECONDS)
        while member.round():
            pass
    assert set(states(system, *runs)) == {UnitState.PROCESSED}
    assert system.bus.depths(NAMES) == {}


def test_a_member_at_work_holds_no_message(system: SchedulerHarness) -> None:
    found: list[int] = []

    def act(task: Task) -> None:
        if not found:
            launched(system, "other", 2)
            found.extend(system.bus.depths(NAMES).values())
            with members.member("member-2") as other:
                while other.round():
                    pass

    members = Members(system, act)
    (first,) = launched(system, "q")
    with members.member() as member:
        assert member.round()
    assert found == [2]
    assert members.order == ["q", "other", "other"]
    assert unit(system, first).state is UnitState.PROCESSED
