"""A run by hand may have arguments or a payload of its own."""

from __future__ import annotations

import pytest

from synergy.commands.run_values import RunValues
from synergy.delivery.request import failed, sent
from synergy.model.run_detail import RunDetail
from synergy.model.schedule import RunState
from synergy.schedule.check_context import InvalidDefinition
from tests.service.agent_harness import NOW, answering
from tests.service.schedule_kit import ALICE, HOOK, REPORT, everything, run_of, stored

LONG = "é" * 40_000  # more than a row holds


@pytest.fixture
def agents(agents):
    """Agents with the schedules `hook` and `report`."""
    report = {**REPORT, "arguments": {"n": 1, "day": "today"}}
    agents.actions.create_all([HOOK, report], ALICE, NOW)
    return agents


def trigger(agents, name, **values):
    return agents.actions.trigger(name, ALICE, NOW, RunValues(**values))


def remark(detail: RunDetail) -> str:
    return str(detail.cause["remark"])


def test_arguments_of_one_run_override_those_of_its_schedule(agents):
    run = run_of(agents, trigger(agents, "report", arguments={"n": 2, "extra": [1]}))
    assert run.request["arguments"] == {"n": 2, "day": "today", "extra": [1]}
    assert remark(run.detail).startswith("by hand, with arguments of its own, alice")
    assert stored(agents, "report").definition["arguments"] == {"n": 1, "day": "today"}
    assert run_of(agents, trigger(agents, "report")).request["arguments"]["n"] == 1


def test_a_payload_of_one_run_is_sent_with_the_values_of_the_run(agents):
    member = agents.member()
    id_ = trigger(agents, "hook", payload="${scheduleName} ${runId} ${x}")
    trigger(agents, "hook", payload={"a": [1, None]})
    member.rest()
    bodies = {request.key: request.body.decode() for request in member.sender.requests}
    assert bodies.pop(id_) == f"hook {id_} ${{x}}"
    assert list(bodies.values()) == ['{"a": [1, null]}']
    assert "with a payload of its own" in remark(run_of(agents, id_).detail)
    assert stored(agents, "hook").definition["payload"] == HOOK["payload"]


def test_a_long_payload_is_kept_for_a_later_retry(agents):
    member = agents.member(receiver=answering(failed("no", may_retry=False), sent(200)))
    id_ = trigger(agents, "hook", payload=LONG + "${scheduleName}")
    assert len(str(run_of(agents, id_).request)) < 1000
    member.rest()
    assert run_of(agents, id_).state is RunState.FAILED
    agents.actions.retry(id_, ALICE, NOW)
    member.rest()
    assert [request.body.decode() for request in member.sender.requests] == [LONG + "hook"] * 2


@pytest.mark.parametrize(
    ("name", "values", "mistake"),
    [
        ("report", {"payload": "x"}, "payload: it goes with target, not process"),
        ("hook", {"arguments": {"a": 1}}, "arguments: it goes with process, not target"),
        ("report", {"arguments": {"n": 2**70}}, "arguments: n: the number"),
        ("hook", {"payload": "x" * 16_777_216}, "16,777,216 bytes: the most is 16,777,215"),
        ("hook", {"payload": {"stored": "nothing"}}, "nothing is stored as nothing"),
    ],
)
def test_values_that_a_definition_could_not_have_are_refused(agents, name, values, mistake):
    before = everything(agents)
    with pytest.raises(InvalidDefinition, match=mistake):
        trigger(agents, name, **values)
    assert everything(agents) == before


def test_a_dry_run_checks_values_and_stores_nothing(agents):
    before = everything(agents)
    agents.actions.trigger("hook", ALICE, NOW, RunValues(payload=LONG), dry_run=True)
    with pytest.raises(InvalidDefinition):
        agents.actions.trigger("report", ALICE, NOW, RunValues(payload="x"), dry_run=True)
    assert everything(agents) == before
