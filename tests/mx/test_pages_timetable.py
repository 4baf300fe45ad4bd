"""The pages of the timetable and of jobs, without scripts."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from itertools import pairwise

import pytest

from synergy.model.job import JobState
from synergy.model.process import Tree
from synergy.mx.assets import FOLDER
from tests.deployments import HOURLY, a_deployment, a_process
from tests.mx.conftest import client_of
from tests.mx.timetable_kit import hours_days_and_client, move, started

NOON = datetime(2015, 5, 20, 12, 0, tzinfo=UTC)
HOUR = "2015051903"
AT = f"/jobs/Hour/{HOUR}"


@pytest.fixture
def world(worlds):
    return started(worlds(hours_days_and_client(), now=NOON))


# Trees


def test_trees_are_listed_with_the_trees_they_wait_for_and_what_is_late(client):
    page = client.page("/timetable")
    assert 'href="/timetable/site"' in page
    assert 'href="/timetable/client"' in page
    assert re.search(r"waits for\s+<a href=\"/timetable/site\">site</a>", page)
    # hours: 3 days of 24 and 10 of the 20th are late; days: 3
    assert re.findall(r"badge-danger\">(\d+)<", page) == ["3", "82", "3"]


def test_trees_are_grouped_by_page_with_their_labels(worlds):
    tree = Tree(name="site", processes=("Hour",), mx_name="Sites", mx_page="traffic")
    deployment = a_deployment({"site": [a_process("Hour", HOURLY)]})
    named = type(deployment)(deployment.processes, {"site": tree})
    client = client_of(started(worlds(named, now=NOON)))
    page = client.page("/timetable")
    assert "<h2>traffic</h2>" in page
    assert '<a href="/timetable/site">Sites</a>' in page
    assert "<h1>Sites</h1>" in client.page("/timetable/site")


def test_each_cell_links_to_its_job(client, world):
    move(world, HOUR, HOUR, JobState.SKIPPED)
    page = client.page("/timetable/site?table=1")
    assert re.search(rf'href="{AT}" title="Hour {HOUR}: skipped"', page)
    assert re.search(r'href="/jobs/Day/2015051900" aria-label="Day 2015051900: embryo, late"', page)


@pytest.mark.parametrize("typed", ["2015-05-18", "20150518", "2015051800", "2015-05-18 00"])
def test_a_window_may_be_written_as_a_date(client, typed):
    page = client.page(f"/timetable/site?table=1&at={typed}")
    assert "/jobs/Hour/2015051800" in page
    assert "/jobs/Hour/2015051723" not in page


@pytest.mark.parametrize(
    ("path", "status"),
    [
        *((f"/timetable/site?at={typed}", 422) for typed in ("yesterday", "201", "2015-13")),
        ("/timetable/site?at=2015051825", 422),
        ("/timetable/nowhere", 404),
        ("/timetable/nowhere/overview", 404),
        ("/jobs/Hour/2015051623", 404),
        ("/jobs/Nobody/2015051903", 404),
        ("/jobs/Hour/yesterday", 422),
    ],
)
def test_invalid_windows_and_unknown_jobs_are_refused(client, path, status):
    client.page(path, status)


def test_the_page_of_a_tree_holds_its_jobs_as_data(client, world):
    move(world, "2015051700", "2015051923", JobState.NOOP)
    page = client.page("/timetable/site")
    data = re.search(r'<script type="application/json" id="tree">(.*?)</script>', page)[1]
    held = json.loads(data)
    assert held == {**client.read("trees/site"), "now": held["now"]}
    # three days of hours, and noon of the 20th has begun
    assert held["processes"][1]["runs"] == [["noop", 72], ["embryo", 13]]
    assert f'data-seq="{world.store.journal.last_seq()}"' in page


def imported_by(name, found=()):
    """A script and all scripts that it imports, directly or not."""
    found = {*found, name}
    text = (FOLDER / f"{name}.js").read_text()
    for other in re.findall(r'"\./(\w+)\.js"', text):
        if other not in found:
            found = imported_by(other, found)
    return found


def test_the_page_of_a_tree_preloads_all_its_scripts(client):
    page = client.page("/timetable/site")
    preloaded = re.findall(r'<link rel="modulepreload" href="/static/@\w+/(\w+)\.js"', page)
    assert sorted([*preloaded, "app"]) == sorted(imported_by("timetable"))


def test_without_scripts_the_calendar_leads_to_the_table(client):
    page = client.page("/timetable/site?at=2015-05-18")
    (refresh,) = re.findall(r'<noscript><meta http-equiv="refresh" content="0; url=(.*?)">', page)
    assert refresh == "/timetable/site?table=1&amp;at=2015051800"
    table = client.page(refresh.replace("&amp;", "&"))
    assert "/jobs/Hour/2015051800" in table
    assert 'http-equiv="refresh"' not in table
    assert 'href="/timetable/site?at=2015051800">As a calendar' in table


@pytest.mark.parametrize("path", ["/timetable", "/timetable?part=1", "/timetable/site"])
def test_before_the_first_start_the_pages_say_what_to_do(worlds, path):
    client = client_of(worlds(hours_days_and_client(), now=NOON))  # without a first hour
    assert "launch.py supervisor start" in client.page(path)


# Jobs


def test_a_job_shows_its_journal_and_links_to_related_jobs(client, world):
    move(world, HOUR, HOUR, JobState.SKIPPED)
    page = client.page(AT)
    assert "Tue 19 May 2015, 03:00 to 04:00" in page
    assert "job.skipped" in page
    assert 'href="/jobs/Day/2015051900"' in page
    assert 'rel="prev" href="/jobs/Hour/2015051902"' in page


def test_only_possible_actions_are_offered(client, world):
    move(world, HOUR, HOUR, JobState.SKIPPED)
    skipped, waiting = client.page(f"{AT}?part=1"), client.page("/jobs/Hour/2015051904?part=1")
    assert "launch.py timetable skip" not in skipped
    assert "/api/v1/jobs/reprocess" in skipped
    assert "/api/v1/jobs/reprocess" not in waiting
    assert "launch.py timetable skip Hour 2015051904" in waiting


@pytest.mark.parametrize(("panel", "top"), [("", 1), ("&panel=1", 2)])
def test_headings_skip_no_level_and_are_the_same_after_a_refresh(client, panel, top):
    whole = client.page(f"{AT}?{panel}").partition("<dialog")[0]
    levels = [int(level) for level in re.findall(r"<h(\d)", whole)]
    assert levels[0] == top
    assert all(after <= before + 1 for before, after in pairwise(levels))
    refreshed = f"{AT}?part=1{panel}"
    assert f'hx-get="{refreshed.replace("&", "&amp;")}"' in whole
    headings = re.findall(r"<h\d id=.*", client.page(refreshed))
    assert headings == re.findall(r"<h\d id=.*", whole)
    assert len(headings) == 5  # why, inputs, outputs, units, journal


@pytest.mark.parametrize(
    ("address", "current"),
    [
        ("/timetable/site", "Timetable"),
        (AT, "Timetable"),
        ("/runs", "Schedules"),
        ("/", "Overview"),
    ],
)
def test_the_navigation_marks_the_section_of_a_page(client, address, current):
    header = client.page(address).partition("</header>")[0]
    assert re.findall(r'aria-current="page">(\w+)<', header) == [current]


def test_the_panel_of_a_job_is_not_a_whole_page(client):
    panel = client.page(f"{AT}?panel=1")
    assert "<html" not in panel
    assert "data-panel-close" in panel
