"""The list of schedules, as it is seen."""

from __future__ import annotations

from dataclasses import replace

import pytest

from synergy.insight.actions import Actor
from synergy.mx.desk import Desk
from tests.mx.pages_kit import of_all_kinds


@pytest.mark.parametrize("name", ["n" * 100, None])
def test_a_long_name_leaves_the_buttons_on_the_page(look, worlds, served, name):
    world = worlds(of_all_kinds())
    place = replace(world.workplace("", "mx-0"), deployment=world.deployment)
    hook = {"target": "https://example.com/hook", "payload": "{}", "zone": "America/Los_Angeles"}
    definition = {**hook, "when": "2099-12-24T17:00:00Z"}  # without a name one is made
    Desk.at(place).schedule_actions.create(
        {**definition, "name": name} if name else definition,
        Actor("anna", "it is a long one"),
        world.clock.now(),
    )
    page = look(f"{served(world)}/schedules", viewport={"width": 1200, "height": 800})
    page.get_by_role("button", name="Run now").wait_for()
    hidden = "e => e.scrollWidth - e.clientWidth"
    assert page.locator(".table-wrap").first.evaluate(hidden) == 0
