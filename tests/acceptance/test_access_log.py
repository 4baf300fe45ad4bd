"""An access log, from the file to the year, through the whole system.

The log is generated, so its figures are known. `tests/service/test_suite.py` processes a real log
within one process.
"""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise

import pytest

from synergy.clock import SystemClock
from tests.acceptance import inside, visits
from tests.acceptance.boxes.cluster import IS_LONG
from tests.acceptance.kit import BOX
from tests.acceptance.visits import CLIENT, DIGITS, SITE
from tests.access_log import DAYS, FIRST_DAY, access_log

A_LOG = access_log()
START = f"{FIRST_DAY:%Y%m%d}00"
EACH_DAY = [f"{FIRST_DAY + timedelta(days=n):%Y%m%d}00" for n in range(DAYS)]
A_WEEK_LATER = [f"{FIRST_DAY + timedelta(days=n + 7):%Y%m%d}00" for n in range(DAYS)]
SERVERS_LIMIT = 900.0  # seconds: the stand-in for MongoDB reads whole collections
LAST = (  # when these are done, all results of the log are complete
    ("SiteYearlyAggregator", "2015000000"),
    ("ClientYearlyAggregator", "2015000000"),
    ("YearlyReportExporter", "2015000000"),
    *(("AlertDailyWorker", day) for day in EACH_DAY + A_WEEK_LATER),
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
def log(tmp_path):
    return A_LOG.write(tmp_path / "access.log")


@pytest.fixture(params=["one file", *(["MongoDB and RabbitMQ"] if IS_LONG else [])])
def any_home(request, homes):
    """A home with the embedded default, and in the long form one with the production engines.

    In the short form only the three boxes process a (smaller) log through production engines.
    """
    if request.param == "one file":
        return homes(start_timeperiod=START)
    store, bus = request.getfixturevalue("mongodb_url"), request.getfixturevalue("rabbitmq_url")
    made = homes(start_timeperiod=START, store=store, bus=bus)
    made.limit = SERVERS_LIMIT
    return made


def ingested(home, log):
    """The report of `ingest`; the stand-in for MongoDB may need longer than `ingest` waits."""
    waits = ("--wait",) if home.limit == SERVERS_LIMIT else ()
    return home.ask("ingest", log, "--site", SITE, *waits)


def wait_for_all(home):
    """Waits until the log's days are done, and all other periods up to now are accounted for."""
    last_year = f"{SystemClock().now().year - 1}000000"
    for process, timeperiod in (*LAST, *((name, last_year) for name in YEARLY)):
        inside.wait_for(home, process, timeperiod)
    home.audit()


def expected(found):
    """The expected content of each collection."""
    return {name: visits.statistics(found, name.partition("_")[2]) for name in PROCESSES}


def reports(home):
    return {name: home.report(name) for name in PROCESSES}


def test_a_log_is_processed_exactly_once_from_hours_to_years(any_home, log, tmp_path):
    home = any_home
    started = home.start()
    assert started["outcome"] == "started"

    report = ingested(home, log)
    read = len(A_LOG.lines) - len(A_LOG.rejected)
    sessions = len(A_LOG.visits())
    assert (report["lines"], report["accepted"], report["rejected"]) == (10_000, read, 12)
    assert [sample["line"] for sample in report["samples"]] == A_LOG.rejected[:10]
    assert (report["sessions"], report["hours"]) == (sessions, len(A_LOG.hours))
    assert (report["waiting"], report["problems"], report["early_events"]) == (0, [], 0)
    wait_for_all(home)

    rows = reports(home)
    assert {n: visits.reported(r) for n, r in rows.items()} == expected(A_LOG.visits())
    assert_levels_add_up(rows)
    assert {row["client_id"] for row in rows["client_daily"]} == {CLIENT}
    assert [
        row["timeperiod"] for row in home.report("alert_daily")
    ] == A_WEEK_LATER  # no data any more

    audit = home.audit()
    assert audit["unexplained"] == []
    assert audit["expected"] == audit["accounted"] > 100_000

    before = home.generations()
    again = ingested(home, log)
    assert (again["accepted"], again["sessions"], again["waiting"]) == (read, sessions, 0)
    wait_for_all(home)
    assert home.started_over(before) == set()
    assert reports(home) == rows

    assert_a_second_log_starts_over_what_it_touches(home, tmp_path)
    rows = reports(home)

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
    leaders, slotted = home.leaders(), home.slotted()
    second = home.launch("supervisor", "start")
    assert f"already runs (pid {pid})" in second.out

    status = home.ask("supervisor", "status")
    assert (status["box"], status["running"], status["pid"]) == (BOX, True, pid)
    running = [seen for seen in status["processes"] if seen["state"] == "running"]
    assert {f"{seen['name']}/{seen['instance']}": seen["pid"] for seen in running} == leaders
    assert all(seen["rss"] > 0 and seen["restarts"] == 0 for seen in running)
    assert sorted(slotted.values()) == sorted(leaders)
    assert {"SingleSessionWorker/1", "SingleSessionWorker/2", "Scheduler/1"} <= set(leaders)
    assert "EventStreamGenerator/1" not in leaders
    assert home.slotted() == slotted


def assert_a_second_log_starts_over_what_it_touches(home, folder):
    """Ingests a log with other visitors on the same days."""
    before = home.generations()
    second, hours = write_second_log(folder / "second.log")
    report = home.ask("ingest", second, "--site", SITE)
    assert (report["rejected"], report["hours"]) == (0, len(hours))
    wait_for_all(home)

    started_over = home.started_over(before)
    assert started_over == touched_by(home, hours)
    after = home.generations()
    assert {key: after[key] for key in started_over} == {
        key: before[key] + 1 for key in started_over
    }
    with second.open(encoding="latin-1") as lines:
        found = [*A_LOG.visits(), *visits.visits(lines)]
    assert {n: visits.reported(r) for n, r in reports(home).items()} == expected(found)
    assert home.audit()["unexplained"] == []
    home.check_journal()


def write_second_log(path):
    """Other visitors in eleven hours of two of the days; also returns the hours of their visits."""
    lines = []
    one, other = ("31/May/2015", range(3, 9)), ("02/Jun/2015", range(16, 21))
    for day, hour in [(day, hour) for day, hours in (one, other) for hour in hours]:
        for visitor in range(7):
            for step in range(visitor % 3 + 1):
                time = f"{day}:{hour:02d}:{10 + 9 * step:02d}:{visitor:02d} +0000"
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
    months, years = {hour[:6] + "0000" for hour in hours}, {"2015000000"}
    a_week_later = {  # they are compared with these days
        later for day, later in zip(EACH_DAY, A_WEEK_LATER, strict=True) if day in days
    }
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
