"""Takes a picture of every page, light and dark, wide and narrow, with a made-up deployment.

    SYNERGY_NO_VENV=1 python -m tests.acceptance.browser.screenshots FOLDER [NAME ...]

The documentation keeps only the pictures that a page of it shows (`docs/screenshots`). No picture
shows a name or a path of the machine that it was taken on.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, Page, expect, sync_playwright

from synergy.model.schedule import RunState
from synergy.model.unit_of_work import UnitState
from tests.acceptance.browser.showroom import BOX, address, period, showroom
from tests.acceptance.kit import PROJECT, Home
from tests.mx.browser.conftest import QUIET, TIMEOUT_MS
from tests.mx.browser.test_login import log_in
from tests.mx.browser.test_timetable import job

WIDTHS = {"": (1440, 900), "-narrow": (390, 844)}
THEMES = ("light", "dark")
TALLEST = 1600  # pixels
RENAME = """([machine, box]) => {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const name = new RegExp(`(?<![\\w.-])${machine}(?![\\w.-])`, "g");
    while (walker.nextNode()) {
        walker.currentNode.data = walker.currentNode.data.replace(name, box);
    }
}"""


def nothing(_page: Page) -> None:
    """Most pages need no preparation."""


@dataclass(frozen=True)
class Shot:
    """A picture of the page at `path`, after `ready` has prepared the page."""

    name: str
    path: str
    ready: Callable[[Page], None] = nothing
    person: str = "anna"
    status: int = 200
    is_whole: bool = True  # the whole page, or only the first screen


def shots(home: Home) -> list[Shot]:
    with home.store() as store:
        runs, _ = store.runs.find(schedule="daily-numbers")
        dead, _ = store.runs.find(schedule="partner-report", state=RunState.FAILED)
        units, _ = store.units.find("InvoiceHourly", UnitState.INVALID)
    hourly = "SiteHourlyAggregator"
    failing = f"InvoiceHourly/{units[0].timeperiod}"
    return [
        Shot("overview", "/"),
        Shot("timetables", "/timetable"),
        Shot("timetable", "/timetable/site", cells, is_whole=False),
        Shot("timetable-failing", "/timetable/invoices", cells, is_whole=False),
        Shot("timetable-preview", "/timetable/site", selected, is_whole=False),
        Shot("timetable-job", f"/timetable/invoices#{failing}", panel, is_whole=False),
        Shot("job", f"/jobs/BalanceDaily/{period(1)}"),
        Shot("job-reprocessed", f"/jobs/{hourly}/{period(4, 10)}"),
        Shot("job-dialog", f"/jobs/{hourly}/{period(4, 10)}", asked, is_whole=False),
        Shot("processes", "/processes"),
        Shot("process", f"/processes/{hourly}"),
        Shot("boxes", "/boxes"),
        Shot("schedules", "/schedules"),
        Shot("schedule", "/schedules/daily-numbers"),
        Shot("schedule-latches", "/schedules/after-files"),
        Shot("schedule-new", "/schedules/new", written),
        Shot("runs", "/runs"),
        Shot("runs-dead", "/runs?state=dead"),
        Shot("run", f"/runs/{runs[0].id}"),
        Shot("run-dead", f"/runs/{dead[0].id}"),
        Shot("units", "/units"),
        Shot("unit", f"/units/{units[0].id}"),
        Shot("unit-log", f"/units/{units[0].id}/log", lines, is_whole=False),
        Shot("logs", "/logs"),
        Shot("log", f"/logs/{hourly}", lines, is_whole=False),
        Shot("events", "/events"),
        Shot("journal", "/journal?event=job"),
        Shot("audit", "/audit"),
        Shot("queues", "/queues"),
        Shot("account", "/account"),
        Shot("viewer", "/processes/InvoiceHourly", person="vera"),
        Shot("error", "/jobs/Nobody/2015050100", status=404),
        Shot("login", "/login", person=""),
    ]


def cells(page: Page) -> None:
    expect(page.locator("#calendar [role=gridcell]").first).to_be_visible()


def selected(page: Page) -> None:
    """Selects five hours and shows the preview of reprocessing them."""
    cells(page)
    page.get_by_role("button", name="Select", exact=True).click()
    for hour in (3, 7):
        job(page, "SiteHourlyAggregator", period(2, hour)).click()
    page.get_by_role("button", name="Reprocess…").click()
    expect(page.locator("[data-part=go]")).to_be_visible()
    page.locator("[data-part=reason]").fill("bots were counted")


def panel(page: Page) -> None:
    cells(page)
    expect(page.locator("#job-panel #job")).to_be_visible()


def lines(page: Page) -> None:
    """Waits until all visible lines are loaded."""
    expect(page.locator(".lv-number").first).to_be_visible()
    expect(page.locator(".lv-number + .text", has_text=re.compile("^…$"))).to_have_count(0)


def asked(page: Page) -> None:
    page.get_by_role("button", name="Reprocess", exact=True).first.click()
    expect(page.locator("#ask-go")).to_be_enabled()


def written(page: Page) -> None:
    page.get_by_label("Name", exact=True).fill("month-end")
    page.get_by_label("Runs, or sends to").select_option("http")
    page.get_by_label("Target").fill("https://example.com/hook")
    page.get_by_label("Payload").fill('{"day": "${yesterdaysDate}"}')
    page.get_by_label("Cron lines").fill("30 2 28-31 * *")
    page.get_by_label("Time zone").fill("Europe/Berlin")
    expect(page.locator("#preview tbody tr")).to_have_count(10)


def make(browser: Browser, home: Home, folder: Path, wanted: list[str]) -> None:
    states = {"": None, **{name: _session(browser, home, name) for name in ("anna", "vera")}}
    for shot in shots(home):
        if wanted and shot.name not in wanted:
            continue
        for theme in THEMES:
            for suffix, (width, height) in WIDTHS.items():
                context = browser.new_context(
                    color_scheme=theme,  # type: ignore[arg-type]
                    viewport={"width": width, "height": height},
                    reduced_motion="reduce",
                    storage_state=states[shot.person],
                )
                context.set_default_timeout(TIMEOUT_MS)
                page = context.new_page()
                answer = page.goto(address(home) + shot.path)
                assert answer is not None
                assert answer.status == shot.status, shot
                shot.ready(page)
                _replace_host_name(page)
                _assert_no_local_paths(page, home)
                _picture(page, shot, folder / f"{shot.name}-{theme}{suffix}.png")
                context.close()


def _session(browser: Browser, home: Home, name: str):
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{address(home)}/login")
    log_in(page, name)
    expect(page).to_have_url(f"{address(home)}/")
    state = context.storage_state()
    context.close()
    return state


def _picture(page: Page, shot: Shot, file: Path) -> None:
    width, height = page.viewport_size["width"], page.viewport_size["height"]
    if shot.is_whole:
        whole = page.evaluate("document.documentElement.scrollHeight")
        page.set_viewport_size({"width": width, "height": max(height, min(whole, TALLEST))})
    page.mouse.move(0, 0)
    page.evaluate("scrollTo(0, 0)")
    page.screenshot(path=file, animations="disabled", caret="hide")
    if quantizer := shutil.which("pngquant"):
        subprocess.run([quantizer, "--force", "--skip-if-larger", "--ext", ".png", "256", file])


def _replace_host_name(page: Page) -> None:
    """Replaces the name of this machine by the name of the box."""
    page.evaluate(RENAME, [socket.gethostname(), BOX])


def _assert_no_local_paths(page: Page, home: Home) -> None:
    """Fails if the page contains a path of this machine."""
    text = page.content()
    found = [path for path in (str(home.path), str(PROJECT), sys.prefix) if path in text]
    assert not found, (page.url, found)


def main() -> None:
    os.environ.setdefault("SYNERGY_NO_VENV", "1")
    expect.set_options(timeout=TIMEOUT_MS)
    if len(sys.argv) < 2:
        sys.exit("usage: python -m tests.acceptance.browser.screenshots FOLDER [NAME ...]")
    pictures = Path(sys.argv[1])
    pictures.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        showroom(Path(folder)) as home,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium") or shutil.which("chromium-headless-shell"),
            args=list(QUIET),
        )
        make(browser, home, pictures, sys.argv[2:])
        browser.close()


if __name__ == "__main__":
    main()
