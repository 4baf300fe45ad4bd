"""Failed, given-up and unseen periods on pages."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from synergy.model.job import JobState
from synergy.model.process import OnFailure, StateMachine
from synergy.mx.pages.processes import facts
from synergy.mx.pages.render import HERE
from synergy.queries.timetable.causes import Kind
from synergy.scheduler.late_data import QUIET_SECONDS
from tests.deployments import DAILY, HOURLY, a_deployment, a_process
from tests.mx.pages_kit import Page, get
from tests.mx.timetable_kit import move as move_jobs
from tests.mx.timetable_kit import started
from tests.service.scheduler_harness import OPERATOR

DAY = "2015051900"
CSS = {name: (HERE / "static" / f"{name}.css").read_text("utf-8") for name in ("app", "timetable")}


def move(world, first, last, after, *, why="the disk is full", **fields):
    """Moves hours of 19 May."""
    move_jobs(world, 48 + first, 48 + last, after, why=why, **fields)


@pytest.fixture
def world(worlds):
    hour = a_process("Hour", HOURLY, source="raw", sink="hour")
    world = worlds(a_deployment({"site": [a_process("Day", DAILY, source="hour"), hour]}))
    return started(world, world.start)


# The calendar


def test_the_legend_has_all_states(world, client):
    move(world, 0, 1, JobState.FAILED)
    page = get(client, "/timetable/site")
    offered = [button.get("data-only") for button in page.all("button") if "data-only" in button]
    assert offered[-6:] == ["failed", "given_up", "late", "failing", "stale", "unseen"]
    rules = CSS["timetable"]
    assert all(f".only-{word} " in rules for word in offered)
    assert all(re.search(rf"\.s-{state.word}\b", rules) for state in JobState)


def test_the_script_has_the_states_in_the_order_of_their_numbers():
    script = (HERE / "static" / "tree_model.js").read_text("utf-8")
    states = re.search(r"STATES = \[(.*?)\]", script)[1]
    assert re.findall(r"\w+", states) == [state.word for state in JobState]
    problems = re.findall(r"\w+", re.search(r"PROBLEMS = \[(.*?)\]", script)[1])
    assert problems[:2] == ["failed", "given_up"]
    assert problems.index("late") < problems.index("stale")


@pytest.mark.parametrize("word", [*(s.word for s in JobState), *(k.value for k in Kind), "unseen"])
def test_each_state_has_a_shape(word):
    assert re.search(rf"\.state-{word}\b[^{{]*\{{[^}}]*--shape", CSS["app"])


def test_failed_and_given_up_are_red_and_differ_in_shape():
    tones = dict(re.findall(r"--state-(failed|given_up): (#\w+);", CSS["app"].split("@media")[0]))
    assert tones["failed"] == tones["given_up"] == "#b3261e"
    shapes = dict(
        re.findall(r"\.state-(failed|given_up) \{.*?--shape: var\((--[\w-]+)\)", CSS["app"])
    )
    assert shapes["failed"] != shapes["given_up"]


# A job


def offered(page: Page) -> set[str]:
    return {
        button["data-api"].rpartition("/")[2]
        for button in page.all("button")
        if (button.get("data-api") or "").startswith("/api/v1/jobs/")
    }


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (JobState.FAILED, {"retry", "reprocess", "skip"}),
        (JobState.GIVEN_UP, {"acknowledge", "reprocess"}),
        (JobState.SKIPPED, {"reprocess"}),
    ],
)
def test_a_job_offers_the_actions_of_its_state(world, client, state, expected):
    move(world, 3, 3, state)
    page = get(client, "/jobs/Hour/2015051903")
    assert offered(page) == expected
    assert state.word.replace("_", " ") in page.text


def test_only_acknowledging_asks_for_a_reason(world, client):
    move(world, 3, 3, JobState.GIVEN_UP)
    page = get(client, "/jobs/Hour/2015051903")
    asking = {b["data-api"] for b in page.all("button") if "data-needs-reason" in b}
    assert asking == {"/api/v1/jobs/acknowledge"}


def test_an_acknowledged_job_says_that_it_was_given_up(world, client):
    move(world, 3, 3, JobState.GIVEN_UP)
    move(
        world, 3, 3, JobState.SKIPPED, before=JobState.GIVEN_UP, why="it is well", acknowledged=True
    )
    page = get(client, "/jobs/Hour/2015051903")
    assert "given up, acknowledged" in page.text
    assert "it is well" in page.text
    assert offered(page) == {"reprocess"}


def test_late_data_of_a_skipped_job_is_shown_until_it_is_reprocessed(world, client):
    world.skip("Hour", ("2015051903", "2015051903"), OPERATOR, world.clock.now())
    assert "changed after it was skipped" not in get(client, "/jobs/Hour/2015051903").text
    world.schedule()
    world.write("raw", "2015051903", 1)
    world.advance(2 * QUIET_SECONDS)
    page = get(client, "/jobs/Hour/2015051903")
    assert "unseen changes" in page.text
    assert "Its source changed after it was skipped" in page.text
    assert "1 unseen" in get(client, "/timetable").text
    world.reprocess("Hour", ("2015051903", "2015051903"), OPERATOR, world.clock.now())
    world.settle()
    assert world.state("Hour", "2015051903") is JobState.PROCESSED
    assert "unseen" not in get(client, "/timetable").text


def test_rows_of_an_earlier_generation_are_marked(world, client):
    move(world, 3, 3, JobState.FAILED, stale=True)
    page = get(client, "/jobs/Hour/2015051903")
    assert "Its rows are stale" in page.text


def test_relatives_have_the_colour_of_their_state(world, client):
    move(world, 3, 3, JobState.FAILED)
    move(world, 4, 4, JobState.GIVEN_UP)
    page = get(client, f"/jobs/Day/{DAY}")
    classes = {a["href"][-2:]: a["class"] for a in page.all("a") if a.get("data-tree")}
    assert (classes["03"], classes["04"]) == ("c s-failed", "c s-given_up")


def test_a_unit_says_that_its_job_will_fail(world, client):
    world.write("raw", "2015051903", 1)
    world.schedule()
    (unit,) = world.units("Hour", "2015051903")
    (cancel,) = [
        b for b in get(client, f"/units/{unit.id}").all("button")
        if (b.get("data-api") or "").endswith("/cancel")
    ]  # fmt: skip
    assert cancel["data-confirm"].startswith("Its job will fail")


# Lists, and what processes declare


def test_the_list_of_trees_counts_failed_and_given_up_jobs(world, client):
    move(world, 0, 1, JobState.FAILED)
    move(world, 2, 4, JobState.GIVEN_UP)
    page = get(client, "/timetable")
    badges = [words for words in ("2 failed", "3 given up") if words in page.text]
    assert badges == ["2 failed", "3 given up"]
    assert "failed 2 given up 3" in get(client, "/processes/Hour").text


def declared(**fields):
    return dict(facts(replace(a_process("Hour", HOURLY), **fields)))


def test_a_process_says_how_it_treats_failures():
    plain = declared()
    assert "on_failure: block" in plain["A failed period"]
    assert plain["Is tried again"] == "on request, or when its source grows"
    assert plain["Interim runs"] == "none"
    assert declared(retry_failed=3600.0)["Is tried again"] == "automatically after 1h"
    skipping = declared(on_failure=OnFailure.SKIP)
    assert "on_failure: skip" in skipping["A failed period"]
    assert skipping["Is tried again"] == "when it is reprocessed"
    live = declared(state_machine=StateMachine.CONTINUOUS, refresh=30.0)
    assert live["Interim runs"].startswith("at least 30s apart")
    by_trigger = declared(state_machine=StateMachine.CONTINUOUS, refresh=None)
    assert by_trigger["Interim runs"].startswith("when it is triggered")


# The audit


def test_the_audit_lists_failures_and_is_not_green(world, client):
    world.schedule()
    move(world, 24, 24, JobState.FAILED, before=JobState.NOOP)  # of the day that is open
    move(world, 25, 26, JobState.GIVEN_UP, before=JobState.NOOP)
    acknowledging = {"before": JobState.GIVEN_UP, "why": "it is well", "acknowledged": True}
    move(world, 26, 26, JobState.SKIPPED, **acknowledging)
    page = get(client, "/audit")
    assert "1 failed 1 given up 1 given up, acknowledged 0 skipped, changed since" in page.text
    assert "Failed or given up" in page.text
    assert "it is well" in page.text
    assert "Hour 2015052001 given up the disk is full" in page.text
    assert {"/jobs/Hour/2015052000", "/jobs/Hour/2015052001"} <= page.links
    assert not page.all("p", **{"class": "note note-ok"})
    overview_page = get(client, "/")
    assert "of which 1 failed and 1 were given up" in overview_page.text
