"""Runs wait for the constraints of their schedules."""

from __future__ import annotations

from synergy.agent.deciding import gauges
from synergy.agent.deciding.decisions import disabling
from synergy.model.schedule import RunState
from tests.service.agent_harness import NOW, OPERATOR, once, work
from tests.service.constraint_kit import WAITS, launched


def test_a_run_over_the_concurrency_limit_is_aborted_by_default(factory):
    rules = [{"concurrency": 1}]
    once(factory, "first", process="Export", constraints=rules)
    once(factory, "second", process="Export", constraints=rules)
    member = factory.member()
    member.rest()
    assert factory.states() == {RunState.LAUNCHED: 1, RunState.ABORTED: 1}
    (aborted,) = [run for run in factory.runs() if run.state is RunState.ABORTED]
    assert aborted.reason


def test_waiting_runs_start_by_priority_then_age(factory):
    member = factory.member()
    once(factory, "under-way", process="Export", constraints=[WAITS])
    member.rest()
    for name, priority in [("low", 0), ("high", 9), ("high-later", 9), ("middle", 5)]:
        factory.clock.advance(1)
        factory.add(
            name, when=NOW.isoformat(), process="Export", constraints=[WAITS], priority=priority
        )
        member.rest()
    finished = []
    while launched(factory):
        finished += launched(factory)
        assert len(finished) == len(set(finished))
        work(factory, "Export")
        member.rest()
    assert finished == ["under-way", "high", "high-later", "middle", "low"]


def test_a_waiting_run_lists_what_it_waits_for(factory):
    once(factory, "a", process="Export", constraints=[WAITS])
    member = factory.member()
    member.rest()
    once(factory, "b", process="Export", constraints=[WAITS, {"delay": "1h"}])
    member.rest()
    (run,) = factory.runs("b")
    assert len(run.detail.waits) == 2
    rev = run.rev
    factory.advance(member, 60)
    assert factory.runs("b")[0].rev == rev  # unchanged reasons are not written again
    work(factory, "Export")
    member.rest()
    assert len(factory.runs("b")[0].detail.waits) == 1
    factory.advance(member, 3600)
    (run,) = factory.runs("b")
    assert (run.state, run.detail.waits) == (RunState.LAUNCHED, ())


def test_a_group_shares_its_concurrency_limit(factory):
    rule = {"concurrency": {"n": 2, "scope": "group", "when_unmet": "wait"}}
    for number, process in enumerate(["Export", "Clean", "Export", "Clean"]):
        once(factory, f"s{number}", process=process, group="g", constraints=[rule])
    once(factory, "other", process="Export", group="h", constraints=[rule])
    member = factory.member()
    member.rest()
    assert len(launched(factory)) == 3
    assert "other" in launched(factory)
    work(factory, "Export")
    work(factory, "Clean")
    member.rest()
    assert factory.states() == {RunState.PROCESSED: 3, RunState.LAUNCHED: 2}


def test_an_agent_that_no_longer_decides_launches_nothing(factory):
    """It is paused between judging and writing, for so long that another agent decides."""
    rule = {"concurrency": {"n": 1, "scope": "group", "when_unmet": "wait"}}
    fields = {"process": "Export", "group": "g", "constraints": [rule]}
    away, other = factory.member("agent-1"), factory.member("agent-2")
    once(factory, "a", **fields)
    away.rest()
    other.rest()
    assert launched(factory) == ["a"]
    once(factory, "b", **fields)
    away.rest()
    judge = away.agent._decider._pending.judge

    def judge_and_be_away(now, limit):
        judged = judge(now, limit)
        if any(run.schedule == "b" for run, _ in judged.launch):
            once(factory, "c", **fields, priority=9)
            for _ in range(30):
                factory.clock.advance(1)
                other.rest()
            assert launched(factory) == ["c"]
        return judged

    away.agent._decider._pending.judge = judge_and_be_away
    work(factory, "Export")
    away.rest()
    other.rest()
    assert launched(factory) == ["c"]
    assert not away.agent.decides
    work(factory, "Export")
    other.rest()
    assert launched(factory) == ["b"]


def test_a_delay_and_a_window_wait_for_their_time(agents):
    once(agents, "delayed", constraints=[{"delay": "10m"}])
    once(agents, "night", constraints=[{"time_window": {"start": "22:00", "end": "06:00"}}])
    member = agents.member()
    agents.advance(member, 599)
    assert not member.sender.requests
    agents.advance(member, 1)
    assert [request.schedule for request in member.sender.requests] == ["delayed"]
    agents.advance(member, 10 * 3600 - 601)
    assert len(member.sender.requests) == 1
    agents.advance(member, 1)
    assert [request.schedule for request in member.sender.requests] == ["delayed", "night"]


def test_a_job_that_waits_too_long_is_dropped_or_forced(agents):
    window = {"time_window": {"start": "03:00", "end": "03:01"}}
    once(agents, "dropped", constraints=[window], timeout="1h")
    once(agents, "forced", constraints=[window], timeout="1h", timeout_policy="force")
    member = agents.member()
    agents.advance(member, 3599)
    assert agents.states() == {RunState.PENDING_CONSTRAINT: 2}
    agents.advance(member, 1)
    assert {run.schedule: run.state for run in agents.runs()} == {
        "dropped": RunState.ABORTED,
        "forced": RunState.PROCESSED,
    }
    assert "timed out" in agents.runs("dropped")[0].reason


def test_since_last_run_counts_from_the_last_success(agents):
    agents.add("often", cron="*/10 * * * *", constraints=[{"since_last_run": "25m"}])
    member = agents.member()
    agents.advance(member, 3600)
    assert [run.state for run in agents.runs()] == [
        RunState.PROCESSED, RunState.ABORTED, RunState.ABORTED,
        RunState.PROCESSED, RunState.ABORTED, RunState.ABORTED,
    ]  # fmt: skip
    other = agents.member("agent-2")  # reads the last success from the rows
    agents.clock.advance(20)
    agents.advance(other, 600)
    assert other.agent.decides
    assert [run.state for run in agents.runs()][6:] == [RunState.PROCESSED]


def test_a_rate_limit_holds_when_another_agent_takes_over(agents):
    agents.add("often", cron="* * * * *", constraints=[{"at_most": {"n": 3, "per": "hour"}}])
    member = agents.member()
    agents.advance(member, 600)
    assert len(member.sender.requests) == 3
    other = agents.member("agent-2")
    agents.advance(other, 3000)
    assert other.agent.decides
    assert not other.sender.requests
    agents.advance(other, 180)
    assert len(other.sender.requests) == 3


def test_load_is_measured_only_while_a_run_waits_for_it(agents, monkeypatch):
    loads = [2.0]
    looks = []
    monkeypatch.setattr(
        gauges.Gauges.__init__, "__defaults__", (lambda: looks.append(1) or loads[-1],)
    )
    once(agents, "heavy", constraints=[{"load": 1.0}])
    member = agents.member()
    agents.advance(member, 60)
    assert agents.states() == {RunState.PENDING_CONSTRAINT: 1}
    assert 10 <= len(looks) <= 14
    loads.append(0.5)
    agents.advance(member, 5)
    assert agents.states() == {RunState.PROCESSED: 1}
    number = len(looks)
    agents.advance(member, 60)
    assert len(looks) == number


def test_a_run_may_wait_until_the_queue_of_its_worker_is_empty(factory):
    once(factory, "waiting-for-a-worker", process="Export")
    member = factory.member()
    member.rest()
    once(
        factory, "considerate", process="Export",
        constraints=[{"load": {"max": 0, "of": "queue"}}, {"concurrency": 9}],
    )  # fmt: skip
    factory.advance(member, 20)
    assert launched(factory) == ["waiting-for-a-worker"]
    work(factory, "Export")
    factory.advance(member, 5)
    assert launched(factory) == ["considerate"]


def test_a_run_triggered_by_hand_ignores_constraints(agents):
    agents.add("patient", cron="0 * * * *", constraints=[{"delay": "1h"}])
    member = agents.member()
    member.rest()
    id_ = agents.actions.trigger("patient", OPERATOR, agents.clock.now())
    member.rest()
    assert [request.key for request in member.sender.requests] == [id_]


def test_pending_jobs_outlive_the_agent(factory):
    once(factory, "a", process="Export", constraints=[WAITS])
    once(factory, "b", process="Export", constraints=[WAITS])
    member = factory.member()
    member.rest()
    (name,) = launched(factory)
    other = factory.member("agent-2")
    factory.advance(other, 30)
    assert launched(factory) == [name]
    work(factory, "Export")
    other.rest()
    assert launched(factory) == [({"a", "b"} - {name}).pop()]


def test_enabling_a_schedule_aborts_runs_left_from_before_it_was_disabled(agents):
    agents.add("patient", cron="0 * * * *", constraints=[{"delay": "10m"}])
    member = agents.member()
    agents.advance(member, 3660)
    (row,) = agents.store.schedules.get(["patient"])
    change, _ = disabling(row, "the receiver wants no more", "agent", agents.clock.now())
    assert not agents.store.schedules.change([change])
    agents.actions.enable("patient", OPERATOR, agents.clock.now())
    agents.advance(member, 1800)
    (run,) = agents.runs()
    assert (run.state, run.reason) == (RunState.ABORTED, "its schedule was disabled")
