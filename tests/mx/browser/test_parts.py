"""Parts of pages that are reloaded after events, until they show them."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from synergy.delivery.request import failed
from tests.factories import an_entry
from tests.mx.pages_kit import of_all_kinds
from tests.mx.schedules_kit import HOOK, ScheduleHarness

PAUSE = 3000  # milliseconds; longer than the interval in which parts check for missed events
EVERY = 11_000  # milliseconds; longer than the interval of polling for changes without an entry


@pytest.fixture
def world(worlds):
    return worlds(of_all_kinds())


@pytest.fixture
def mx(world, served):
    return served(world)


@pytest.fixture
def happen(world):
    """Appends an entry to the journal."""

    def it(why):
        world.store.journal.append([an_entry("run.processed", process="Report", why=why)])

    return it


def opened(look, url):
    """A page that is connected to the stream."""
    page = look("about:blank")
    page.clock.install()
    page.goto(url)
    expect(page.locator("#live")).to_have_text("live")
    return page


def rest(page):
    """Waits for a pause between reloads, and for the requests in it."""
    page.clock.run_for(PAUSE)
    expect(page.locator(".htmx-request")).to_have_count(0)


def test_an_up_to_date_part_is_not_reloaded(look, mx, happen):
    page = opened(look, f"{mx}/journal")
    reads = []
    page.on("request", lambda asked: reads.append(asked.url.removeprefix(mx)))
    with page.expect_response("**/journal"):
        happen("once")
    rest(page)
    before = reads.count("/journal")
    for _ in range(3):
        rest(page)
    assert reads.count("/journal") == before


def test_an_event_during_a_reload_causes_another_reload(look, mx, happen):
    page = opened(look, f"{mx}/journal")
    page.evaluate(
        """document.addEventListener("synergy:run", event => {
            document.body.dataset.heard = event.detail.why;
        })"""
    )
    held = []

    def late(route):
        held.append((route, route.fetch()))
        happen("the second")

    page.route("**/journal", late, times=1)
    happen("the first")
    expect(page.locator("body[data-heard='the second']")).to_have_count(1)
    [(route, answer)] = held
    route.fulfill(response=answer)
    expect(page.get_by_text("the second", exact=True)).to_be_visible()


def no_network(route):
    route.abort()


def no_store(route):
    route.fulfill(status=503)


@pytest.mark.parametrize("answer", [no_network, no_store])
def test_a_failed_reload_is_repeated(look, mx, happen, answer):
    page = opened(look, f"{mx}/journal")
    page.route("**/journal", answer, times=1)
    happen("while MX was away")
    expect(page.get_by_role("status").filter(has_text="MX")).to_be_visible()
    expect(page.get_by_text("while MX was away", exact=True)).to_be_visible()


def test_a_reload_keeps_scroll_position_and_focus(look, mx, happen):
    happen("before")
    page = look(f"{mx}/journal", viewport={"width": 390, "height": 800})
    expect(page.locator("#live")).to_have_text("live")
    table = page.locator("#entries .table-wrap")
    table.focus()
    table.evaluate("it => it.scrollTo(120, 0)")
    happen("after")
    expect(page.get_by_text("after", exact=True)).to_be_attached()
    assert table.evaluate("it => it.scrollLeft") == 120
    expect(table).to_be_focused()


def test_the_journal_page_shows_clock_events(look, mx, world):
    page = look(f"{mx}/journal")
    expect(page.locator("#live")).to_have_text("live")
    world.store.journal.append([an_entry("clock.jumped", why="an hour back")])
    expect(page.get_by_text("an hour back", exact=True)).to_be_visible()


def test_a_change_without_a_journal_entry_is_shown_by_polling(look, served):
    harness = ScheduleHarness()
    harness.create(HOOK, enabled=True)
    harness.answer = failed("nobody is there", status=503)
    page = look("about:blank")
    page.clock.install()
    [run] = harness.act("hook/trigger")["touched"]
    page.goto(f"{served(harness.world)}/runs/{run['id']}")
    expect(page.locator("#run")).to_contain_text("No response yet")
    harness.settle()
    page.clock.run_for(EVERY)
    expect(page.locator("#run")).to_contain_text("nobody is there")
    harness.close()


def test_a_reload_keeps_the_focus_on_the_same_action(look, mx):
    page = look(f"{mx}/queues")
    flush = page.get_by_role("button", name="Flush")
    flush.focus()
    page.evaluate("document.activeElement.dataset.old = ''")
    page.evaluate("htmx.trigger('#queues', 'refresh')")
    expect(page.locator("[data-old]")).to_have_count(0)
    expect(flush).to_be_focused()


def test_a_reload_does_not_swallow_a_click(look, mx):
    page = look(f"{mx}/queues")
    page.get_by_role("button", name="Flush").hover()
    page.mouse.down()
    page.evaluate(
        """() => new Promise((done) => {
            document.addEventListener("htmx:afterRequest", () => done(), { once: true });
            htmx.trigger("#queues", "refresh");
        })"""
    )
    page.mouse.up()
    expect(page.get_by_role("dialog")).to_contain_text("Flush")
