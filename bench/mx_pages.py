"""Ten years of hours in a browser: the time until they are shown, and the cost of scrolling."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from bench.contexts.decade import MX, PROCESSES, TREE
from bench.figures import BenchFailed, Figure
from bench.history import closed_hours_ago
from bench.stage import Lab, Stage
from bench.timetable import finish
from synergy.clock import SystemClock
from synergy.names import TIMETABLE_START
from synergy.timeperiod import Qualifier

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, CDPSession

CONTEXT = "bench.contexts.decade"
MOST_HOURS = 87_600  # ten years
NO_CHROMIUM = "chromium is not installed"
OPEN_DAYS = 2  # unfinished days at the end of the history
ROUNDS = 7
FRAMES = 150  # the frames of scrolling the calendar from one end to the other
QUIET = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run")
WIDTH, HEIGHT = 1440, 900
GOAL = 300  # milliseconds

_SEEN = """() => new Promise(done => new PerformanceObserver(list => {
    const found = list.getEntries().find(entry => entry.identifier === "calendar");
    if (found) done(found.renderTime);
}).observe({ type: "element", buffered: true }))"""
_SCROLLED = """frames => new Promise(done => {
    const view = document.getElementById("calendar");
    const end = view.scrollHeight - view.clientHeight;
    const long = [];
    let frame = 0;
    const observer = new PerformanceObserver(list => long.push(...list.getEntries()));
    observer.observe({ type: "longtask" });
    const step = () => {
        frame += 1;
        view.scrollTop = end * frame / frames;
        if (frame < frames) return requestAnimationFrame(step);
        long.push(...observer.takeRecords());
        done(long.length);
    };
    requestAnimationFrame(step);
})"""

_clock = SystemClock()


def measure(lab: Lab, size: int) -> list[Figure]:
    """A tree from years down to `size` hours, at most ten years; in Chromium, if installed."""
    hours = min(size, MOST_HOURS)
    with _browser() as found:
        if isinstance(found, str):
            return [Figure(f"{hours:,} hours in a browser", None, "ms", why_not=found)]
        first_hour = closed_hours_ago(hours, _clock.now())
        with lab.stage(CONTEXT, start_timeperiod=first_hour) as stage:
            _fill(stage, first_hour)
            stage.start(MX)
            url = f"http://127.0.0.1:{stage.environ['SYNERGY_MX_PORT']}/timetable/{TREE}"
            return _figures(stage, found, url, hours)


@dataclass(frozen=True, slots=True)
class _Look:
    """Milliseconds until the calendar was shown, and CPU milliseconds of the page until then."""

    seen: float
    busy: float


def _figures(stage: Stage, browser: Browser, url: str, hours: int) -> list[Figure]:
    cold, warm, scrolled = [], [], []
    for number in range(ROUNDS + 1):
        context = browser.new_context(viewport={"width": WIDTH, "height": HEIGHT})
        first, again = _opened(context, url), _opened(context, url)
        if number:  # the first one warms up MX and the browser
            cold.append(first)
            warm.append(again)
            scrolled.append(_scrolled(context, url))
        context.close()
        stage.tell(number, ROUNDS)
    what = f"{hours:,} hours in a browser"
    return [
        Figure(f"{what}, seen at first", median(look.seen for look in cold), "ms", at_most=GOAL),
        Figure(f"{what}, seen again", median(look.seen for look in warm), "ms", at_most=GOAL),
        Figure("CPU of its page by then", median(look.busy for look in warm), "ms"),
        Figure("CPU of its page for a frame of scrolling", median(b for b, _ in scrolled), "ms"),
        Figure("tasks of more than 50 ms in it", sum(n for _, n in scrolled), "tasks", at_most=0),
    ]


def _opened(context: BrowserContext, url: str) -> _Look:
    page = context.new_page()
    session = context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.goto(url, wait_until="commit")
    look = _Look(float(page.evaluate(_SEEN)), _busy(session))
    page.close()
    return look


def _scrolled(context: BrowserContext, url: str) -> tuple[float, int]:
    """CPU milliseconds for a frame, and the number of long tasks, scrolling over all rows."""
    page = context.new_page()
    page.goto(url)
    page.get_by_text("live", exact=True).wait_for()
    session = context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    before = _busy(session)
    long = page.evaluate(_SCROLLED, FRAMES)
    busy = _busy(session) - before
    page.close()
    return busy / FRAMES, int(long)


def _busy(session: CDPSession) -> float:
    """CPU milliseconds of the main thread of the page."""
    metrics = session.send("Performance.getMetrics")["metrics"]
    return 1000 * next(float(m["value"]) for m in metrics if m["name"] == "TaskDuration")


@contextmanager
def _browser() -> Iterator[Browser | str]:
    """Chromium, or the reason why it is not available."""
    path = shutil.which("chromium") or shutil.which("chromium-headless-shell")
    if path is None:
        yield NO_CHROMIUM
        return
    try:
        from playwright.sync_api import Error, sync_playwright
    except ImportError:
        yield "playwright is not installed"
        return
    with sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(executable_path=path, args=list(QUIET))
        except Error as error:
            yield f"Chromium does not start: {str(error).splitlines()[0]}"
            return
        try:
            yield browser
        except Error as error:
            raise BenchFailed(f"Chromium: {str(error).splitlines()[0]}") from error
        finally:
            browser.close()


def _fill(stage: Stage, first_hour: str) -> None:
    """Stores the jobs of years of work."""
    store, now = stage.store, _clock.now()
    store.facts.set(TIMETABLE_START, first_hour)
    first = Qualifier.HOURLY.parse(first_hour)
    end = Qualifier.HOURLY.at(now) - OPEN_DAYS * 24
    with store.batch():
        for process, word in PROCESSES.items():
            up = _up(Qualifier(word))
            store.jobs.move(list(finish(process, Qualifier(word), up(first), up(end))), now)


def _up(qualifier: Qualifier) -> Callable[[int], int]:
    return lambda hour: Qualifier.HOURLY.up(hour, qualifier)
