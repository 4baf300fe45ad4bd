"""The list and the form of schedules in a browser."""

from __future__ import annotations

from dataclasses import replace

import pytest
from playwright.sync_api import expect

from synergy.model.actor import Actor
from synergy.mx.services import Services
from tests.mx.browser.conftest import in_each_font
from tests.mx.pages_kit import of_all_kinds
from tests.mx.schedules_kit import HOOK


@in_each_font
@pytest.mark.parametrize("name", ["n" * 100, None])
def test_a_long_name_does_not_push_buttons_off_the_page(look, worlds, served, name):
    world = worlds(of_all_kinds())
    place = replace(world.workplace("", "mx-0"), deployment=world.deployment)
    hook = {"target": "https://example.com/hook", "payload": "{}", "zone": "America/Los_Angeles"}
    definition = {**hook, "when": "2099-12-24T17:00:00Z"}  # without a name one is made
    Services.at(place).schedule_commands.create(
        {**definition, "name": name} if name else definition,
        Actor("anna", "it is a long one"),
        world.clock.now(),
    )
    page = look(f"{served(world)}/schedules", viewport={"width": 1200, "height": 800})
    page.get_by_role("button", name="Run now").wait_for()
    hidden = "e => e.scrollWidth - e.clientWidth"
    assert page.locator(".table-wrap").first.evaluate(hidden) == 0


def test_the_form_reads_and_writes_a_calendar_interval(look, worlds, served):
    world = worlds(of_all_kinds())
    place = replace(world.workplace("", "mx-0"), deployment=world.deployment)
    services = Services.at(place)
    quarters = {"months": 3, "day": "last", "time": "06:00", "start": "2099-01-31"}
    services.schedule_commands.create(
        {**HOOK, "trigger": {"calendar_interval": {**quarters, "jitter": "5m"}}},
        Actor("anna", ""),
        world.clock.now(),
    )
    page = look(f"{served(world)}/schedules/hook/edit")
    expect(page.locator("#kind")).to_have_value("calendar")
    expect(page.locator("#preview")).to_contain_text("2099-04-30 06:0")
    page.get_by_label("Jitter").fill("")
    page.get_by_label("Last date").fill("2099-12-31")
    with page.expect_navigation():
        page.get_by_role("button", name="Save").click()
    stored = services.schedules.show_schedule("hook").definition["trigger"]
    assert stored == {"calendar_interval": {**quarters, "end": "2099-12-31"}}


def test_the_form_reads_and_writes_the_final_states_of_a_timetable_trigger(look, worlds, served):
    world = worlds(of_all_kinds())
    managed = sorted(world.deployment.managed())[0]
    place = replace(world.workplace("", "mx-0"), deployment=world.deployment)
    services = Services.at(place)
    actor = Actor("anna", "")
    waits = {"process": managed, "statuses": ["failed", "given_up"], "generations": "first"}
    hook = {name: value for name, value in HOOK.items() if name != "trigger"}
    services.schedule_commands.create(
        {**hook, "trigger": {"timetable": waits}}, actor, world.clock.now()
    )

    def stored():
        return services.schedules.show_schedule("hook").definition["trigger"]["timetable"]

    page = look(f"{served(world)}/schedules/hook/edit")
    expect(page.locator("#kind")).to_have_value("timetable")
    expect(page.get_by_label("given up")).to_be_checked()
    expect(page.get_by_label("processed")).not_to_be_checked()
    expect(page.locator("#generations")).to_have_value("first")
    page.get_by_label("failed").uncheck()
    with page.expect_navigation():
        page.get_by_role("button", name="Save").click()
    assert stored() == {**waits, "statuses": ["given_up"]}
    page.goto(page.url.partition("?")[0].removesuffix("/edit") + "/edit")
    page.get_by_label("given up").uncheck()
    page.get_by_label("processed").check()
    page.locator("#generations").select_option("all")
    with page.expect_navigation():
        page.get_by_role("button", name="Save").click()
    assert stored() == {"process": managed}


@pytest.mark.parametrize("several", [1, 2])
def test_the_form_keeps_dependencies_and_the_limits_that_it_has_no_field_for(
    look, worlds, served, several
):
    world = worlds(of_all_kinds())
    place = replace(world.workplace("", "mx-0"), deployment=world.deployment)
    services = Services.at(place)
    event = {"event": {"type": "FILE", "resource": "/a", "life": "1h"}}
    kept = {"trigger": {"all_of": [event] * several}, "max_runs": 3, "overlap": "skip"}
    services.schedule_commands.create({**HOOK, **kept}, Actor("anna", ""), world.clock.now())
    page = look(f"{served(world)}/schedules/hook/edit")
    expect(page.locator("#kind")).to_have_value("other" if several == 1 else "events")
    page.get_by_label("Priority").fill("7")
    with page.expect_navigation():
        page.get_by_role("button", name="Save").click()
    stored = services.schedules.show_schedule("hook").definition
    assert {name: stored[name] for name in kept} == kept
    assert stored["priority"] == 7
