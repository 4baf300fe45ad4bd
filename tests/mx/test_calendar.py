"""The calendar and the overview of a tree: rows, cells, marks, and the worst of each month."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from synergy.model.job import JobState
from synergy.queries.timetable.calendar import calendar
from synergy.queries.timetable.tree_overview import overview
from tests.deployments import HOURLY, MONTHLY, YEARLY, a_deployment, a_process
from tests.mx.timetable_kit import START, move, started

NOON = datetime(2015, 5, 20, 12, 0, tzinfo=UTC)
NOOP = JobState.NOOP


@pytest.fixture
def tree(worlds):
    """Makes a world with a tree of months and hours; returns it with a function of its places."""

    def make(start=START, now=NOON, process=None, **hourly):
        levels = [process] if process else [month, a_process("Hour", HOURLY, **hourly)]
        world = started(worlds(a_deployment({"site": levels}), start, now), start)
        names = [level.name for level in levels]
        return world, lambda: [world.timetable().places[name] for name in names]

    month = a_process("Month", MONTHLY)
    return make


def test_a_row_is_a_day_of_hours_newest_first(tree):
    _, places = tree()
    shown = calendar(places(), NOON)
    assert shown.heads == (("", "year"), ("Month", "month"), ("", "day"))
    assert [row.lanes[2].label for row in shown.rows] == ["20 Wed", "19 Tue", "18 Mon", "17 Sun"]
    newest = [cell.timeperiod for cell in shown.rows[0].cells if cell is not None]
    assert newest == [f"20150520{hour:02}" for hour in range(13)]
    assert shown.rows[0].cells[13:] == (None,) * 11


def test_a_lane_spans_all_rows_of_its_job(tree):
    _, places = tree("2015043000", datetime(2015, 5, 3, tzinfo=UTC))
    months = [row.lanes[1] for row in calendar(places(), NOON).rows]  # 3, 2, 1 May and 30 April
    spans = [None if lane is None else (lane.label, lane.span) for lane in months]
    assert spans == [("May", 3), None, None, ("Apr", 1)]


def test_a_window_names_the_starts_of_its_neighbours(tree):
    _, places = tree("2015010100")
    shown = calendar(places(), NOON, at="2015020000", rows=10)
    assert [row.lanes[2].label for row in shown.rows][::9] == ["10 Tue", "01 Sun"]
    assert (shown.older, shown.newer) == ("2015012200", "2015021100")
    first = calendar(places(), NOON, at="2014000000", rows=10)
    assert (first.older, first.newer) == (None, "2015011100")


def test_the_cell_of_a_grouped_job_covers_its_periods(tree):
    _, places = tree(time_grouping=6)
    cells = calendar(places(), NOON).rows[1].cells
    # the job of 06 covers hours 0 to 6, the job of 23 the remaining ones
    spans = {cell.timeperiod: cell.span for cell in cells}
    assert spans == {"2015051906": 7, "2015051912": 6, "2015051918": 6, "2015051923": 5}


def test_a_row_has_ten_years_where_years_are_the_finest_periods(tree):
    _, places = tree("2008010100", process=a_process("Report", YEARLY))
    shown = calendar(places(), NOON)
    assert shown.heads == ()
    years = [[cell and cell.timeperiod[:4] for cell in row.cells] for row in shown.rows]
    assert years == [
        ["2010", "2011", "2012", "2013", "2014", "2015", *[None] * 4],
        [*[None] * 8, "2008", "2009"],
    ]


def test_late_stale_and_open_periods_are_marked(tree):
    world, places = tree()
    move(world, "2015051900", "2015051900", NOOP)
    move(world, "2015051900", "2015051900", NOOP, before=NOOP, stale=True)
    rows = calendar(places(), NOON).rows
    marks = {cell.timeperiod: cell.marks for row in rows for cell in row.cells if cell}
    assert marks["2015051900"] == ("stale",)
    assert marks["2015051901"] == ("late",)
    assert marks["2015052009"] == ("late",)
    assert marks["2015052010"] == ()  # it ended and settled (5 min) less than an hour ago
    assert marks["2015052011"] == ("open",)  # it ended just now and has not settled


def test_cells_show_each_state_and_unseen_changes(tree):
    world, places = tree()
    for hour, state, fields in (
        (0, JobState.FAILED, {}),
        (1, JobState.FAILED, {"stale": True}),
        (2, JobState.GIVEN_UP, {}),
        (3, JobState.SKIPPED, {}),
        (4, JobState.SKIPPED, {"stale": True}),
    ):
        move(world, f"20150519{hour:02}", f"20150519{hour:02}", state, **fields)
    (row,) = calendar(places(), NOON, at="2015051900", rows=1).rows
    summaries = [cell.summary.partition(": ")[2] for cell in row.cells[:5]]
    assert summaries == ["failed", "failed, stale", "given up", "skipped", "skipped, unseen"]


def test_the_overview_shows_the_worst_of_each_month_and_counts(tree):
    now = datetime(2015, 5, 1, tzinfo=UTC)
    world, places = tree("2015033100", now)
    move(world, "2015033100", "2015033123", NOOP)
    move(world, "2015040100", "2015043018", NOOP)
    move(world, "2015043019", "2015043019", JobState.SKIPPED)
    for month in ("2015030000", "2015040000"):
        move(world, month, month, NOOP, process="Month")
    (year,) = overview(places(), now)
    assert year.year == "2015"
    worst = {cell.label: cell.worst for cell in year.cells}
    assert worst == {"Mar": "noop", "Apr": "late", "May": "embryo"}
    # 720 hours: 715 noop, one skipped, of the last four 20 and 21 are late; and the month, noop
    assert year.cells[1].counts == {"late": 2, "skipped": 1, "embryo": 2, "noop": 716}


WORST = {
    "failed": (JobState.FAILED, {}),
    "given_up": (JobState.GIVEN_UP, {"stale": True}),  # a stale one is no less given up
    "late": (JobState.EMBRYO, {}),
    "unseen": (JobState.SKIPPED, {"stale": True}),
    "skipped": (JobState.SKIPPED, {}),
    "stale": (JobState.PROCESSED, {"stale": True}),
}


@pytest.mark.parametrize("left_out", range(len(WORST)))
def test_a_month_has_the_colour_of_its_worst_job(tree, left_out):
    world, places = tree("2015051900", datetime(2015, 5, 20, tzinfo=UTC), a_process("Hour", HOURLY))
    move(world, "2015051900", "2015051923", JobState.PROCESSED)
    words = list(WORST)[left_out:]
    for at, word in enumerate(words):
        state, fields = WORST[word]
        hour = f"20150519{at:02}"
        move(world, hour, hour, state, before=JobState.PROCESSED, **fields)
    (year,) = overview(places(), world.clock.now())
    (cell,) = year.cells
    assert cell.worst == words[0]
    assert all(cell.counts[word] == 1 for word in words)
