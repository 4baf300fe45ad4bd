"""Schedules are listed by the program that they run."""

from __future__ import annotations

import pytest

from tests.service.agent_harness import NOW, TARGET
from tests.service.schedule_kit import ALICE, BERLIN, SECRET


@pytest.mark.parametrize(
    ("program", "names"),
    [
        ("Report", ["r1", "r2"]),
        ("https://receiver.example:443", ["b1", "b2"]),
        ("https://receiver.example", ["b1", "b2"]),
        (f"{TARGET}?token=guessed", ["b1", "b2"]),
        ("amqp://h:5672/v", ["secret"]),
        ("http://receiver.example", []),
        ("Repor", []),
    ],
)
def test_a_list_of_the_schedules_of_one_program_is_paged(agents, reads, program, names):
    report = {"process": "Report", "trigger": "every 60"}
    for data in (BERLIN, report):
        same = [{**data, "name": f"{str(data.get('name', 'r'))[0]}{n}"} for n in (1, 2)]
        agents.actions.create_all(same, ALICE, NOW)
    agents.actions.create(SECRET, ALICE, NOW)
    seen, cursor = [], None
    while True:
        page = reads.list_schedules(1, cursor, program=program)
        seen += [view.name for view in page.items]
        cursor = page.next
        if cursor is None:
            break
    assert seen == names
