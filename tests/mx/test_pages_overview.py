"""The overview: its numbers and their links, and the first steps of a new deployment."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from synergy.commands.schedules import ScheduleCommands
from synergy.model.actor import Actor
from synergy.model.schedule import RunState
from synergy.mx.pages.overview import SHOWN
from synergy.mx.services import Services
from synergy.names import TIMETABLE_START
from synergy.worker.outcome import Processed
from tests.contract.scheduled import a_run
from tests.mx.conftest import client_of
from tests.mx.pages_kit import HOSTILE, get, of_all_kinds, seen


@pytest.fixture
def world(worlds):
    """A timetable since 17 May 2015, at noon on the 20th."""
    return worlds(of_all_kinds())


def tile(page, label: str) -> tuple[str, str]:
    """The number above a label, and its link."""
    words = page.text.split(f" {label} ", 1)[0]
    links = [a["href"] for a in page.all("a") if (a.get("class") or "").startswith("tile")]
    labels = [
        "late periods", "closed, not done", "failing units", "running units", "requested units",
        "messages waiting", "in quarantine", "pending runs", "failed runs",
    ]  # fmt: skip
    return words.rsplit(" ", 1)[-1], links[labels.index(label)]


def settle_but(world, period):
    """Processes everything but `period`, whose attempts all fail, and what waits for it."""

    def work(task):
        if task.timeperiod == period:
            raise ValueError(f"no column n in {HOSTILE}")
        return Processed({"rows": 1})

    for name in world.deployment.managed():
        world.runner(name, work)
    world.settle()
    for _ in range(10):
        world.advance(61)
        world.settle()
    client = Services.at(replace(world.workplace("", "mx"), deployment=world.deployment))
    client.audits.run_once(client.now)


def failing(_task):
    raise ValueError(f"no column n in {HOSTILE}")


def test_before_the_first_start_the_page_says_how_to_begin(client):
    page = get(client, "/")
    assert "The timetable has no first hour yet" in page.text
    assert "launch.py supervisor start" in page.text
    assert "All is well" not in page.text


def test_before_the_first_job_the_page_shows_its_time(world, client):
    world.store.facts.set(TIMETABLE_START, "2015051700")
    text = get(client, "/").text
    assert "The timetable begins at 2015051700" in text
    assert "Siteyearly is triggered in 10 min (every 600)" in text


def test_late_periods_are_counted_and_lead_to_their_jobs(world, client):
    world.schedule()
    page = get(client, "/")
    # Hours: 3 days and 11 hours have settled, all but the last hour for more than an hour; days: 3
    # of each of two processes.
    assert tile(page, "late periods") == (str(82 + 3 + 3), "#waiting")
    assert tile(page, "closed, not done") == (str(83 + 3 + 3), "#waiting")
    assert "/jobs/Sitehourly/2015051700" in page.links
    assert "All is well" in page.text  # the deployment has only begun
    assert "catching up: 88 periods to go" in page.text


def test_units_without_a_worker_are_a_finding_with_a_cause(world, client):
    world.schedule()
    world.clock.advance(301)
    page = get(client, "/")
    assert "All is well" not in page.text
    assert "Not well: 14 units are not served" in page.text
    nobody = "no worker takes 8 units of Sitehourly: it has no worker: 0 of Sitehourly seen running"
    assert f"{nobody}, no box has it; 89 periods wait for it" in page.text
    assert page.text.count("periods wait for it") == 1


def test_a_failed_period_has_buttons_for_its_remedies(world, client):
    """The day that waits for the hour is not a finding of its own."""
    settle_but(world, "2015051705")
    page = get(client, "/")
    assert "Not well: 1 period failed" in page.text
    assert "1 period of Sitehourly failed: 2015051705" in page.text
    assert "/jobs/Sitehourly/2015051705" in page.links
    button, *_ = page.all("button", data_api="/api/v1/jobs/retry")
    assert json.loads(button["data-body"]) == {"process": "Sitehourly", "from": "2015051705"}
    assert {client.get(link).status_code for link in page.links} == {200}


def test_a_waiting_day_names_the_hour_it_waits_for(world, client):
    """The cause of a day names the hour it waits for; the cause of an hour names none."""
    world.process_commands.switch("Sitehourly", False, Actor("me", "moving"), world.clock.now())
    for _ in range(2):
        world.schedule()
        world.work("Sitedaily", work=lambda _task: Processed({"rows": 1}))
    text = get(client, "/").text
    cause = "switched off the process is switched off"
    assert f"Sitehourly 2015051700 83 82 {cause}" in text
    cause = "switched off Sitehourly 2015051700 : the process is switched off"
    assert f"Sitedaily 2015051700 3 3 {cause}" in text


def test_without_findings_the_overview_says_well(world, client):
    for name in world.deployment.managed():
        world.runner(name, lambda _task: Processed({"rows": 1}))
    world.settle()
    page = get(client, "/")
    assert "All is well" in page.text
    assert tile(page, "late periods") == ("0", "/timetable")
    assert "What will happen" not in page.text


def test_units_that_fail_are_named_with_their_reason(world, client):
    world.schedule()
    world.round("Sitehourly", failing)
    page = get(client, "/")
    assert tile(page, "failing units") == ("1", "/units?state=invalid")
    assert "1 unit failed, and will be tried again" in page.text
    assert f"no column n in {HOSTILE}" in page.text


def test_the_matrix_shows_processes_by_box(world, client):
    boxes, now = world.store.boxes, world.clock.now()
    boxes.assign("north", ["Listener", "Report"])
    boxes.assign("south", ["Listener"])
    boxes.switch("south", "Listener", False, "me", now)
    boxes.report("north", [seen(world, "north", "Listener", "backoff", restarts=3)], now)
    page = get(client, "/")
    off, on = ("/api/v1/boxes/south/processes/Listener", "/api/v1/boxes/north/processes/Listener")
    assert [a["aria-checked"] for a in page.all("button", data_api=off)] == ["false"]
    assert [a["data-body"] for a in page.all("button", data_api=on)] == ['{"is_on": false}']
    assert "backoff 3 restarts" in page.text
    assert "off does not run" in page.text


def test_an_undeclared_process_has_no_link(world, client):
    odd = seen(world, "north", HOSTILE, "running")
    world.store.boxes.report("north", [odd], world.clock.now())
    page = get(client, "/")
    assert f"{HOSTILE} not declared" in page.text
    assert not any("alert" in link for link in page.links)


def test_a_part_is_not_a_whole_page(client):
    part = get(client, "/?part=1")
    assert not part.all("html")
    assert part.all("h1")


def test_findings_are_shown_on_every_page(worlds):
    world = worlds(of_all_kinds())
    with client_of(world) as client:
        assert "scheduler: tree site has no leader" in get(client, "/boxes").text
        assert "tree site has no leader" in get(client, "/troubles").text
    world.schedule()
    with client_of(world) as client:
        assert "Not well" not in get(client, "/boxes").text


def test_the_user_is_named_and_can_log_out(secured):
    client = secured.logged_in("vera")
    page = get(client, "/")
    assert page.all("body", data_role="viewer")  # by which what she may not is not offered
    assert "vera Log out" in page.text
    [form] = page.all("form", action="/logout")
    assert form["method"] == "post"
    [field] = page.all("input", type="hidden", name="csrf")
    answer = client.post("/logout", data={"csrf": field["value"]})
    assert answer.status_code == 303
    assert client.get("/").status_code == 303


def test_the_login_page_shows_no_findings(secured):
    text = secured.client().get("/login").text
    assert "has no leader" not in text
    assert "/troubles" not in text


def test_failing_schedules_are_counted_and_some_are_shown(client, world):
    world.schedule()
    actions = ScheduleCommands(world.store, world.bus, world.deployment)
    names = [f"daily-{number}" for number in range(SHOWN + 1)]
    for name in names:
        written_down = {"name": name, "process": "Report", "trigger": "every 60"}
        actions.create(written_down, Actor("otto", "a test"), world.clock.now())
    now = world.clock.now()
    ended = {"state": RunState.FAILED, "launched_at": now, "finished_at": now}
    runs = [a_run(schedule=name, reason="no column n", **ended) for name in names]
    world.store.runs.create(runs, "a test")
    page = get(client, "/")
    assert f"Not well: {SHOWN + 1} runs failed" in page.text
    lately = page.text.split("Schedules that fail", 1)[1]
    assert lately.count("no column n") == SHOWN
    assert page.text.count("and was not launched again: no column n") == SHOWN + 1
