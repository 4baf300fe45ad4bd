"""The cost of waiting: few runs are evaluated, however many wait."""

from __future__ import annotations

import random
from datetime import timedelta

import pytest

from synergy.agent.deciding.wait_queues import WaitQueues, position_of
from synergy.delivery.request import sent
from synergy.model.schedule import Run, RunState
from tests.service.agent_harness import NOW, once, work
from tests.service.constraint_kit import WAITS, launched


def test_a_free_slot_costs_few_evaluations_however_many_runs_wait(factory, monkeypatch):
    from synergy.agent.deciding import pending_runs

    looked: list[str] = []
    judge = pending_runs.judge
    monkeypatch.setattr(
        pending_runs,
        "judge",
        lambda d, run, facts, now: looked.append(run.id) or judge(d, run, facts, now),
    )
    for number in range(200):
        once(factory, f"s{number:03}", process="Export", constraints=[WAITS])
    member = factory.member()
    member.rest()
    for _ in range(10):
        looked.clear()
        work(factory, "Export")
        member.rest()
        assert len(looked) <= 4
    assert len(launched(factory)) == 1
    assert factory.states()[RunState.PROCESSED] == 10


def a_run(number: int, dice: random.Random) -> Run:
    return Run(
        id=f"r{number}", schedule="s", key=f"k{number}", due_at=NOW, version=1,
        state=RunState.PENDING_CONSTRAINT, program="P", priority=dice.randrange(3),
        created_at=NOW + timedelta(seconds=dice.randrange(5)),
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(30))
def test_a_dirty_queue_launches_in_order_and_leaves_no_run_that_may_start(seed):
    """Compares the queues with a direct count of the free slots of each key."""
    dice = random.Random(seed)
    queues = WaitQueues()
    free = dict.fromkeys(("x", "y"), 0)
    waiting: dict[str, tuple[Run, frozenset[str]]] = {}
    for step in range(200):
        if dice.random() < 0.5:
            run = a_run(step, dice)
            keys = frozenset(dice.sample(["x", "y"], dice.randrange(1, 3)))
            waiting[run.id] = (run, keys)
            queues.add(run)
        else:
            key = dice.choice(["x", "y"])
            free[key] += 1
            queues.mark_dirty([key])
        launched_now = []
        for id_ in queues.to_evaluate():
            run, keys = waiting[id_]
            if all(free[key] for key in keys):
                for key in keys:
                    free[key] -= 1
                queues.remove(id_)
                launched_now.append(position_of(run))
                del waiting[id_]
            else:
                queues.enqueue(run, keys, keys, None)
        assert queues.is_clean
        assert launched_now == sorted(launched_now)
        for run, keys in waiting.values():
            assert not all(free[key] for key in keys), f"{run.id} could have been launched"
        assert len(queues) == len(waiting)


def test_a_delayed_run_is_sent_when_its_delay_ends(agents):
    once(agents, "delayed", constraints=[{"delay": "1h"}])
    member = agents.member(receiver=lambda _: sent())
    member.rest()
    assert 0 < member.rest() <= 4
    agents.clock.advance(3600 - 4)
    member.rest()
    assert member.rest() <= 4
    agents.clock.advance(4)
    member.rest()
    assert agents.states() == {RunState.PROCESSED: 1}
