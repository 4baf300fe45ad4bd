"""The script of all pages: actions with a reason, live parts, times and keys."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.factories import an_entry
from tests.mx.browser.conftest import in_each_font
from tests.mx.pages_kit import HOSTILE, of_all_kinds, seen


@pytest.fixture
def world(worlds):
    world = worlds(of_all_kinds())
    world.store.boxes.assign("north", ["Listener", "Report"])
    report = [seen(world, "north", "Listener", "running")]
    world.store.boxes.report("north", report, world.clock.now())
    return world


@pytest.fixture
def mx(world, served):
    return served(world)


def the_switch(page, turn: str):
    return page.get_by_role("switch", name=f"Switch Listener {turn} on north")


def ask(page):
    return page.get_by_role("dialog")


def test_a_switch_works_by_keyboard_and_the_journal_has_the_reason(look, mx, world):
    page = look(f"{mx}/boxes")
    the_switch(page, "off").focus()
    page.keyboard.press("Space")
    expect(ask(page).get_by_role("heading")).to_have_text("Switch Listener off on north")
    expect(ask(page).get_by_label("Why")).to_be_focused()
    page.keyboard.type("disk is full")
    page.keyboard.press("Enter")
    expect(the_switch(page, "on")).to_be_focused()
    expect(the_switch(page, "on")).not_to_be_checked()
    [entry] = world.store.journal.find("Listener", 1)
    assert entry.event == "box.process_off"
    assert [one.is_on for one in world.store.boxes.assignments("north")] == [False, True]


def test_a_change_right_after_the_action_is_shown(look, mx):
    page = look(f"{mx}/boxes")
    for turn, after in (("off", "on"), ("on", "off"), ("off", "on")):
        the_switch(page, turn).click()
        ask(page).get_by_role("button", name=re.compile("^Switch")).click()
        expect(the_switch(page, after)).to_be_visible()


def test_escape_cancels_the_dialog_and_returns_the_focus(look, mx, world):
    page = look(f"{mx}/boxes")
    before = world.store.journal.last_seq()
    the_switch(page, "off").click()
    page.keyboard.press("Escape")
    expect(ask(page)).to_have_count(0)
    expect(the_switch(page, "off")).to_be_focused()
    assert world.store.journal.last_seq() == before


def test_the_dialog_previews_the_touched_jobs(look, mx, world):
    page = look(f"{mx}/processes/Sitedaily")
    page.get_by_role("textbox", name="Trigger").fill("every 90")
    page.get_by_role("button", name="Change").click()
    expect(ask(page).get_by_role("row").nth(1)).to_contain_text("every 600every 90")
    assert world.store.controls.all() == {}
    ask(page).get_by_role("button", name="Change").click()
    expect(page.get_by_role("textbox", name="Trigger")).to_have_value("every 90")
    expect(page.locator("#process").get_by_text("every 90", exact=True)).to_be_visible()


def test_a_refused_preview_gives_the_reason_and_disables_sending(look, mx):
    page = look(f"{mx}/processes/Sitedaily")
    page.get_by_role("textbox", name="Trigger").fill("evry 5")
    page.keyboard.press("Enter")
    expect(ask(page).get_by_role("alert")).to_contain_text("expected 'every SECONDS'")
    expect(ask(page).get_by_role("button", name="Change")).to_be_disabled()


def test_markup_in_a_response_is_shown_as_text(look, mx):
    page = look(f"{mx}/processes/Sitedaily")
    page.get_by_role("textbox", name="Trigger").fill(HOSTILE)
    page.keyboard.press("Enter")
    expect(ask(page).get_by_role("alert")).to_contain_text(HOSTILE)
    expect(ask(page).locator("script")).to_have_count(0)


def test_a_long_operation_is_followed_to_its_end(look, served, worlds):
    world = worlds(of_all_kinds(), start="2015010100")
    page = look(served(world) + "/processes/Sitehourly")
    page.evaluate(
        """async () => {
            const app = document.querySelector("script[src$='/app.js']").src;
            const { perform } = await import(app);
            perform({label: "Skip", method: "POST", path: "/api/v1/jobs/skip", preview: true,
                     body: {process: "Sitehourly", from: "2015010100", to: "2015050100"}});
        }"""
    )
    # 120 days of 24 hours.
    expect(ask(page)).to_contain_text("Would touch 2,880")
    expect(ask(page).locator("tbody .state-skipped").first).to_be_visible()
    ask(page).get_by_role("button", name="Skip").click()
    expect(page.get_by_role("status").filter(has_text="2,880 touched")).to_be_visible()
    assert world.state("Sitehourly", "2015043023").word == "skipped"
    assert world.state("Sitehourly", "2015050100").word == "embryo"


def test_the_page_shows_the_last_of_many_events(look, mx, world):
    page = look(f"{mx}/processes/Report")
    expect(page.locator("#live")).to_have_text("live")
    for number in range(3):
        entry = an_entry("process.triggered", process="Report", why=f"the {number}.")
        world.store.journal.append([entry])
        expect(page.get_by_text(f"the {number}.")).to_be_visible()


def test_an_event_during_the_load_of_a_page_is_shown(look, mx, world):
    page = look("about:blank")

    def late(route):
        entry = an_entry("process.triggered", process="Report", why="just now")
        world.store.journal.append([entry])
        route.continue_()  # the page is there, the stream not yet

    page.route("**/api/v1/stream*", late, times=1)
    page.goto(f"{mx}/journal")  # which is not read again by itself
    expect(page.get_by_text("just now", exact=True)).to_be_visible()


def test_a_page_that_lost_its_connection_says_so_and_reloads(look, mx, world):
    page = look(f"{mx}/boxes")
    expect(page.locator("#live")).to_have_text("live")
    page.context.set_offline(True)
    page.evaluate("document.dispatchEvent(new CustomEvent('synergy:behind'))")
    expect(page.get_by_role("status").filter(has_text="does not respond")).to_be_visible()
    page.context.set_offline(False)
    world.store.boxes.assign("north", ["Sitedaily"])
    page.evaluate("document.dispatchEvent(new CustomEvent('synergy:behind'))")
    expect(page.get_by_role("link", name="Sitedaily")).to_be_visible()


def test_relative_times_use_the_clock_of_mx(look, mx, world):
    page = look(f"{mx}/boxes")
    row = page.get_by_role("row").filter(has_text="Listener")
    expect(row.locator("time")).to_have_text(re.compile(r"^(now|\d+ s ago)$"))
    row.locator("time").hover()
    now = world.clock.now()
    expect(row.locator("time")).to_have_attribute(
        "title", re.compile(f"^{now:%Y-%m-%d %H:%M:%S} UTC\n")
    )


def test_keys_open_every_page(look, mx):
    page = look(mx)
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_contain_text("Timetable")
    page.keyboard.press("Escape")
    page.keyboard.press("g")
    page.keyboard.press("b")
    expect(page.get_by_role("heading", name="Boxes", level=1)).to_be_visible()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()


def test_without_script_pages_are_readable_and_offer_no_scripted_action(look, mx):
    page = look(f"{mx}/boxes", java_script_enabled=False)
    row = page.get_by_role("row").filter(has_text="Listener")
    expect(row).to_contain_text("on")
    expect(row).to_contain_text("running")
    expect(page.get_by_role("switch")).to_have_count(0)
    page.get_by_role("link", name="Listener").click()
    expect(page.get_by_role("heading", name="Listener", level=1)).to_be_visible()
    expect(page.get_by_role("button")).to_have_count(0)


@in_each_font
def test_no_page_is_wider_than_a_small_screen(look, mx):
    page = look(mx, viewport={"width": 380, "height": 800})
    for path in ("/", "/boxes", "/processes", "/processes/Sitedaily"):
        page.goto(mx + path)
        assert page.evaluate("document.documentElement.scrollWidth") == 380, path
        wide = page.locator(".table-wrap[tabindex='0']")
        assert all(one.get_attribute("aria-label") for one in wide.all()), path


def test_only_a_refused_request_is_repeated_with_a_new_key(look, mx):
    page = look(f"{mx}/queues")
    keys, answers = [], [
        {"status": 409, "headers": {"Retry-After": "1"}, "json": {"detail": "under way"}},
        {"status": 503, "json": {"detail": "no store"}},
        {"status": 409, "json": {"detail": "changed meanwhile"}},
        {"status": 200, "json": {"count": 0}},
    ]  # fmt: skip

    def answer(route):
        if route.request.post_data_json.get("dry_run"):
            return route.continue_()
        keys.append(route.request.headers["idempotency-key"])
        return route.fulfill(**answers[len(keys) - 1])

    page.route("**/api/v1/gc/run", answer)
    page.get_by_role("button", name="Run now").click()
    for said in ("under way", "no store", "changed meanwhile"):
        ask(page).get_by_role("button", name="Run now").click()
        expect(ask(page)).to_contain_text(said)
    ask(page).get_by_role("button", name="Run now").click()
    expect(ask(page)).to_be_hidden()
    assert keys[0] == keys[1] == keys[2] != keys[3]


def test_an_operation_is_followed_through_an_outage_of_mx(look, mx):
    page = look(f"{mx}/queues")
    operation = {
        "id": "one", "kind": "skip", "state": "running", "touched": 7, "done": 0, "total": 7,
    }  # fmt: skip
    looks = [{"status": 503}, {"status": 429, "headers": {"Retry-After": "1"}}]

    def look_at(route):
        route.fulfill(**(looks.pop(0) if looks else {"json": {**operation, "state": "done"}}))

    def run(route):
        is_dry = route.request.post_data_json.get("dry_run")
        return route.continue_() if is_dry else route.fulfill(status=202, json=operation)

    page.route("**/api/v1/gc/run", run)
    page.route("**/api/v1/operations/one", look_at)
    page.get_by_role("button", name="Run now").click()
    ask(page).get_by_role("button", name="Run now").click()
    expect(page.get_by_role("status").filter(has_text="7 touched")).to_be_visible()


def test_a_late_response_does_not_change_the_next_dialog(look, mx, world):
    page = look(f"{mx}/boxes")
    held = []
    page.route("**/api/v1/boxes/**", lambda route: held.extend([route]), times=1)
    the_switch(page, "off").click()
    with page.expect_request("**/api/v1/boxes/**"):
        page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    page.get_by_role("switch", name="Switch Report off on north").click()
    accepted = {"id": "one", "kind": "skip", "state": "done", "touched": 7, "done": 7, "total": 7}
    held[0].fulfill(status=202, json=accepted)
    expect(page.get_by_role("status").filter(has_text="7 touched")).to_be_visible()
    expect(ask(page).get_by_label("Why")).to_be_visible()
    expect(ask(page).get_by_role("button", name="Switch")).to_be_visible()


def test_the_result_is_shown_after_the_dialog_was_closed(look, mx):
    page = look(f"{mx}/boxes")
    page.evaluate("document.addEventListener('synergy:behind', () => (document.title = 'behind'))")
    held = []
    page.route("**/api/v1/boxes/**", lambda route: held.extend([route]), times=1)
    the_switch(page, "off").click()
    with page.expect_request("**/api/v1/boxes/**"):
        page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    held[0].continue_()
    expect(page).to_have_title("behind")
