"""A schedule that is over says so where it is shown."""

from __future__ import annotations

from tests.service.agent_harness import NOW, TARGET
from tests.service.schedule_kit import ALICE

HOURLY = {"name": "hook", "target": TARGET, "trigger": "every 3600"}


def remarks(reads) -> tuple[str, ...]:
    return reads.show_schedule("hook").warnings


def test_after_its_end(agents, reads):
    agents.actions.create({**HOURLY, "end": "2026-03-10T13:30:00Z"}, ALICE, NOW, enable=True)
    member = agents.member()
    agents.advance(member, 5400)
    assert remarks(reads) == ()
    agents.advance(member, 1)
    (remark,) = remarks(reads)
    assert remark == "end: it was at 2026-03-10T13:30:00Z: nothing is due any more"
    assert reads.show_schedule("hook").is_enabled


def test_after_all_its_runs_until_it_is_enabled_again(agents, reads):
    agents.actions.create({**HOURLY, "max_runs": 1}, ALICE, NOW, enable=True)
    assert remarks(reads) == ()
    agents.advance(agents.member(), 3601)
    assert remarks(reads) == ("max_runs: all runs are made: nothing is due any more",)
    agents.actions.disable("hook", ALICE, agents.clock.now())
    agents.actions.enable("hook", ALICE, agents.clock.now())
    assert remarks(reads) == ()
