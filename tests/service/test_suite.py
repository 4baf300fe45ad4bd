"""The workers of the illustration on the real access log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from synergy.compose import open_project
from synergy.errors import InvalidValue
from synergy.model.process import Deployment, ManagedProcess
from synergy.model.unit_of_work import UnitOfWork
from synergy.storage.collection_rows import decoded
from synergy.storage.protocol import Documents
from synergy.storage.sqlite import SqliteStore
from synergy.timeperiod import Qualifier
from synergy.worker import Nothing, Outcome, Processed, Worker
from synergy.worker.task import Sink, Source, Task
from tests import log_site
from tests.acceptance.visits import LOG as REAL_LOG
from tests.acceptance.visits import reported, statistics, visits
from tests.access_log import access_log
from workers.access_log.ncsa import parse
from workers.access_log.sessions import Sessionizer
from workers.alert_daily_worker import AlertDailyWorker
from workers.client_daily_aggregator import ClientDailyAggregator
from workers.client_monthly_aggregator import ClientMonthlyAggregator
from workers.client_yearly_aggregator import ClientYearlyAggregator
from workers.single_session_worker import SingleSessionWorker
from workers.site_daily_aggregator import SiteDailyAggregator
from workers.site_hourly_aggregator import SiteHourlyAggregator
from workers.site_monthly_aggregator import SiteMonthlyAggregator
from workers.site_yearly_aggregator import SiteYearlyAggregator

PROJECT = Path(__file__).parents[2]
Body = Mapping[str, Any]


LOG = access_log()


START, END = "2015053000", "2015060300"


SITE = "semicomplete.com"


WORKERS: tuple[type[Worker], ...] = (
    SiteHourlyAggregator,
    SiteDailyAggregator,
    SiteMonthlyAggregator,
    SiteYearlyAggregator,
    ClientDailyAggregator,
    ClientMonthlyAggregator,
    ClientYearlyAggregator,
    AlertDailyWorker,
)


FIGURES = tuple(
    f"{noun}_{level}"
    for noun, levels in (
        ("site", ("hourly", "daily", "monthly", "yearly")),
        ("client", ("daily", "monthly", "yearly")),
    )
    for level in levels
)


class Shelf(log_site.Shelf):
    """Documents in a dictionary, with the rows of units."""

    def conclude(self, sink: Sink) -> None:
        for write in sink.writes():
            for place in list(self.rows):
                if place[0] == write.collection and write.start <= place[1] < write.end:
                    del self.rows[place]
            for document in write.documents:
                place = (write.collection, document.timeperiod, document.key)
                assert isinstance(document.body, bytes)
                self.rows[place] = decoded(document.body)

    def of(self, collection: str) -> list[Body]:
        return list(self.read(collection, "", ""))


@pytest.fixture(scope="module")
def deployment() -> Deployment:
    environ = {"SYNERGY_DEMO_STREAM": "off", "SYNERGY_ENV": "test"}
    return open_project(PROJECT, environ).deployment


def work(deployment: Deployment, shelf: Shelf, kind: type[Worker], timeperiod: str) -> Outcome:
    """One unit of the process that is declared for the worker, for one timeperiod."""
    process = deployment.processes[kind.__name__]
    assert isinstance(process, ManagedProcess)
    assert process.source
    assert process.sink
    qualifier = process.qualifier
    end = qualifier.timeperiod(qualifier.parse(timeperiod) + 1)
    now = datetime(2026, 1, 1, tzinfo=UTC)
    unit = UnitOfWork("u", process.name, timeperiod, 1, timeperiod, end, 0, 1, now)
    source = Source(shelf, process.source, unit)  # type: ignore[arg-type]
    sink = Sink(process.sink, unit, kind.unique_by)
    outcome = kind(None).work(Task(process, unit, source, sink, lambda: None))  # type: ignore[arg-type]
    shelf.conclude(sink)
    return outcome


def work_on_all(deployment: Deployment, shelf: Shelf, start: str, end: str) -> None:
    """All periods of all workers that hold an hour of `[start, end)`, finest first."""
    first, last = Qualifier.HOURLY.parse(start), Qualifier.HOURLY.parse(end) - 1
    for kind in WORKERS:
        process = deployment.processes[kind.__name__]
        assert isinstance(process, ManagedProcess)
        qualifier = process.qualifier
        begin = Qualifier.HOURLY.up(first, qualifier)
        for ordinal in range(begin, Qualifier.HOURLY.up(last, qualifier) + 1):
            work(deployment, shelf, kind, qualifier.timeperiod(ordinal))


def ingested(shelf: Shelf | Documents, lines: Sequence[bytes]) -> None:
    sessionizer = Sessionizer(SITE)
    events = []
    for line in lines:
        try:
            events.append(sessionizer.event(parse(line), line))
        except InvalidValue:
            continue
    worker = SingleSessionWorker(None)  # type: ignore[arg-type]
    for first in range(0, len(events), 250):
        worker.handle(events[first : first + 250], shelf)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def shelf(deployment: Deployment) -> Shelf:
    """The log, worked on to its end."""
    shelf = Shelf()
    ingested(shelf, lines())
    work_on_all(deployment, shelf, START, END)
    return shelf


def lines() -> list[bytes]:
    return [line.content for line in LOG.lines]


REAL_DAYS = {  # visits, page views
    "2015051700": (546, 1535),
    "2015051800": (1029, 2767),
    "2015051900": (852, 2795),
    "2015052000": (796, 2483),
}


REAL_YEAR = (3223, 9580, 48_818)


@pytest.mark.skipif(not REAL_LOG.is_file(), reason="the real log does not lie beside the project")
def test_the_real_log_gives_what_it_gave(deployment: Deployment) -> None:
    """Its figures are written down here, and found again from its raw lines."""
    shelf = Shelf()
    ingested(shelf, REAL_LOG.read_bytes().splitlines())
    work_on_all(deployment, shelf, "2015051700", "2015052100")

    rows = {name: shelf.of(name) for name in FIGURES}
    days = reported(rows["site_daily"])
    assert {day: numbers[:2] for day, numbers in days.items()} == REAL_DAYS
    assert reported(rows["site_yearly"]) == {"2015000000": REAL_YEAR}
    with REAL_LOG.open(encoding="latin-1") as raw:
        found = visits(raw)
    assert {name: reported(each) for name, each in rows.items()} == {
        name: statistics(found, name.partition("_")[2]) for name in FIGURES
    }
    assert len(rows["site_hourly"]) == 84


def numbers(row: Body) -> tuple[int, int, int]:
    stat = row["stat"]
    return stat["number_of_visits"], stat["number_of_pageviews"], stat["total_duration"]


@pytest.mark.parametrize("qualifier", ["hourly", "daily", "monthly", "yearly"])
def test_each_level_has_the_figures_of_the_log(shelf: Shelf, qualifier: str) -> None:
    rows = shelf.of(f"site_{qualifier}")
    assert {row["timeperiod"]: numbers(row) for row in rows} == statistics(LOG.visits(), qualifier)
    assert {row["domain"] for row in rows} == {SITE}


def test_each_counter_counts_every_visit(shelf: Shelf) -> None:
    (year,) = shelf.of("site_yearly")
    for name in ("os", "browser", "language", "country", "screen_resolution"):
        assert sum(year["stat"][name].values()) == len(LOG.visits())
    assert year["stat"]["country"] == {"unknown": len(LOG.visits())}


def test_clients_have_what_their_sites_have(shelf: Shelf) -> None:
    for granularity in ("daily", "monthly", "yearly"):
        sites, clients = shelf.of(f"site_{granularity}"), shelf.of(f"client_{granularity}")
        assert [row["stat"] for row in clients] == [row["stat"] for row in sites]
        assert {row["client_id"] for row in clients} == {"semicomplete"}


def test_ingesting_again_changes_nothing(shelf: Shelf) -> None:
    before = dict(shelf.rows)
    ingested(shelf, lines())
    assert shelf.rows == before


def test_a_part_first_and_the_whole_later_is_as_the_whole_at_once() -> None:
    once, twice = Shelf(), Shelf()
    ingested(once, lines())
    ingested(twice, lines()[:6_000])
    ingested(twice, lines())
    assert once.rows == twice.rows


def test_on_the_store_ingesting_again_writes_nothing() -> None:
    store = SqliteStore.open(":memory:")
    with closing(store):
        ingested(store.documents, lines())
        sessions = store.documents.bounds("single_session", "", "")
        ingested(store.documents, lines())

        assert sessions is not None
        assert sessions.rows == len(LOG.visits())
        assert store.documents.bounds("single_session", "", "") == sessions
        found = store.documents.read("single_session", START, "2015053100")
        assert sum(1 for _ in found) == statistics(LOG.visits(), "daily")[START][0]


def a_day(shelf: Shelf, day: str, **visits: int) -> None:
    for site, number in visits.items():
        shelf.rows["site_daily", day, site] = {
            "domain": site,
            "timeperiod": day,
            "stat": {"number_of_visits": number, "number_of_pageviews": number},
        }


def test_alerts_compare_a_day_with_the_same_day_a_week_before(deployment: Deployment) -> None:
    shelf = Shelf()
    a_day(shelf, "2015051000", calm=100, risen=100, fallen=100, silent=3)
    a_day(shelf, "2015051600", calm=900, risen=900)
    a_day(shelf, "2015051700", calm=110, risen=130, fallen=70, new=5)
    outcome = work(deployment, shelf, AlertDailyWorker, "2015051700")

    assert outcome == Processed({"alerts": 3})
    rows = shelf.of("alert_daily")
    assert [row["domain"] for row in rows] == ["fallen", "risen", "silent"]
    assert {row["timeperiod"] for row in rows} == {"2015051700"}


def test_nothing_to_do_is_said(deployment: Deployment) -> None:
    for kind in WORKERS:
        qualifier = deployment.managed()[kind.__name__].qualifier
        period = qualifier.timeperiod(qualifier.cast("2015051700"))
        assert work(deployment, Shelf(), kind, period) == Nothing()


def test_sites_without_owner_are_unassigned(deployment: Deployment) -> None:
    shelf = Shelf()
    ingested(shelf, lines()[:100])
    shelf.rows = {
        place: {**body, "domain": "nobodys.example"}
        for place, body in shelf.rows.items()
        if place[0] == "single_session"
    }
    work(deployment, shelf, SiteHourlyAggregator, LOG.hours[0])
    work(deployment, shelf, SiteDailyAggregator, START)
    work(deployment, shelf, ClientDailyAggregator, START)

    assert [row["client_id"] for row in shelf.of("client_daily")] == ["unassigned"]
