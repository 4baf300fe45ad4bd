"""`coalesce`: an event that arrives while a run waits joins that run."""

from __future__ import annotations

import pytest

from synergy.agent.deciding import schedules
from synergy.agent.deciding.joining import waiting_run
from synergy.model.schedule import RunState
from tests.service.agent_harness import NOW, OPERATOR, work

DELAYED = {"process": "Export", "constraints": [{"delay": "1h"}]}
PENDING, LAUNCHED = RunState.PENDING_CONSTRAINT, RunState.LAUNCHED


def partition(agents, id_):
    agents.event("PARTITION", "visits", NOW, id_)


def causes(agents):
    return [(run.detail.cause["events"], run.detail.cause["count"]) for run in agents.runs()]


@pytest.mark.parametrize(("coalesce", "number"), [(True, 1), (False, 3)])
def test_events_join_the_run_that_waits(factory, coalesce, number):
    factory.add("after", trigger={"partition": "visits"}, coalesce=coalesce, **DELAYED)
    member = factory.member()
    for id_ in ("a", "b", "c"):
        partition(factory, id_)
        factory.advance(member, 60)
    assert factory.states() == {PENDING: number}
    if coalesce:
        assert causes(factory) == [(["a", "b", "c"], 3)]
    factory.advance(member, 3600)
    partition(factory, "d")
    member.rest()
    assert len(factory.runs()) == number + 1  # nothing waits any more


def test_events_that_are_read_together_join_one_run(factory):
    factory.add("after", trigger={"partition": "visits"}, coalesce=True, **DELAYED)
    member = factory.member()
    member.rest()
    for id_ in ("a", "b", "c"):
        partition(factory, id_)
    member.rest()
    assert causes(factory) == [(["a", "b", "c"], 3)]


def test_events_that_complete_nothing_join_too_and_count_for_nothing_else(factory):
    factory.add(
        "after", trigger={"partition": {"dataset": "visits", "n": 2}}, coalesce=True, **DELAYED
    )
    member = factory.member()
    for id_ in ("a", "b", "c"):
        partition(factory, id_)
        member.rest()
    assert causes(factory) == [(["a", "b", "c"], 3)]
    factory.advance(member, 3600)
    partition(factory, "d")
    member.rest()
    assert factory.states() == {LAUNCHED: 1}  # "c" was consumed: "d" is the first of two


def test_events_join_a_run_that_waits_for_the_end_of_another(factory):
    factory.add("after", trigger={"partition": "visits"}, process="Export", coalesce=True)
    member = factory.member()
    for id_ in ("a", "b", "c"):
        partition(factory, id_)
        member.rest()
    assert sorted(causes(factory)) == [(["a"], 1), (["b", "c"], 2)]
    work(factory, "Export")
    member.rest()
    assert factory.states() == {RunState.PROCESSED: 1, LAUNCHED: 1}


def test_an_event_with_a_lifetime_joins_and_stays_alive(factory):
    file = {"type": "FILE", "resourceId": "/d", "lifeDuration": 7200}
    factory.add(
        "after",
        dependencies=[file, {"type": "TABLE", "resourceId": "t", "lifeDuration": 0}],
        coalesce=True,
        **DELAYED,
    )
    member = factory.member()
    clock = factory.clock
    factory.event("FILE", "/d/1", clock.now(), "f1")
    factory.event("TABLE", "t", clock.now(), "t1")
    factory.advance(member, 600)
    factory.event("FILE", "/d/2", clock.now(), "f2")
    factory.advance(member, 3600)
    (run,) = factory.runs()
    assert (run.state, run.detail.cause["events"]) == (LAUNCHED, ["f1", "t1", "f2"])
    factory.advance(member, 3500)
    factory.event("TABLE", "t", clock.now(), "t2")  # the second file is alive, the first is not
    member.rest()
    assert len(factory.runs()) == 2


def test_a_run_that_an_operator_cancels_meanwhile_is_not_joined(factory):
    factory.add("after", trigger={"partition": "visits"}, coalesce=True, **DELAYED)
    member = factory.member()
    partition(factory, "a")
    member.rest()
    (run,) = factory.runs()
    factory.actions.cancel(run.id, OPERATOR, factory.clock.now())
    partition(factory, "b")
    member.rest()
    assert factory.states() == {RunState.CANCELED: 1, PENDING: 1}
    assert sorted(causes(factory)) == [(["a"], 1), (["b"], 1)]


def test_a_run_that_is_canceled_while_events_join_it_is_left_for_a_new_one(factory, monkeypatch):
    factory.add("after", trigger={"partition": "visits"}, coalesce=True, **DELAYED)
    member = factory.member()
    partition(factory, "a")
    member.rest()
    stale = factory.runs()
    factory.actions.cancel(stale[0].id, OPERATOR, factory.clock.now())
    monkeypatch.setattr(
        schedules, "waiting_run", lambda *row: stale.pop() if stale else waiting_run(*row)
    )
    before = decisions(member)
    partition(factory, "b")
    member.rest()
    assert sorted(causes(factory)) == [(["a"], 1), (["b"], 1)]
    assert [after - was for was, after in zip(before, decisions(member), strict=True)] == [1, 1]


def decisions(member):
    """The numbers of decisions that were written, and that were refused."""
    total = member.agent._meter.total
    return [total("schedule_executed_total", what) for what in ("decided", "refused")]


def test_another_agent_joins_events_to_the_same_run(factory):
    factory.add("after", trigger={"partition": "visits"}, coalesce=True, **DELAYED)
    first = factory.member("agent-1")
    partition(factory, "a")
    first.rest()
    first.agent.forget()
    partition(factory, "b")
    first.rest()
    assert causes(factory) == [(["a", "b"], 2)]
