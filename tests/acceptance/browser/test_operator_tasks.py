"""What operators do in a browser, on a system of real processes.

One home after its first start, with the demo's event stream. Tests work on periods of yesterday,
which change only by what a test does.
"""

from __future__ import annotations

import re
import subprocess
import sys
from contextlib import closing
from datetime import timedelta

import pytest
from playwright.sync_api import expect

from synergy.clock import SystemClock
from synergy.names import TIMETABLE_START
from tests.acceptance.api_client import Client
from tests.acceptance.kit import LIMIT, PROJECT
from tests.delivery.receivers import answers, receiving
from tests.mx.browser.test_login import log_in
from tests.mx.browser.test_timetable import drag, job
from tests.mx.secured_mx import PASSWORD
from tests.servers.ports import free_port
from workers.demo_visits import LONGEST_VISIT
from workers.event_stream_generator import MARK

HOURLY, DAILY = "SiteHourlyAggregator", "SiteDailyAggregator"
NOW = SystemClock().now()
MIDNIGHT = NOW.replace(hour=0, minute=0, second=0, microsecond=0)
SENT = min(
    MIDNIGHT + timedelta(seconds=LONGEST_VISIT), NOW
).timestamp()  # the end of yesterday's visits
YESTERDAY = f"{NOW - timedelta(days=1):%Y%m%d}"
DAY, START = YESTERDAY + "00", YESTERDAY + "18"
HOURS = ("18", "19", "20", "21", "22", "23")
PROCESSED = re.compile(r": processed$")
LIMIT_MS = 1000 * LIMIT  # for work of real processes


@pytest.fixture(scope="module")
def home(module_homes):
    """A home whose timetable has a start; nothing runs yet."""
    home = module_homes(
        context="tests.acceptance.deployments.watched",
        start_timeperiod=START,
        demo_stream="on",
        webhook_networks="127.0.0.0/8",
    )
    home.launch("store", "init")
    with home.store() as store:
        store.facts.set(TIMETABLE_START, START)  # so pages can show it without a scheduler
    return home


@pytest.fixture(scope="module")
def early(home):
    """The address of an MX that was started before the supervisor."""
    return beside(home)


@pytest.fixture(scope="module")
def mx(home, early):
    """The address of MX in the running home."""
    home.start()
    return f"http://127.0.0.1:{home.variables['mx_port']}"


@pytest.fixture
def done(home, mx):
    """The address of MX, once all of yesterday is processed."""
    home.until(lambda store: int(store.facts.get(MARK) or 0) >= SENT)
    home.wait_for(DAILY, DAY)
    return mx


def beside(home, **more):
    """The address of another MX of the home, once it answers."""
    port = free_port()
    home.begin("process", "start", "MX", "--console", mx_port=str(port), **more)
    with closing(Client(f"http://127.0.0.1:{port}")) as client:
        return str(client.http.base_url).rstrip("/")


def asked(page):
    """The dialog in which a change is confirmed."""
    return page.get_by_role("dialog")


def panel(page):
    return page.get_by_role("complementary", name="Job")


def generation(home, process, timeperiod):
    """The generation of a job; late data may have raised it while the stream caught up."""
    ordinal = home.deployment().processes[process].qualifier.parse(timeperiod)
    return home.generations().get((process, ordinal), 1)


def expect_processed(page, process, timeperiod):
    cell = job(page, process, timeperiod)
    expect(cell).to_have_accessible_name(PROCESSED, timeout=LIMIT_MS)


def test_the_timetable_fills_after_the_first_start(look, home, early, request):
    page = look(f"{early}/timetable/site")
    expect(job(page, HOURLY, START)).to_have_accessible_name(f"{HOURLY} {START}: embryo, late")
    mx = request.getfixturevalue("mx")
    for hour in HOURS:
        expect_processed(page, HOURLY, YESTERDAY + hour)
    expect_processed(page, DAILY, DAY)
    overview = look(mx)
    expect(overview.get_by_role("link", name=HOURLY).first).to_be_visible()


def test_reprocessing_a_range_previews_and_reprocesses_its_cascade(look, home, done):
    before = {hour: generation(home, HOURLY, YESTERDAY + hour) for hour in HOURS}
    first = generation(home, DAILY, DAY)
    page = look(f"{done}/timetable/site")
    drag(page, job(page, HOURLY, YESTERDAY + "19"), job(page, HOURLY, YESTERDAY + "21"))
    selection = page.get_by_role("region", name="Selection")
    selection.get_by_role("button", name="Reprocess…").click()
    for count in (f"3 {HOURLY}", f"1 {DAILY}"):
        expect(selection.get_by_role("listitem").filter(has_text=count)).to_have_count(1)
    expect(job(page, DAILY, DAY)).to_have_class(re.compile(r"\btouched\b"))
    expect_processed(page, HOURLY, YESTERDAY + "20")  # the preview has changed nothing
    selection.get_by_label("Why").fill("a crawler was counted")
    selection.get_by_role("button", name=re.compile(r"^Reprocess \d+ jobs$")).click()

    job(page, DAILY, DAY).click()
    expect(panel(page)).to_contain_text(f"generation {first + 1}")
    expect_processed(page, DAILY, DAY)
    expect(panel(page).locator(".job-state")).to_contain_text("processed")
    history = panel(page).get_by_role("region", name="History")
    expect(history).to_contain_text("a crawler was counted")
    for hour in HOURS:
        after = before[hour] + (hour in ("19", "20", "21"))
        job(page, HOURLY, YESTERDAY + hour).click()
        expect(panel(page).get_by_role("heading", level=2)).to_contain_text(YESTERDAY + hour)
        expect(panel(page)).to_contain_text(f"generation {after}")


def test_the_cause_of_a_waiting_period_is_found_and_removed(look, home, done):
    hour = YESTERDAY + "22"
    home.launch("process", "off", HOURLY, "--reason", "the disk is full")
    home.launch("timetable", "reprocess", HOURLY, hour)
    page = look(f"{done}/timetable/site#{DAILY}/{DAY}")
    why = panel(page).get_by_role("region", name="Why")
    expect(why).to_contain_text(f"{HOURLY} {hour}")
    expect(why).to_contain_text("the process is switched off")
    why.get_by_role("button", name="Switch the process on").click()
    asked(page).get_by_label("Why").fill("there is room again")
    asked(page).get_by_role("button", name="Switch the process on").click()
    expect_processed(page, HOURLY, hour)
    expect_processed(page, DAILY, DAY)
    expect(panel(page).locator(".job-state")).to_contain_text("processed")
    expect(why).not_to_contain_text("switched off")


def test_a_process_is_switched_off_on_a_box_and_on_again(look, home, done):
    page = look(f"{done}/boxes")
    name = "EventStreamGenerator"
    row = page.get_by_role("row").filter(has=page.get_by_role("rowheader", name=name))
    expect(row.locator(".state")).to_have_text("running", timeout=LIMIT_MS)
    before = home.leaders()[f"{name}/1"]
    for turn, after in (("off", "stopped"), ("on", "running")):
        row.get_by_role("switch", name=f"Switch {name} {turn} on {home.box}").click()
        asked(page).get_by_label("Why").fill(f"to see it {after}")
        asked(page).get_by_role("button", name=f"Switch {turn}").click()
        expect(row.locator(".state")).to_have_text(after, timeout=LIMIT_MS)
    assert home.until_all_run(f"{name}/1")[f"{name}/1"] != before


def test_a_schedule_is_created_with_a_preview_and_its_run_is_shown(look, done):
    with receiving(answers(body=b"thank you")) as receiver:
        page = look(f"{done}/schedules/new")
        page.get_by_label("Name", exact=True).fill("newyear")
        page.get_by_label("Runs, or sends to").select_option("http")
        page.get_by_label("Target").fill(f"http://127.0.0.1:{receiver.port}/hook")
        page.get_by_label("Payload").fill('{"of": "${scheduleName}"}')
        page.get_by_label("Cron lines").fill("0 0 1 1 *")
        page.get_by_label("First run").select_option("immediately")
        dues = page.get_by_role("complementary").get_by_role("row")
        expect(dues).to_have_count(11)  # the head, and ten new years
        expect(dues.last).to_contain_text(f"{NOW.year + 10}-01-01 00:00:00")
        page.get_by_role("button", name="Create").click()

        expect(page.get_by_role("heading", name="newyear", level=1)).to_be_visible()
        run = page.get_by_role("region", name="Last runs").get_by_role("row").nth(1)
        expect(run).to_contain_text("processed", timeout=LIMIT_MS)
        run.get_by_role("link").first.click()
        expect(page.locator("main")).to_contain_text("thank you")
        [call] = receiver.calls
        assert call.body == b'{"of": "newyear"}'


def test_viewers_cannot_make_changes_and_the_journal_names_the_operator(look, home, done, tmp_path):
    users = tmp_path / "users.json"
    for name, role in (("vera", "viewer"), ("otto", "operator")):
        add_user(home, users, name, role)
    mx = beside(home, mx_users_file=str(users))
    page = look(f"{mx}/processes/{HOURLY}")
    log_in(page, "vera")
    expect(page.get_by_role("heading", name=HOURLY, level=1)).to_be_visible()
    expect(page.get_by_role("switch")).to_have_count(0)
    expect(page.get_by_role("button", name="Trigger now")).to_have_count(0)
    refused = page.evaluate(
        """async (path) => {
            const app = document.querySelector("script[src$='/app.js']").src;
            const { ask } = await import(app);
            return ask("PATCH", path, {is_on: false}).then(() => "", (problem) => problem.detail);
        }""",
        f"/api/v1/processes/{HOURLY}",
    )
    assert refused == "viewers cannot make changes: this needs the role operator"
    page.get_by_role("button", name="Log out").click()

    expect(page).to_have_url(f"{mx}/login")
    page.goto(f"{mx}/processes/{HOURLY}")
    log_in(page, "otto")
    page.get_by_role("switch", name=f"Switch {HOURLY} off").first.click()
    asked(page).get_by_label("Why").fill("a moment's rest")
    asked(page).get_by_role("button", name="Switch off").click()
    expect(page.get_by_role("switch", name=f"Switch {HOURLY} on")).to_be_visible()
    page.goto(f"{mx}/journal?event=process.off")
    entry = page.get_by_role("row").filter(has_text="a moment's rest")
    expect(entry).to_contain_text("otto (mx)")
    page.get_by_role("button", name="Log out").click()
    expect(page).to_have_url(f"{mx}/login")
    page.goto(f"{mx}/journal")
    expect(page.get_by_role("button", name="Log in")).to_be_visible()


def add_user(home, users, name, role):
    subprocess.run(
        [sys.executable, str(PROJECT / "launch.py"), "user", "add", name, "--role", role,
         "--password-stdin"],
        env=home.environment(mx_users_file=str(users)),
        input=PASSWORD,
        text=True,
        check=True,
    )  # fmt: skip
