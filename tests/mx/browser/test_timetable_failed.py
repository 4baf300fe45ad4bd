"""Failed and given-up periods in the calendar: shown, found, retried, acknowledged; and live."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
from playwright.sync_api import expect

from synergy.model.job import JobChange, JobState
from synergy.model.process import OnFailure
from synergy.worker.outcome import Processed
from tests.deployments import DAILY, HOURLY, a_deployment, a_process

NOW = datetime(2015, 5, 20, 0, 30, tzinfo=UTC)
RED = {"light": "rgb(179, 38, 30)", "dark": "rgb(255, 139, 129)"}


class Worker:
    """A worker that fails for the timeperiods in `is_broken`."""

    def __init__(self):
        self.is_broken = set()

    def __call__(self, task):
        if task.unit.timeperiod in self.is_broken:
            raise OSError("the disk is full")
        return Processed({"rows": 1})


@pytest.fixture
def worker():
    return Worker()


@pytest.fixture
def on_failure():
    return OnFailure.BLOCK


@pytest.fixture
def world(worlds, worker, on_failure):
    """Two days since 18 May; hours 03 to 05 of the 18th failed in their only attempt."""
    processes = [
        a_process("Day", DAILY),
        a_process("Hour", HOURLY, max_attempts=1, on_failure=on_failure),
    ]
    world = worlds(a_deployment({"site": processes}), "2015051800", NOW)
    worker.is_broken = {f"20150518{hour:02}" for hour in (3, 4, 5)}
    for name in ("Day", "Hour"):
        world.runner(name, worker)
    world.settle()
    return world


@pytest.fixture
def site(world, served):
    return served(world) + "/timetable/site"


def cell(page, timeperiod, process="Hour"):
    return page.locator(f'[role="gridcell"][aria-label^="{process} {timeperiod}:"]')


def shows(page, timeperiod, words, process="Hour"):
    expect(cell(page, timeperiod, process)).to_have_accessible_name(
        f"{process} {timeperiod}: {words}"
    )


def move(world, timeperiod, after, **fields):
    at = HOURLY.parse(timeperiod)
    before = world.state("Hour", timeperiod)
    moves = [JobChange("Hour", HOURLY, at, at, before, after, 1, "so", "a test", **fields)]
    assert not world.store.jobs.move(moves, world.clock.now())


def panel_of(page):
    return page.get_by_role("complementary", name="Job")


def dialog_of(page):
    return page.get_by_role("dialog")


def test_a_failed_period_is_retried_by_a_button_and_is_done(look, site, world, worker):
    page = look(site)
    shows(page, "2015051804", "failed")
    expect(cell(page, "2015051800", "Day")).not_to_have_class(re.compile("s-processed"))
    cell(page, "2015051804").click()
    panel = panel_of(page)
    expect(panel).to_contain_text("the disk is full")
    worker.is_broken = {"2015051803", "2015051805"}
    panel.get_by_role("button", name="Try again").first.click()
    dialog = dialog_of(page)
    expect(dialog).to_contain_text("Would touch 1")
    expect(dialog.locator(".state-failed")).to_be_visible()
    dialog.get_by_role("textbox").fill("a new disk")
    dialog.get_by_role("button", name="Try again").click()
    expect(panel).to_contain_text("job.retried")
    world.settle()
    shows(page, "2015051804", "processed")
    expect(panel.locator(".job-state")).to_contain_text("processed")
    assert world.state("Hour", "2015051804") is JobState.PROCESSED
    assert world.store.journal.of_job("Hour", "2015051803")[0].event == "job.failed"


def test_a_range_is_retried_with_the_mouse(look, site, world, worker):
    page = look(site)
    cell(page, "2015051802").click()
    cell(page, "2015051806").click(modifiers=["Shift"])
    selection = page.get_by_role("region", name="Selection")
    expect(selection).to_contain_text("5 periods: 2 processed, 3 failed")
    expect(selection.get_by_role("button", name="Acknowledge…")).to_be_hidden()
    copied = selection.get_by_role("button", name="Copy retry command")
    command = "launch.py timetable retry Hour 2015051802..2015051807"
    expect(copied).to_have_attribute("data-copy", command)
    selection.get_by_role("button", name="Try again…").click()
    expect(selection).to_contain_text("A retry touches 3 jobs")
    expect(cell(page, "2015051803")).to_have_class(re.compile(r"\btouched\b"))
    expect(cell(page, "2015051802")).not_to_have_class(re.compile(r"\btouched\b"))
    worker.is_broken = set()
    selection.get_by_role("button", name="Try 3 jobs again").click()
    expect(page.get_by_text("Try again: 3 jobs.")).to_be_visible()
    world.settle()
    shows(page, "2015051805", "processed")
    shows(page, "2015051800", "processed", "Day")
    expect(selection.get_by_role("button", name="Try again…")).to_be_hidden()


@pytest.mark.parametrize("on_failure", [OnFailure.SKIP])
def test_a_given_up_period_is_acknowledged_with_a_reason(look, site, world):
    page = look(site)
    shows(page, "2015051803", "given up")
    cell(page, "2015051803").click()
    panel = panel_of(page)
    panel.get_by_role("button", name="Acknowledge").first.click()
    dialog = dialog_of(page)
    expect(dialog).to_contain_text("Would touch 1")
    dialog.get_by_role("button", name="Acknowledge").click()  # without a reason
    expect(dialog.get_by_role("textbox")).to_be_focused()
    expect(dialog).to_contain_text("Required.")
    assert world.state("Hour", "2015051803") is JobState.GIVEN_UP
    dialog.get_by_role("textbox").fill("nobody needs it")
    dialog.get_by_role("button", name="Acknowledge").click()
    shows(page, "2015051803", "skipped")
    expect(panel).to_contain_text("given up, acknowledged")
    assert world.state("Hour", "2015051803") is JobState.SKIPPED
    shows(page, "2015051804", "given up")


@pytest.mark.parametrize("on_failure", [OnFailure.SKIP])
def test_a_range_is_acknowledged_with_a_reason(look, site, world):
    page = look(site)
    cell(page, "2015051802").click()
    cell(page, "2015051806").click(modifiers=["Shift"])
    selection = page.get_by_role("region", name="Selection")
    selection.get_by_role("button", name="Acknowledge…").click()
    go = selection.get_by_role("button", name="Acknowledge 3 jobs")
    go.click()
    assert world.state("Hour", "2015051803") is JobState.GIVEN_UP
    selection.get_by_label("Why").fill("nobody needs them")
    go.click()
    shows(page, "2015051805", "skipped")
    expect(page.get_by_role("button", name=re.compile("^given up"))).to_contain_text("0")


def test_problems_are_visited_the_worst_first(look, site, world):
    move(world, "2015051910", JobState.SKIPPED)
    move(world, "2015051912", JobState.SKIPPED, stale=True)
    move(world, "2015051914", JobState.EMBRYO)
    move(world, "2015051916", JobState.GIVEN_UP)
    page = look(site)
    following = page.get_by_role("button", name="Problem ›")
    # the day of the 18th is late as well, because it waits for its hours
    order = [
        ("Hour", "2015051803"), ("Hour", "2015051916"), ("Day", "2015051800"),
        ("Hour", "2015051914"), ("Hour", "2015051912"), ("Hour", "2015051910"),
    ]  # fmt: skip
    for process, timeperiod in order:
        following.click()
        expect(cell(page, timeperiod, process)).to_have_class(re.compile(r"\bfocus\b"))
    following.click()
    expect(page.get_by_text("There are no further problems.")).to_be_visible()
    before = page.get_by_role("button", name="‹ Problem")
    for process, timeperiod in [*order[-2:0:-1], ("Hour", "2015051805")]:
        before.click()
        expect(cell(page, timeperiod, process)).to_have_class(re.compile(r"\bfocus\b"))


def test_failures_are_shown_live(look, site, world):
    page = look(site)
    shows(page, "2015051910", "processed")
    expect(page.locator("#live")).to_have_text("live")
    move(world, "2015051910", JobState.FAILED)
    shows(page, "2015051910", "failed")
    move(world, "2015051910", JobState.GIVEN_UP)
    shows(page, "2015051910", "given up")
    move(world, "2015051910", JobState.SKIPPED, acknowledged=True)
    shows(page, "2015051910", "skipped")
    move(world, "2015051910", JobState.SKIPPED, stale=True)
    shows(page, "2015051910", "skipped, unseen")
    unseen = page.get_by_role("button", name=re.compile("^unseen"))
    expect(unseen).to_contain_text("1")
    unseen.click()
    expect(cell(page, "2015051910")).to_have_css("opacity", "1")
    expect(cell(page, "2015051804")).to_have_css("opacity", "0.14")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_failed_and_given_up_periods_are_red_and_look_different(look, site, world, scheme):
    move(world, "2015051910", JobState.GIVEN_UP)
    page = look(site, color_scheme=scheme)
    failed, given_up = cell(page, "2015051804"), cell(page, "2015051910")
    for one in (failed, given_up):
        expect(one).to_have_css("background-color", RED[scheme])
    expect(given_up).to_have_css("background-image", re.compile("gradient"))
    expect(failed).to_have_css("background-image", "none")
    drawn = "one => getComputedStyle(one, '::after').backgroundImage"
    assert "gradient" in failed.evaluate(drawn)
    for part in ("#strip a.s-failed", ".legend .s-failed"):
        expect(page.locator(part)).to_have_css("background-color", RED[scheme])
