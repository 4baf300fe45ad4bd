"""The calendar of a tree in a browser: mouse, keyboard, touch, no script, and live updates."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
from playwright.sync_api import expect

from synergy.model.job import JobChange, JobState
from synergy.worker.outcome import Processed
from tests.deployments import DAILY, HOURLY, a_deployment, a_process, site_and_client
from tests.mx.browser.conftest import in_each_font
from tests.service.scheduler_harness import OPERATOR

NOW = datetime(2015, 5, 20, 12, 0, tzinfo=UTC)


@pytest.fixture
def world(worlds):
    """A timetable since 17 May 2015, at noon on the 20th; all closed periods are processed."""
    world = diligent(worlds(site_and_client(), "2015051700", NOW))
    world.settle()
    return world


@pytest.fixture
def site(world, served):
    return served(world) + "/timetable/site"


def diligent(world):
    """A world whose workers carry out all units."""
    for name in world.deployment.managed():
        world.runner(name, lambda _task: Processed({"rows": 1}))
    return world


def job(page, process, timeperiod):
    """The cell of a job."""
    return page.get_by_role("gridcell", name=re.compile(rf"^{process} {timeperiod}:"))


def shows(page, process, timeperiod, words):
    cell = job(page, process, timeperiod)
    expect(cell).to_have_accessible_name(f"{process} {timeperiod}: {words}")


def drag(page, first, last):
    """Drags from the middle of a cell to the middle of another."""
    page.mouse.move(*middle(first))
    page.mouse.down()
    page.mouse.move(*middle(last), steps=5)
    page.mouse.up()


def middle(cell):
    box = cell.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_the_calendar_shows_all_processes_of_the_tree(look, site):
    page = look(site)
    shows(page, "Siteyearly", "2015000000", "embryo, open")
    shows(page, "Sitemonthly", "2015050000", "embryo, open")
    shows(page, "Sitedaily", "2015051900", "processed")
    shows(page, "Sitehourly", "2015051903", "processed")
    shows(page, "Sitehourly", "2015052012", "embryo, open")


@in_each_font
def test_dragging_selects_a_range_across_days(look, site):
    page = look(site)
    drag(page, job(page, "Sitehourly", "2015051822"), job(page, "Sitehourly", "2015051902"))
    selection = page.get_by_role("region", name="Selection")
    expect(selection).to_contain_text(
        "Sitehourly, 2015051822 to 2015051902, 5 periods: 5 processed"
    )
    command = selection.get_by_role("button", name="Copy reprocess command")
    expect(command).to_have_attribute(
        "data-copy", "launch.py timetable reprocess Sitehourly 2015051822..2015051903"
    )


def test_a_click_with_shift_extends_the_selection(look, site):
    page = look(site)
    job(page, "Sitehourly", "2015051805").click()
    job(page, "Sitehourly", "2015051808").click(modifiers=["Shift"])
    expect(page.get_by_role("region", name="Selection")).to_contain_text(
        "Sitehourly, 2015051805 to 2015051808, 4 periods"
    )


@pytest.fixture
def half_loaded(look, site):
    """The page before all its scripts are loaded, and a function that continues the load."""
    page = look(site)
    late = []

    def keep(request):
        late.append(request)

    def let_go():
        for request in late:
            request.continue_()

    page.route("**/timetable_page.js", keep)
    with page.expect_request("**/timetable_page.js"):
        page.reload(wait_until="domcontentloaded")
    return page, let_go


def test_clicks_before_the_scripts_are_loaded_are_repeated(half_loaded, world):
    page, let_go = half_loaded
    world.reprocess("Sitehourly", ("2015051714", "2015051715"), OPERATOR, world.clock.now())
    with page.expect_request("**/timetable_page.js"):
        page.reload(wait_until="domcontentloaded")
    job(page, "Sitehourly", "2015051805").click()
    job(page, "Sitehourly", "2015051808").click(modifiers=["Shift"])
    job(page, "Sitehourly", "2015052005").focus()
    page.keyboard.press("p")
    selection = page.get_by_role("region", name="Selection")
    expect(selection).to_be_hidden()
    expect(job(page, "Sitehourly", "2015052005")).to_be_focused()
    let_go()
    expect(selection).to_contain_text("Sitehourly, 2015051805 to 2015051808, 4 periods")
    expect(page.get_by_role("complementary", name="Job")).to_contain_text("2015051805")
    expect(job(page, "Sitehourly", "2015051715")).to_be_focused()


def test_early_drags_and_keys_are_repeated_in_their_order(half_loaded):
    page, let_go = half_loaded
    drag(page, job(page, "Sitehourly", "2015051822"), job(page, "Sitehourly", "2015051902"))
    page.get_by_role("button", name="Select").click()
    job(page, "Sitehourly", "2015051903").click()
    page.get_by_role("button", name="Oldest first").click()
    let_go()
    expect(page.get_by_role("region", name="Selection")).to_contain_text(
        "Sitehourly, 2015051822 to 2015051903, 6 periods"
    )
    expect(page.get_by_role("button", name="Oldest first")).to_have_attribute(
        "aria-pressed", "true"
    )
    expect(page.get_by_role("complementary", name="Job")).to_be_hidden()


def test_an_early_jump_to_a_timeperiod_is_repeated(half_loaded):
    page, let_go = half_loaded
    page.get_by_role("textbox", name="Timeperiod").fill("2015-05-18 07")
    page.keyboard.press("Enter")
    let_go()
    expect(job(page, "Sitehourly", "2015051807")).to_be_focused()


def test_two_taps_select_a_range_on_touch_screens(look, site):
    page = look(site, viewport={"width": 390, "height": 844}, has_touch=True)
    page.get_by_role("button", name="Select").click()
    job(page, "Sitehourly", "2015051805").tap()
    job(page, "Sitehourly", "2015051903").tap()
    expect(page.get_by_role("region", name="Selection")).to_contain_text(
        "Sitehourly, 2015051805 to 2015051903, 23 periods: 23 processed"
    )
    expect(page.get_by_role("complementary", name="Job")).to_be_hidden()


def test_the_calendar_works_by_keyboard(look, site):
    page = look(site)
    job(page, "Sitehourly", "2015051805").focus()
    page.keyboard.press("ArrowRight")
    expect(job(page, "Sitehourly", "2015051806")).to_be_focused()
    expect(page.locator("#calendar-status")).to_have_text("Mon 18 May 2015, 06:00: processed")
    page.keyboard.press("ArrowUp")
    expect(job(page, "Sitehourly", "2015051906")).to_be_focused()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowLeft")
    expect(job(page, "Sitedaily", "2015051900")).to_be_focused()
    page.keyboard.press("ArrowLeft")
    expect(job(page, "Sitemonthly", "2015050000")).to_be_focused()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("Shift+ArrowRight")
    selection = page.get_by_role("region", name="Selection")
    expect(selection).to_contain_text("Sitehourly, 2015051900 to 2015051902, 3 periods")
    page.keyboard.press("Escape")
    expect(selection).to_be_hidden()
    page.keyboard.press("Enter")
    panel = page.get_by_role("complementary", name="Job")
    expect(panel.get_by_role("heading", level=2)).to_contain_text("2015051902")
    expect(page).to_have_url(re.compile(r"#Sitehourly/2015051902$"))
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()


def test_the_cascade_is_previewed_and_progress_is_shown_live(look, site, world):
    page = look(site)
    drag(page, job(page, "Sitehourly", "2015051903"), job(page, "Sitehourly", "2015051905"))
    selection = page.get_by_role("region", name="Selection")
    selection.get_by_role("button", name="Reprocess…").click()
    # three hours, their day, and the day that another tree made from it; months have not begun
    expect(selection.get_by_role("listitem")).to_have_text(
        ["1 Sitedaily", "3 Sitehourly", "1 Clientdaily (another tree)"]
    )
    expect(job(page, "Sitedaily", "2015051900")).to_have_class(re.compile(r"\btouched\b"))
    selection.get_by_label("Why").fill("counted twice")
    selection.get_by_role("button", name="Reprocess 5 jobs").click()
    shows(page, "Sitehourly", "2015051904", "embryo, late")
    shows(page, "Sitedaily", "2015051900", "embryo, late")
    assert world.generation("Sitedaily", "2015051900") == 2
    world.settle()
    shows(page, "Sitehourly", "2015051904", "processed")
    shows(page, "Sitedaily", "2015051900", "processed")
    (entry,) = [
        e
        for e in world.store.journal.of_job("Sitedaily", "2015051900", 20)
        if e.event == "job.started_over"
    ]
    assert (entry.why, entry.who) == ("counted twice", "local (mx)")


def test_a_late_result_does_not_change_the_next_selection(look, site):
    page = look(site)
    operation = {"id": "one", "kind": "reprocess", "total": 7, "done": 0, "touched": 7}
    held = []

    def answer(route):
        is_dry = route.request.post_data_json.get("dry_run")
        accepted = {"status": 202, "json": {**operation, "state": "running"}}
        return route.continue_() if is_dry else route.fulfill(**accepted)

    page.route("**/api/v1/jobs/reprocess", answer)
    page.route("**/api/v1/operations/one", lambda route: held.extend([route]))
    selection = page.get_by_role("region", name="Selection")
    drag(page, job(page, "Sitehourly", "2015051903"), job(page, "Sitehourly", "2015051905"))
    selection.get_by_role("button", name="Reprocess…").click()
    with page.expect_request("**/api/v1/operations/one"):
        selection.get_by_role("button", name="Reprocess 5 jobs").click()
    drag(page, job(page, "Sitehourly", "2015051907"), job(page, "Sitehourly", "2015051908"))
    selection.get_by_role("button", name="Reprocess…").click()
    selection.get_by_label("Why").fill("another one")
    held[0].fulfill(json={**operation, "state": "done"})
    expect(page.get_by_role("status").filter(has_text="Reprocess: 7 jobs")).to_be_visible()
    expect(selection.get_by_label("Why")).to_have_value("another one")
    expect(selection.get_by_role("button", name="Reprocess 4 jobs")).to_be_enabled()
    expect(selection.get_by_role("alert")).to_be_hidden()


def test_a_long_reprocessing_is_followed_to_its_end(look, served, worlds):
    world = worlds(site_and_client(), "2015010100", NOW)
    first, last = HOURLY.parse("2015010100"), HOURLY.parse("2015041523")
    passed = JobChange(
        "Sitehourly", HOURLY, first, last, JobState.EMBRYO, JobState.NOOP, 1, "nothing", "a test"
    )
    assert not world.store.jobs.move([passed], NOW)
    page = look(served(world) + "/timetable/site?at=2015-01")
    page.locator("#strip a[data-at='2015010000']").click()
    job(page, "Sitehourly", "2015010100").click()
    page.locator("#strip a[data-at='2015040000']").click()
    job(page, "Sitehourly", "2015041523").click(modifiers=["Shift"])
    selection = page.get_by_role("region", name="Selection")
    # January to March have 90 days, and 15 of April: 105 days of 24 hours
    expect(selection).to_contain_text("2,520 periods: 2,520 noop")
    selection.get_by_role("button", name="Reprocess…").click()
    selection.get_by_role("button", name="Reprocess 2,520 jobs").click()
    expect(selection).to_contain_text("2,520 periods: 2,520 embryo")
    expect(page.get_by_text("Reprocess: 2,520 jobs.")).to_be_visible()
    assert world.generation("Sitehourly", "2015030112") == 2


def test_the_panel_names_the_cause_and_carries_out_its_remedy(look, served, worlds):
    world = diligent(worlds(site_and_client(is_on=False), "2015051700", NOW))
    world.schedule()
    page = look(served(world) + "/timetable/site#Sitedaily/2015051700")
    panel = page.get_by_role("complementary", name="Job")
    expect(panel).to_contain_text("the process is switched off")
    panel.get_by_role("button", name="Switch the process on").first.click()
    page.get_by_role("dialog").get_by_role("button", name="Switch the process on").click()
    expect(panel).to_contain_text("waits for 24 children")
    panel.get_by_role("link", name="Sitehourly 2015051700").first.click()
    expect(panel.get_by_role("heading", level=2)).to_contain_text("2015051700")
    panel.get_by_role("button", name="Switch the process on").click()
    page.get_by_role("dialog").get_by_role("button", name="Switch the process on").click()
    expect(panel).not_to_contain_text("switched off")
    world.settle()
    shows(page, "Sitehourly", "2015051700", "processed")
    shows(page, "Sitedaily", "2015051700", "processed")
    assert world.state("Sitedaily", "2015051700") is JobState.PROCESSED


def test_skipping_a_job_skips_its_dependants(look, site, world):
    page = look(site)
    cell = job(page, "Sitehourly", "2015052011")
    shows(page, "Sitehourly", "2015052011", "embryo, open")
    job(page, "Sitedaily", "2015052000").focus()
    page.keyboard.press("Shift+ArrowDown")
    selection = page.get_by_role("region", name="Selection")
    expect(selection).to_contain_text("Sitedaily, 2015051900 to 2015052000, 2 periods")
    selection.get_by_role("button", name="Skip…").click()
    # the day that is open, its hours that are, and the other tree's day; what is finished stays
    expect(selection.get_by_role("listitem")).to_have_text(
        ["1 Sitedaily", "2 Sitehourly", "1 Clientdaily (another tree)"]
    )
    selection.get_by_role("button", name="Back").click()
    expect(selection.get_by_role("button", name="Skip…")).to_be_visible()
    expect(cell).not_to_have_class(re.compile(r"\btouched\b"))
    assert world.state("Sitedaily", "2015052000") is JobState.EMBRYO


def test_keys_go_to_the_next_problem(look, site, world):
    world.reprocess("Sitehourly", ("2015051714", "2015051715"), OPERATOR, world.clock.now())
    page = look(site)
    job(page, "Sitehourly", "2015052005").focus()
    page.keyboard.press("p")
    expect(job(page, "Sitehourly", "2015051715")).to_be_focused()
    page.keyboard.press("p")
    expect(job(page, "Sitedaily", "2015051700")).to_be_focused()


def test_the_jump_field_goes_to_a_timeperiod(look, site):
    page = look(site)
    page.get_by_role("textbox", name="Timeperiod").fill("2015-05-18 07")
    page.keyboard.press("Enter")
    expect(job(page, "Sitehourly", "2015051807")).to_be_focused()


def test_the_legend_dims_other_states(look, site):
    page = look(site)
    page.get_by_role("button", name=re.compile("^embryo")).click()
    expect(job(page, "Sitehourly", "2015051807")).to_have_css("opacity", "0.14")
    expect(job(page, "Sitehourly", "2015052012")).to_have_css("opacity", "1")


def test_ten_years_of_hours_have_few_rows_in_the_document(look, served, worlds):
    world = worlds(site_and_client(), "2005051700", NOW)
    page = look(served(world) + "/timetable/site")
    shows(page, "Sitehourly", "2015052012", "embryo, open")
    assert page.locator(".cal-row").count() < 80
    page.locator("#strip a[data-at='2005060000']").click()
    shows(page, "Sitehourly", "2005060100", "embryo, late")
    assert page.locator(".cal-row").count() < 80


def test_the_focus_survives_scrolling(look, served, worlds):
    world = worlds(site_and_client(), "2005051700", NOW)
    page = look(served(world) + "/timetable/site")
    job(page, "Sitehourly", "2015052003").focus()
    page.locator("#calendar").evaluate("view => { view.scrollTop = 20000; }")
    expect(job(page, "Sitehourly", "2015052003")).to_have_count(0)
    page.keyboard.press("ArrowRight")
    expect(job(page, "Sitehourly", "2015052004")).to_be_focused()


def test_a_grouped_process_has_one_cell_for_each_job(look, served, worlds):
    deployment = a_deployment(
        {"some": [a_process("Day", DAILY), a_process("Hours", HOURLY, time_grouping=6)]}
    )
    world = worlds(deployment, "2015051700", NOW)
    page = look(served(world) + "/timetable/some")
    row = page.get_by_role("row").filter(has=job(page, "Hours", "2015051906"))
    # hours 0 to 6, 7 to 12, 13 to 18, 19 to 23
    expect(row.get_by_role("gridcell").and_(page.locator(":visible"))).to_have_count(4)
    shows(page, "Hours", "2015051923", "embryo, late")


def test_without_script_the_tree_is_a_table(look, site):
    page = look(site, java_script_enabled=False)
    table = page.get_by_role("table", name="Tree site, newest first")
    expect(table.get_by_role("link", name="Sitehourly 2015052012: embryo, open")).to_be_visible()
    table.get_by_role("link", name="Sitehourly 2015051903: processed").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Sitehourly 2015051903")
    expect(page.get_by_role("region", name="History")).to_contain_text("job.processed")


def test_without_script_older_rows_have_a_link(look, served, worlds):
    world = worlds(site_and_client(), "2015010100", NOW)
    page = look(served(world) + "/timetable/site", java_script_enabled=False)
    first = page.get_by_role("link", name="Sitehourly 2015041923: embryo, late")
    expect(first).to_have_count(0)
    page.get_by_role("link", name="Older").click()
    expect(first).to_be_visible()  # 31 rows before 20 April, the oldest of the newest 31
    page.get_by_role("link", name="Newer").click()
    expect(page.get_by_role("link", name="Sitehourly 2015052012: embryo, open")).to_be_visible()
