"""Live updates of the calendar: missed events, failed requests, and long use."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from playwright.sync_api import expect

from synergy.model.job import JobChange, JobState
from tests.deployments import HOURLY, site_and_client
from tests.factories import an_entry

NOW = datetime(2015, 5, 20, 12, 0, tzinfo=UTC)
STREAM = "**/api/v1/stream*"
HOURS = ("2015051905", "2015051906")
AT_ONCE = 500  # entries that the stream sends one by one
DEAF = "retry: 3600000\n: a connection that stays open and sends nothing\n\n"


@pytest.fixture
def world(worlds):
    """A timetable since 17 May 2015, at noon on the 20th."""
    return worlds(site_and_client(), "2015051700", NOW)


@pytest.fixture
def site(world, served):
    return served(world) + "/timetable/site"


def end(world, first, last, state=JobState.NOOP):
    """Ends hours in a state."""
    hours = (HOURLY.parse(first), HOURLY.parse(last))
    move = JobChange("Sitehourly", HOURLY, *hours, JobState.EMBRYO, state, 1, "so", "a test")
    assert not world.store.jobs.move([move], NOW)


def shows(page, timeperiod, words):
    cell = page.locator(f'[role="gridcell"][aria-label^="Sitehourly {timeperiod}:"]')
    expect(cell).to_have_accessible_name(f"Sitehourly {timeperiod}: {words}")


def test_an_event_during_the_load_of_the_calendar_is_shown(look, site, world):
    page = look("about:blank")

    def late(route):
        end(world, "2015051903", "2015051904")  # the page is there, the stream not yet
        route.continue_()

    page.route(STREAM, late, times=1)
    page.goto(site)
    shows(page, "2015051904", "noop")
    shows(page, "2015051905", "embryo, late")


def test_an_event_during_the_load_of_its_scripts_is_shown(look, site, world):
    page = look("about:blank")
    held, asked = [], []

    def hold(route):
        held.append(route)

    page.route("**/timetable_page.js", hold)
    page.on("request", lambda request: asked.append(request.url))
    with page.expect_request("**/timetable_page.js"):
        page.goto(site)
    assert not [
        url for url in asked if "/stream" in url
    ]  # the stream opens once all scripts are loaded
    end(world, "2015051903", "2015051904")
    held.pop().continue_()
    shows(page, "2015051904", "noop")


@pytest.mark.parametrize("others", [0, AT_ONCE + 1])
def test_the_calendar_catches_up_after_the_machine_slept(look, site, world, others):
    page = look("about:blank")
    page.clock.install()
    page.route(
        STREAM,
        lambda route: route.fulfill(content_type="text/event-stream", body=DEAF),
        times=1,
    )
    page.goto(site)
    expect(page.locator("#live")).to_have_text("reconnecting")
    world.store.journal.append([an_entry("process.triggered") for _ in range(others)])
    end(world, "2015051903", "2015051904", JobState.SKIPPED)
    shows(page, "2015051904", "embryo, late")
    page.clock.fast_forward("01:00:00")
    shows(page, "2015051904", "skipped")
    expect(page.locator("#live")).to_have_text("live")
    end(world, "2015051905", "2015051905")
    shows(page, "2015051905", "noop")


def test_two_tabs_show_the_same(look, site, world):
    page = look(site)
    other = page.context.new_page()
    other.goto(site)
    for each in (page, other):
        expect(each.locator("#live")).to_have_text("live")
    end(world, "2015051903", "2015051904")
    for each in (page, other):
        shows(each, "2015051903", "noop")


def test_of_a_large_cascade_the_first_jobs_are_marked_and_all_are_counted(look, served, worlds):
    world = worlds(site_and_client(), "2015010100", NOW)
    end(world, "2015010100", "2015041523")
    page = look(served(world) + "/timetable/site?at=2015-04")
    cell = page.locator('[role="gridcell"][aria-label^="Sitehourly 2015041523:"]')
    cell.click()
    page.locator("#strip a[data-at='2015010000']").click()
    page.locator('[aria-label^="Sitehourly 2015010100:"]').click(modifiers=["Shift"])
    selection = page.get_by_role("region", name="Selection")
    selection.get_by_role("button", name="Reprocess…").click()
    # January to March have 90 days, and 15 of April: 105 days of 24 hours
    expect(selection.get_by_role("listitem")).to_have_text(["2,520 Sitehourly"])
    expect(selection).to_contain_text("The calendar marks the first 1,000 of them.")


def test_the_memory_of_an_open_page_is_bounded(look, site):
    page = look(site)
    expect(page.locator("#live")).to_have_text("live")
    session = page.context.new_cdp_session(page)
    happen(page, 1000)
    before = held(session)
    happen(page, 10_000)
    after = held(session)
    assert after["heap"] - before["heap"] < 300_000  # bytes: less than 30 for each of them
    assert after["nodes"] - before["nodes"] < 200
    assert after["listeners"] == before["listeners"]


HAPPEN = """async count => {
    const states = ["in_progress", "final_run", "processed", "embryo"];
    for (let n = 0; n < count; n += 1) {
        const hour = `201505${18 + n % 2}${String(n % 24).padStart(2, "0")}`;
        const event = n % 5 ? "job.moved" : n % 2 ? "unit.invalid" : "unit.processed";
        const after = states[n % 4];
        const detail = { seq: n, event, process: "Sitehourly", first: hour, last: hour, after };
        document.dispatchEvent(new CustomEvent(`synergy:${event.split(".")[0]}`, { detail }));
        if (n % 50 === 0) await new Promise(requestAnimationFrame);
    }
    await new Promise(done => setTimeout(done, 1500)); // until nothing flashes any more
}"""


def happen(page, count):
    """Sends the page this many events."""
    page.evaluate(HAPPEN, count)


def held(session):
    """The memory of the page after a garbage collection."""
    session.send("HeapProfiler.collectGarbage")
    counters = session.send("Memory.getDOMCounters")
    used = session.send("Runtime.getHeapUsage")["usedSize"]
    return {"heap": used, "nodes": counters["nodes"], "listeners": counters["jsEventListeners"]}


def test_a_failure_during_the_load_of_failures_is_shown(look, site, world):
    page = look("about:blank")
    page.add_init_script(
        """document.addEventListener("synergy:unit", event => {
            document.documentElement.dataset.heard = event.detail.first;
        })"""
    )
    held = []

    def late(route):
        held.append((route, route.fetch()))
        entry = an_entry(
            "unit.invalid", process="Sitehourly", first="2015051903", last="2015051903"
        )
        world.store.journal.append([entry])

    page.route("**/api/v1/units?process=Sitehourly*", late, times=1)
    page.goto(site)
    expect(page.locator("html[data-heard='2015051903']")).to_have_count(1)
    [(route, answer)] = held
    with page.expect_response("**/api/v1/units?*"):
        route.fulfill(response=answer)
    shows(page, "2015051903", "embryo, failing, late")


def test_a_failed_load_is_repeated_later(look, site, world):
    page = look("about:blank")
    page.clock.install()
    page.goto(site)
    expect(page.locator("#live")).to_have_text("live")
    page.route("**/api/v1/trees/site*", lambda route: route.fulfill(status=503), times=1)
    end(world, "2015051903", "2015051903")
    shows(page, "2015051903", "noop")
    with page.expect_response("**/api/v1/trees/site*"):
        page.evaluate(
            """document.dispatchEvent(new CustomEvent("synergy:job", { detail: {
                event: "job.skipped", process: "Sitehourly", after: "skipped",
                first: "2015051903", last: "2015051903",
            }})), document.dispatchEvent(new CustomEvent("synergy:behind"))"""
        )
    shows(page, "2015051903", "skipped")  # from an event that the store does not have
    page.clock.run_for("01:01")
    shows(page, "2015051903", "noop")


@pytest.mark.parametrize("no_answer", [{"status": 503}, None])
def test_a_job_that_cannot_be_loaded_does_not_leave_the_previous_one(look, site, no_answer):
    page = look(site)
    panel = page.locator("#job-panel")
    first, other = (page.locator(f"[aria-label^='Sitehourly {hour}:']") for hour in HOURS)
    first.click()
    expect(panel.get_by_role("heading", level=2)).to_contain_text(HOURS[0])
    page.route(
        f"**/jobs/Sitehourly/{HOURS[1]}*",
        lambda route: route.fulfill(**no_answer) if no_answer else route.abort(),
        times=1,
    )
    other.click()
    expect(panel).to_contain_text(f"MX did not respond for Sitehourly/{HOURS[1]}")
    expect(panel).not_to_contain_text(HOURS[0])
    other.click()
    expect(panel.get_by_role("heading", level=2)).to_contain_text(HOURS[1])


def test_the_second_of_two_quickly_selected_jobs_is_shown(look, site):
    page = look(site)
    panel = page.locator("#job-panel")
    first, other = (page.locator(f"[aria-label^='Sitehourly {hour}:']") for hour in HOURS)
    held = []
    page.route(f"**/jobs/Sitehourly/{HOURS[0]}*", lambda route: held.extend([route]))
    with page.expect_request(f"**/jobs/Sitehourly/{HOURS[0]}*"):
        first.click()
    other.click()
    expect(panel.get_by_role("heading", level=2)).to_contain_text(HOURS[1])
    expect(panel).not_to_contain_text("MX did not respond")
