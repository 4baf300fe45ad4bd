"""The pages of the timetable and of jobs, as they are read without a script."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from itertools import pairwise

import pytest

from synergy.model.job import JobMove, JobState
from synergy.model.process import Tree
from synergy.names import TIMETABLE_START
from synergy.queries.timetable.calendar import calendar
from synergy.queries.timetable.tree_overview import overview
from tests.deployments import DAILY, HOURLY, MONTHLY, YEARLY, a_deployment, a_process
from tests.mx.conftest import client_of

NOON = datetime(2015, 5, 20, 12, 0, tzinfo=UTC)
START = "2015051700"


def a_system(worlds, deployment, start=START, now=NOON):
    world = worlds(deployment, start, now)
    world.store.facts.set(TIMETABLE_START, start)
    return world


def move(world, process, first, last, after, **fields):
    """Moves embryos, named by their timeperiods."""
    qualifier = world.deployment.processes[process].qualifier
    span = (qualifier.parse(first), qualifier.parse(last))
    before = fields.pop("before", JobState.EMBRYO)
    moves = [JobMove(process, qualifier, *span, before, after, 1, "so", "a test", **fields)]
    assert not world.store.jobs.move(moves, world.clock.now())


def places(world, tree):
    timetable = world.timetable()
    return [timetable.places[name] for name in world.deployment.trees[tree].processes]


def text(answer):
    assert answer.status_code == 200, answer.text
    return answer.text


# The calendar


def site(**hourly):
    return a_deployment(
        {"site": [a_process("Month", MONTHLY), a_process("Hour", HOURLY, **hourly)]}
    )


def test_a_row_is_a_day_of_hours_newest_first(worlds):
    world = a_system(worlds, site())
    shown = calendar(places(world, "site"), NOON)
    assert shown.heads == (("", "year"), ("Month", "month"), ("", "day"))
    assert [row.lanes[2].label for row in shown.rows] == ["20 Wed", "19 Tue", "18 Mon", "17 Sun"]
    newest = [cell.timeperiod for cell in shown.rows[0].cells if cell is not None]
    assert newest == [f"20150520{hour:02}" for hour in range(13)]
    assert shown.rows[0].cells[13:] == (None,) * 11


def test_a_lane_spans_all_rows_that_its_job_covers(worlds):
    world = a_system(worlds, site(), start="2015043000", now=datetime(2015, 5, 3, tzinfo=UTC))
    rows = calendar(places(world, "site"), NOON).rows
    months = [row.lanes[1] for row in rows]  # 3, 2 and 1 May, then 30 April
    assert [None if lane is None else (lane.label, lane.span) for lane in months] == [
        ("May", 3), None, None, ("Apr", 1),
    ]  # fmt: skip


def test_a_window_begins_where_it_is_asked_to_and_names_its_neighbours(worlds):
    world = a_system(worlds, site(), start="2015010100")
    shown = calendar(places(world, "site"), NOON, at="2015020000", rows=10)
    assert [row.lanes[2].label for row in shown.rows][::9] == ["10 Tue", "01 Sun"]
    assert (shown.older, shown.newer) == ("2015012200", "2015021100")
    first = calendar(places(world, "site"), NOON, at="2014000000", rows=10)
    assert (first.older, first.newer) == (None, "2015011100")


def test_the_cell_of_a_grouped_job_covers_its_periods(worlds):
    world = a_system(worlds, site(time_grouping=6))
    cells = calendar(places(world, "site"), NOON).rows[1].cells
    # the job of 06 covers hours 0 to 6, that of 23 what is left
    assert [(cell.timeperiod, cell.span) for cell in cells] == [
        ("2015051906", 7), ("2015051912", 6), ("2015051918", 6), ("2015051923", 5),
    ]  # fmt: skip


def test_years_alone_stand_ten_in_a_row(worlds):
    world = a_system(worlds, a_deployment({"report": [a_process("Report", YEARLY)]}), "2008010100")
    shown = calendar(places(world, "report"), NOON)
    assert shown.heads == ()
    assert [[cell and cell.timeperiod for cell in row.cells] for row in shown.rows] == [
        ["2010000000", "2011000000", "2012000000", "2013000000", "2014000000", "2015000000",
         None, None, None, None],
        [None] * 8 + ["2008000000", "2009000000"],
    ]  # fmt: skip


def test_what_is_late_stale_or_open_is_marked(worlds):
    world = a_system(worlds, site())
    move(world, "Hour", "2015051900", "2015051900", JobState.NOOP)
    move(world, "Hour", "2015051900", "2015051900", JobState.NOOP, before=JobState.NOOP, stale=True)
    rows = calendar(places(world, "site"), NOON).rows
    told = {cell.timeperiod: cell.marks for row in rows for cell in row.cells if cell}
    assert told["2015051900"] == ("stale",)
    assert told["2015051901"] == ("late",)
    # 10:00 ended and settled (5 min) 55 min ago; late is what did more than an hour ago
    assert told["2015052010"] == ()
    assert told["2015052009"] == ("late",)
    assert told["2015052011"] == ("open",)  # it ended just now, and has not settled


def test_the_overview_shows_the_worst_of_each_month(worlds):
    world = a_system(worlds, site(), start="2015033100", now=datetime(2015, 5, 1, tzinfo=UTC))
    move(world, "Hour", "2015033100", "2015033123", JobState.NOOP)
    move(world, "Month", "2015030000", "2015030000", JobState.NOOP)
    move(world, "Hour", "2015040100", "2015043018", JobState.NOOP)
    move(world, "Hour", "2015043019", "2015043019", JobState.SKIPPED)
    move(world, "Month", "2015040000", "2015040000", JobState.NOOP)
    (year,) = overview(places(world, "site"), datetime(2015, 5, 1, tzinfo=UTC))
    assert year.year == "2015"
    assert [(cell.label, cell.worst) for cell in year.cells] == [
        ("Mar", "noop"), ("Apr", "late"), ("May", "embryo"),
    ]  # fmt: skip
    # 720 hours: 715 noop, one skipped, of the last four 20 and 21 are late; and the month, noop
    assert year.cells[1].counts == {"late": 2, "skipped": 1, "embryo": 2, "noop": 716}


# The pages


@pytest.fixture
def world(worlds):
    day = a_process("Day", DAILY, source="hour", sink="day")
    hour = a_process("Hour", HOURLY, source="raw", sink="hour")
    client = a_process("Client", DAILY)
    return a_system(
        worlds, a_deployment({"site": [day, hour], "client": [client]}, {"client": ("site",)})
    )


def test_trees_are_listed_with_what_they_wait_for(client):
    page = text(client.get("/timetable"))
    assert 'href="/timetable/site"' in page
    assert 'href="/timetable/client"' in page
    assert re.search(r"waits for\s+<a href=\"/timetable/site\">site</a>", page)
    # hours: 3 days of 24 and 10 of the 20th are late; days: 3
    assert re.findall(r"badge-danger\">(\d+)<", page) == ["3", "82", "3"]


def test_trees_stand_under_their_page_by_their_label(worlds):
    tree = Tree(name="site", processes=("Hour",), mx_name="Sites", mx_page="traffic")
    deployment = a_deployment({"site": [a_process("Hour", HOURLY)]})
    named = type(deployment)(deployment.processes, {"site": tree})
    with client_of(a_system(worlds, named)) as client:
        page = text(client.get("/timetable"))
        assert "<h2>traffic</h2>" in page
        assert '<a href="/timetable/site">Sites</a>' in page
        assert "<h1>Sites</h1>" in text(client.get("/timetable/site"))


def test_each_cell_leads_to_its_job(client, world):
    move(world, "Hour", "2015051903", "2015051903", JobState.SKIPPED)
    page = text(client.get("/timetable/site", params={"table": True}))
    assert re.search(r'href="/jobs/Hour/2015051903" title="Hour 2015051903: skipped"', page)
    assert re.search(r'href="/jobs/Day/2015051900" aria-label="Day 2015051900: embryo, late"', page)


@pytest.mark.parametrize("typed", ["2015-05-18", "20150518", "2015051800", "2015-05-18 00"])
def test_a_window_may_be_named_as_people_write(client, typed):
    page = text(client.get("/timetable/site", params={"at": typed, "table": True}))
    assert "/jobs/Hour/2015051800" in page
    assert "/jobs/Hour/2015051723" not in page


@pytest.mark.parametrize("typed", ["yesterday", "201", "2015-13", "2015051825"])
def test_a_window_that_is_none_is_refused(client, typed):
    assert client.get("/timetable/site", params={"at": typed}).status_code == 422


def test_the_page_of_a_tree_holds_its_jobs(client, world):
    move(world, "Hour", "2015051700", "2015051923", JobState.NOOP)
    page = text(client.get("/timetable/site"))
    held = json.loads(
        re.search(r'<script type="application/json" id="tree">(.*?)</script>', page)[1]
    )
    told = client.get("/api/v1/trees/site").json()
    assert held == {**told, "now": held["now"]}
    # three days of hours, and noon of the 20th has begun
    assert held["processes"][1]["runs"] == [["noop", 72], ["embryo", 13]]
    assert f'data-seq="{world.store.journal.last_seq()}"' in page


def test_who_has_no_script_is_led_to_the_table(client):
    page = text(client.get("/timetable/site", params={"at": "2015-05-18"}))
    (refresh,) = re.findall(r'<noscript><meta http-equiv="refresh" content="0; url=(.*?)">', page)
    assert refresh == "/timetable/site?table=1&amp;at=2015051800"
    table = text(client.get(refresh.replace("&amp;", "&")))
    assert "/jobs/Hour/2015051800" in table
    assert 'http-equiv="refresh"' not in table
    assert 'href="/timetable/site?at=2015051800">As a calendar' in table


def test_before_the_first_start_it_is_said_what_to_do(worlds):
    world = worlds(site(), START, NOON)  # nothing has fixed the first hour yet
    with client_of(world) as client:
        for address in ("/timetable", "/timetable?part=1", "/timetable/site"):
            assert "launch.py supervisor start" in text(client.get(address))


def test_a_tree_that_is_not_there(client):
    assert client.get("/timetable/nowhere").status_code == 404
    assert client.get("/timetable/nowhere/overview").status_code == 404


def test_a_job_shows_its_story_and_its_relatives(client, world):
    move(world, "Hour", "2015051903", "2015051903", JobState.SKIPPED)
    page = text(client.get("/jobs/Hour/2015051903"))
    assert "Tue 19 May 2015, 03:00 to 04:00" in page
    assert "job.skipped" in page
    assert 'href="/jobs/Day/2015051900"' in page
    assert 'rel="prev" href="/jobs/Hour/2015051902"' in page


def test_only_what_can_be_done_is_offered(client, world):
    move(world, "Hour", "2015051903", "2015051903", JobState.SKIPPED)
    done, waiting = (
        text(client.get(f"/jobs/Hour/{period}?part=1")) for period in ("2015051903", "2015051904")
    )
    assert "launch.py timetable skip" not in done
    assert "/api/v1/jobs/reprocess" in done
    assert "/api/v1/jobs/reprocess" not in waiting
    assert "launch.py timetable skip Hour 2015051904" in waiting


@pytest.mark.parametrize(("address", "top"), [("", 1), ("?panel=1", 2)])
def test_no_level_of_headings_is_left_out(client, address, top):
    page = text(client.get(f"/jobs/Hour/2015051903{address}"))
    levels = [int(level) for level in re.findall(r"<h(\d)", page.partition("<dialog")[0])]
    assert levels[0] == top
    assert all(after <= before + 1 for before, after in pairwise(levels))


@pytest.mark.parametrize("panel", ["", "&amp;panel=1"])
def test_what_is_read_again_of_a_job_has_the_same_headings(client, panel):
    query = panel.replace("amp;", "")
    whole = text(client.get(f"/jobs/Hour/2015051903?{query}")).partition("<dialog")[0]
    assert f'hx-get="/jobs/Hour/2015051903?part=1{panel}"' in whole
    part = text(client.get(f"/jobs/Hour/2015051903?part=1{query}"))
    headings = re.findall(r"<h\d id=.*", part)
    assert headings == re.findall(r"<h\d id=.*", whole)
    assert len(headings) == 5  # why, inputs, outputs, units, story


@pytest.mark.parametrize(
    ("address", "current"),
    [("/timetable/site", "Timetable"), ("/jobs/Hour/2015051903", "Timetable"),
     ("/runs", "Schedules"), ("/", "Overview")],
)  # fmt: skip
def test_the_navigation_says_where_a_page_belongs(client, address, current):
    header = text(client.get(address)).partition("</header>")[0]
    assert re.findall(r'aria-current="page">(\w+)<', header) == [current]


def test_the_panel_has_no_page_around_it(client):
    panel = text(client.get("/jobs/Hour/2015051903?panel=1"))
    assert "<html" not in panel
    assert "data-panel-close" in panel


def test_jobs_outside_the_timetable_are_not_found(client):
    assert client.get("/jobs/Hour/2015051623").status_code == 404
    assert client.get("/jobs/Nobody/2015051903").status_code == 404
    assert client.get("/jobs/Hour/yesterday").status_code == 422


def test_names_and_reasons_are_shown_as_they_are_written(worlds):
    name = "Day<script>alert(1)</script>"
    with client_of(a_system(worlds, a_deployment({"a&b": [a_process(name, DAILY)]}))) as client:
        assert "<script>alert" not in text(client.get("/timetable/a%26b"))
        world_page = text(client.get("/timetable/a%26b?table=1"))
        assert "<script>alert" not in world_page
        assert "/jobs/Day%3Cscript%3Ealert%281%29%3C%2Fscript%3E/2015051900" in world_page


# The files that pages need


def test_files_are_kept_under_the_version_that_pages_name(client):
    script = re.search(r'src="(/static/@[0-9a-f]{12}/app.js)"', text(client.get("/timetable")))
    answer = client.get(script[1])
    assert "import" in text(answer)
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"


@pytest.mark.parametrize("address", ["/static/app.js", "/static/@000000000000/app.js"])
def test_files_of_no_or_another_version_are_asked_for_again(client, address):
    assert client.get(address).headers["cache-control"] == "no-cache"


@pytest.mark.parametrize("path", ["/static/@/../app.py", "/static/@0/%2e%2e/app.py", "/static/@0"])
def test_versions_lead_to_nothing_else(client, path):
    assert client.get(path).status_code == 404


def test_files_are_compressed_for_whoever_can_read_that(client):
    plain = client.get("/static/app.js", headers={"Accept-Encoding": "identity"})
    packed = client.get("/static/app.js", headers={"Accept-Encoding": "gzip"})
    assert "content-encoding" not in plain.headers
    assert packed.headers["content-encoding"] == "gzip"
    assert packed.text == plain.text  # httpx has unpacked it
    assert int(packed.headers["content-length"]) < int(plain.headers["content-length"])


def test_files_take_nothing(client):
    assert client.post("/static/app.js").status_code in (403, 405)
    assert client.head("/static/app.js").headers["content-type"].startswith("text/javascript")
