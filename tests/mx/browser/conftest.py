"""MX in Chromium: the web application of a world, served at a port of its own."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import NoReturn

import pytest
import uvicorn
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Error,
    Page,
    expect,
    sync_playwright,
)

from synergy.mx.services import Services
from synergy.names import TIMETABLE_START
from tests.mx.asking import local_app
from tests.service.scheduler_harness import SchedulerHarness

QUIET = (  # no traffic of Chromium's own, and no features that a test machine may lack
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-quic",
    "--disable-component-update", "--no-first-run", "--disable-sync", "--disable-dev-shm-usage",
)  # fmt: skip
BROWSERS = ("chromium-headless-shell", "chromium")  # the first needs half the processor time
UNREACHABLE = "Failed to load resource: net::"  # also requests that are open when the server ends
REFUSALS = (
    "Failed to load resource: the server responded with a status of 4",
    "Failed to load resource: the server responded with a status of 503",  # no store, for now
)
FAILED_REQUESTS = (  # messages of htmx while there is no network or no store
    "htmx:afterRequest,", "htmx:sendError,", "Response Status Error Code 503",
    "htmx:sendAbort,",  # and after a request was aborted
)  # fmt: skip
WIDE, NARROW = "DejaVu Sans", "DejaVu Sans Condensed"
FONTS = {WIDE: "fonts-dejavu-core", NARROW: "fonts-dejavu-extra"}  # by Debian package
OTHERS = ("serif", "monospace")
IN_FONT = """{
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(":root { --sans: '%s' !important }");
    document.adoptedStyleSheets = [sheet];
}"""
WIDTHS = """fonts => {
    const canvas = document.createElement("canvas").getContext("2d");
    return fonts.map(font => {
        canvas.font = `16px ${font}`;
        return canvas.measureText("a width in lines").width;
    });
}"""
TIMEOUT_MS = 60_000  # until an expected change has to be visible; machines may be busy


in_each_font = pytest.mark.parametrize("font", FONTS, indirect=True)
"""For tests of layout: pages have to work with a wide font and with a narrow one."""


@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    """The browser that all tests of a folder share; only one may run at a time."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        _unavailable(f"Chromium is missing: install {BROWSERS[0]}")
    expect.set_options(timeout=TIMEOUT_MS)
    with sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(executable_path=found, args=list(QUIET))
        except Error as error:
            _unavailable(f"Chromium does not start: {error}")
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def fonts(chromium: Browser) -> set[str]:
    """The fonts of the tests that are installed."""
    with chromium.new_page() as page:
        return {
            name
            for name in FONTS
            if len(set(page.evaluate(WIDTHS, [f"'{name}', {o}" for o in OTHERS]))) == 1
        }


@pytest.fixture
def font(fonts: set[str], request: pytest.FixtureRequest) -> str:
    """The font of all pages of a test, whatever fonts the machine has."""
    name = str(getattr(request, "param", WIDE))
    if name not in fonts:
        _unavailable(f"no font {name}: install {FONTS[name]}")
    return name


@pytest.fixture
def look(chromium: Browser, font: str) -> Iterator[Callable[..., Page]]:
    """Opens pages of contexts that end with the test.

    It fails if a script raised, a policy was violated, an asset was missing, or the server failed.
    """
    contexts: list[BrowserContext] = []
    errors: list[str] = []

    def opened(url: str, **options: object) -> Page:
        given = {"viewport": {"width": 1440, "height": 900}, "reduced_motion": "reduce", **options}
        context = chromium.new_context(**given)
        contexts.append(context)
        context.set_default_timeout(TIMEOUT_MS)
        context.add_init_script(IN_FONT % font)
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda said: errors.extend(_complaint(said)))
        page.goto(url)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert not errors


def _complaint(said: ConsoleMessage) -> list[str]:
    """The error in a console message, if it is one and not a refusal that pages handle."""
    where = said.location.get("url", "")
    is_refusal = said.text.startswith(REFUSALS) and "/static/" not in where
    is_failed_request = said.text.startswith(FAILED_REQUESTS)
    is_unreachable = said.text.startswith(UNREACHABLE)
    if said.type != "error" or is_refusal or is_unreachable or is_failed_request:
        return []
    return [f"{said.text} ({where})"]


@pytest.fixture
def served() -> Iterator[Callable[[SchedulerHarness], str]]:
    """Serves the application of a world, and returns its address; ends with the test."""
    with _Servers() as servers:
        yield servers.serve


class _Servers:
    def __enter__(self) -> _Servers:
        self._ends: list[Callable[[], None]] = []
        return self

    def __exit__(self, *_: object) -> None:
        for end in self._ends:
            end()

    def serve(self, world: SchedulerHarness) -> str:
        if world.store.facts.get(TIMETABLE_START) is None:
            world.store.facts.set(TIMETABLE_START, world.start)
        serving = _serving(world)
        url = serving.__enter__()
        self._ends.append(lambda: serving.__exit__(None, None, None))
        return url


@contextmanager
def _serving(world: SchedulerHarness) -> Iterator[str]:
    place = replace(world.workplace("", "mx"), deployment=world.deployment)
    app = local_app(Services.at(place))
    config = uvicorn.Config(app, log_config=None, ws="none", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    listening = socket.create_server(("127.0.0.1", 0))
    loop = asyncio.new_event_loop()

    def run() -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.run(server.serve([listening]))

    def end() -> None:
        app.state.shutdown.set()
        server.should_exit = True

    thread = threading.Thread(target=run, name="mx")
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        loop.call_soon_threadsafe(end)
        thread.join()
        listening.close()


def _unavailable(reason: str) -> NoReturn:
    if "CI" in os.environ:
        pytest.fail(reason)
    pytest.skip(reason)
