"""A real access log, from the file to the year, through the whole system.

The figures of the log are those of `interfaces.md` and are found again by `visits`, which knows
nothing of the system's own way.
"""

from __future__ import annotations

import os
from itertools import pairwise

import pytest

from synergy.clock import SystemClock
from tests.acceptance import visits
from tests.acceptance.kit import BOX
from tests.acceptance.visits import CLIENT, DIGITS, LOG, SITE

pytestmark = pytest.mark.skipif(
    not LOG.is_file() and "CI" not in os.environ, reason="the shared access log is not here"
)

START = "2015051700"
SERVERS_LIMIT = 900.0  # seconds: the stand-in for MongoDB reads whole collections
LAST = (  # when these are done, so is everything that the log's days are read for
    ("SiteYearlyAggregator", "2015000000"),
    ("ClientYearlyAggregator", "2015000000"),
    ("YearlyReportExporter", "2015000000"),
    *(("AlertDailyWorker", f"201505{day}00") for day in (17, 18, 19, 20, 24, 25, 26, 27)),
)
YEARLY = ("SiteYearlyAggregator", "ClientYearlyAggregator", "YearlyReportExporter")
PROCESSES = {
    "site_hourly": "SiteHourlyAggregator",
    "site_daily": "SiteDailyAggregator",
    "site_monthly": "SiteMonthlyAggregator",
    "site_yearly": "SiteYearlyAggregator",
    "client_daily": "ClientDailyAggregator",
    "client_monthly": "ClientMonthlyAggregator",
    "client_yearly": "ClientYearlyAggregator",
}


@pytest.fixture
def home(homes):
    return homes(start_timeperiod=START)


@pytest.fixture(params=["one file", "MongoDB and RabbitMQ"])
def any_home(request, homes):
    """The embedded default, and the production engines: two settings, and nothing else."""
    if request.param == "one file":
        return homes(start_timeperiod=START)
    store, bus = request.getfixturevalue("mongodb_url"), request.getfixturevalue("rabbitmq_url")
    made = homes(start_timeperiod=START, store=store, bus=bus)
    made.patience = SERVERS_LIMIT
    return made


def ingested(home):
    """What is told of the log; a stand-in may take longer than an `ingest` waits by itself."""
    waits = ("--wait",) if home.patience == SERVERS_LIMIT else ()
    return home.ask("ingest", LOG, "--site", SITE, *waits)


def wait_for_all(home):
    """Until the log's days are done for good, and every other period up to now is closed."""
    last_year = f"{SystemClock().now().year - 1}000000"
    for process, timeperiod in (*LAST, *((name, last_year) for name in YEARLY)):
        home.wait_for(process, timeperiod)
    home.audit()


def expected(found):
    """What each collection must hold."""
    return {name: visits.statistics(found, name.partition("_")[2]) for name in PROCESSES}


def reports(home):
    return {name: home.report(name) for name in PROCESSES}


def test_from_the_file_to_the_year(any_home):
    home = any_home
    started = home.start()
    assert started["outcome"] == "started"

    told = ingested(home)
    assert (told["lines"], told["accepted"], told["rejected"]) == (10_000, 9_999, 1)
    assert [sample["line"] for sample in told["samples"]] == [8899]
    assert (told["sessions"], told["hours"]) == (3223, 84)
    assert (told["waiting"], told["problems"], told["early_events"]) == (0, [], 0)
    wait_for_all(home)

    rows = reports(home)
    days = visits.reported(rows["site_daily"])
    assert [day[0] for day in days.values()] == [546, 1029, 852, 796]
    assert [day[1] for day in days.values()] == [1535, 2767, 2795, 2483]
    assert list(days) == ["2015051700", "2015051800", "2015051900", "2015052000"]
    assert visits.reported(rows["site_yearly"]) == {"2015000000": (3223, 9580, 48_818)}
    assert_levels_add_up(rows)
    with LOG.open(encoding="latin-1") as lines:
        assert {n: visits.reported(r) for n, r in rows.items()} == expected(visits.visits(lines))
    assert {row["client_id"] for row in rows["client_daily"]} == {CLIENT}
    fell_silent = [row["timeperiod"] for row in home.report("alert_daily")]
    assert fell_silent == ["2015052400", "2015052500", "2015052600", "2015052700"]

    audit = home.audit()
    assert audit["unexplained"] == []
    assert audit["expected"] == audit["accounted"] > 100_000
    home.story()

    before = home.generations()
    again = ingested(home)
    assert (again["accepted"], again["sessions"], again["waiting"]) == (9_999, 3223, 0)
    wait_for_all(home)
    assert home.started_over(before) == set()
    assert reports(home) == rows

    assert_doubled_start_changes_nothing(home, started["pid"])
    home.stop()
    assert home.marked() == {}
    assert home.ask("supervisor", "status")["running"] is False
    assert home.launch("supervisor", "stop").out == "no supervisor is running: nothing to stop\n"
    assert reports(home) == rows


def assert_levels_add_up(rows):
    """Days are the sums of their hours, months of their days, years of their months."""
    names = ["site_hourly", "site_daily", "site_monthly", "site_yearly"]
    for finer, coarser in pairwise(names):
        digits = DIGITS[coarser.partition("_")[2]]
        sums = {}
        for timeperiod, numbers in visits.reported(rows[finer]).items():
            above = timeperiod[:digits].ljust(10, "0")
            sums[above] = tuple(map(sum, zip(sums.get(above, (0, 0, 0)), numbers, strict=True)))
        assert visits.reported(rows[coarser]) == sums


def assert_doubled_start_changes_nothing(home, pid):
    leaders, marked = home.leaders(), home.marked()
    second = home.launch("supervisor", "start")
    assert f"already runs (pid {pid})" in second.out

    status = home.ask("supervisor", "status")
    assert (status["box"], status["running"], status["pid"]) == (BOX, True, pid)
    running = [seen for seen in status["processes"] if seen["state"] == "running"]
    assert {f"{seen['name']}/{seen['instance']}": seen["pid"] for seen in running} == leaders
    assert all(seen["rss"] > 0 and seen["restarts"] == 0 for seen in running)
    assert sorted(marked.values()) == sorted(leaders)
    assert {"SingleSessionWorker/1", "SingleSessionWorker/2", "Scheduler/1"} <= set(leaders)
    assert "EventStreamGenerator/1" not in leaders
    assert home.marked() == marked


def test_a_second_log_of_the_same_days_starts_over_what_it_touches(home, tmp_path):
    home.ingest_at_rest(LOG, SITE)
    home.start()
    wait_for_all(home)
    before = home.generations()
    assert set(before.values()) == {1}

    second, hours = write_second_log(tmp_path / "second.log")
    told = home.ask("ingest", second, "--site", SITE)
    assert (told["rejected"], told["hours"]) == (0, len(hours))
    wait_for_all(home)

    started_over = home.started_over(before)
    assert started_over == touched_by(home, hours)
    after = home.generations()
    assert {after[key] for key in started_over} == {2}
    found = []
    for log in (LOG, second):
        with log.open(encoding="latin-1") as lines:
            found += visits.visits(lines)
    assert {n: visits.reported(r) for n, r in reports(home).items()} == expected(found)
    assert home.audit()["unexplained"] == []
    home.story()


def write_second_log(path):
    """Other visitors in eleven hours of two of the days; also returns the hours of their visits."""
    lines = []
    for day, hour in [(18, h) for h in range(3, 9)] + [(20, h) for h in range(16, 21)]:
        for visitor in range(7):
            for step in range(visitor % 3 + 1):
                time = f"{day}/May/2015:{hour:02d}:{10 + 9 * step:02d}:{visitor:02d} +0000"
                status = 404 if visitor == 4 else 200
                lines.append(
                    f'198.51.100.{visitor} - - [{time}] "GET /page/{step} HTTP/1.1" {status} 512 '
                    '"-" "Mozilla/5.0 (X11; Linux x86_64; rv:30.0) Gecko/20100101 Firefox/30.0"\n'
                )
    path.write_text("".join(lines))
    return path, set(visits.statistics(visits.visits(lines), "hourly"))


def touched_by(home, hours):
    """The jobs that must be started over when data arrives for these hours: (process, ordinal)."""
    managed = home.deployment().managed()
    days = {hour[:8] + "00" for hour in hours}
    months, years = {"2015050000"}, {"2015000000"}
    a_week_later = {f"{int(day) + 700:010d}" for day in days}  # they are compared with these days
    expected = {
        "SiteHourlyAggregator": hours,
        "SiteDailyAggregator": days,
        "SiteMonthlyAggregator": months,
        "SiteYearlyAggregator": years,
        "ClientDailyAggregator": days,
        "ClientMonthlyAggregator": months,
        "ClientYearlyAggregator": years,
        "AlertDailyWorker": days | a_week_later,
        "YearlyReportExporter": years,
    }
    return {
        (process, managed[process].qualifier.parse(timeperiod))
        for process, timeperiods in expected.items()
        for timeperiod in timeperiods
    }
