"""A home with content for every page: work that is done, in progress, late and failed.

It has six weeks of the suite with the running event stream, the programs of `shown`, schedules of
every kind with receivers that accept and that refuse, and users of every role.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from synergy.clock import SystemClock
from synergy.messaging.message import EventsMessage
from synergy.model.box import ObservedProcess
from synergy.model.unit_of_work import UnitState
from synergy.mx.access import Role
from synergy.mx.accounts.users import Users, UsersFile, new_token, new_user
from synergy.names import process_memory
from synergy.runtime.process_memory import written
from tests.acceptance.api_client import Client
from tests.acceptance.deployments.shown import ORDERS
from tests.acceptance.kit import Home, kill, until
from tests.delivery.receivers import answers, receiving
from tests.mx.secured_mx import QUICK
from workers import demo_visits

NOW = SystemClock().now()
TODAY = NOW.replace(hour=0, minute=0, second=0, microsecond=0)
DAYS = 40  # of history
STREAM = 48  # hours that the event stream generator fills
EVERY = 24  # before the stream begins, one of so many minutes has visits
QUIET = range(2, 5)  # hours of the day without visits, before the stream begins
BATCH = 250  # events in a message
SESSIONS = "SingleSessionWorker"
BOX = "dev-1"
PEOPLE = (("anna", Role.ADMIN), ("otto", Role.OPERATOR), ("vera", Role.VIEWER))


def period(days: int, hour: int = 0) -> str:
    """The timeperiod of an hour (or day) so many days ago."""
    return f"{TODAY - timedelta(days=days):%Y%m%d}{hour:02}"


@contextmanager
def showroom(folder: Path) -> Iterator[Home]:
    """The running home; it is stopped at the end."""
    users = folder / "users.json"
    secret = _people(UsersFile(users))
    home = Home(
        folder / "home",
        box_id=BOX,
        context="tests.acceptance.deployments.shown",
        start_timeperiod=period(DAYS),
        demo_stream="on",
        mx_users_file=str(users),
        webhook_networks="127.0.0.0/8",
    )
    home.limit = 300.0
    with ExitStack() as ends:
        accepting = ends.enter_context(receiving(answers(body=b'{"taken": true}')))
        refusing = ends.enter_context(
            receiving(answers("400 Bad Request", b'{"error": "day is missing"}'))
        )
        ends.callback(home.end)
        _fill_store(home)
        home.start()
        with closing(Client(address(home), {"Authorization": f"Bearer {secret}"})) as otto:
            _schedules(otto, accepting.port, refusing.port)
            _until_done(home)
            _operate(otto, home)
            _cause_failures(home)
            until(lambda: _is_accounted_for(otto), home.limit)
        yield home


def address(home: Home) -> str:
    return f"http://localhost:{home.variables['mx_port']}"


def _people(book: UsersFile) -> str:
    """Writes the users file; returns the secret of a token of the operator."""
    for name, role in PEOPLE:
        book.change(lambda users, n=name, r=role: new_user(users, n, r, QUICK, NOW))
    for what, role, days in (("nightly backup", Role.OPERATOR, 30), ("wallboard", Role.VIEWER, 90)):
        _token(book, "anna", role, what, days)
    return _token(book, "otto", Role.OPERATOR, "laptop", 7)


def _token(book: UsersFile, owner: str, scope: Role, name: str, days: int) -> str:
    secrets: list[str] = []

    def with_token(users: Users) -> Users:
        changed, _, secret = new_token(users, owner, scope, name, (NOW, NOW + timedelta(days=days)))
        secrets.append(secret)
        return changed

    book.change(with_token)
    return secrets[-1]


def _fill_store(home: Home) -> None:
    """Fills the store before the supervisor starts."""
    home.launch("store", "init")
    with home.store() as store:
        rows = [
            ("customer", period(day, hour)) for day in range(DAYS, -1, -1) for hour in range(24)
        ]
        store.documents.update(ORDERS, [row for row in rows if row[1] < f"{NOW:%Y%m%d%H}"], _order)
        events = list(_history())
        messages = [
            EventsMessage(events[first : first + BATCH]) for first in range(0, len(events), BATCH)
        ]
        with home.bus(store) as bus, store.batch() as batch:
            bus.publish(SESSIONS, messages, batch)
        _another_box(store)


def _order(key: tuple[str, str], old: dict[str, object] | None) -> dict[str, object]:
    count = int(str(old["orders"])) + 1 if old else 1
    return {"domain": key[0], "timeperiod": key[1], "orders": count}


def _history() -> Iterator[dict[str, Any]]:
    """A sample of visits on the days before the stream begins."""
    first = int((TODAY - timedelta(days=DAYS)).timestamp()) // 60
    last = int((NOW - timedelta(hours=STREAM)).timestamp()) // 60
    for minute in range(first, last, EVERY):
        if minute % 1440 // 60 in QUIET:
            continue
        for site in demo_visits.SITES:
            yield from demo_visits.visits_of(site, minute)


def _another_box(store: Any) -> None:
    """Adds a box that was last seen seven hours ago."""
    seen_at = NOW - timedelta(hours=7)
    names = ("SiteHourlyAggregator", "SiteDailyAggregator", "InvoiceHourly")
    store.boxes.assign("batch-2", names)
    report = [
        ObservedProcess("batch-2", name, 1, "running", "", pid, since=seen_at - timedelta(days=3))
        for pid, name in enumerate(names, 2210)
    ]
    store.boxes.report("batch-2", report, seen_at)
    sizes = dict.fromkeys(((name, 1) for name in names), 48_700_000)
    store.facts.set(process_memory("batch-2"), written(sizes))


def _schedules(otto: Client, accepting: int, refusing: int) -> None:
    hook = f"http://127.0.0.1:{accepting}/hook"
    definitions: list[dict[str, object]] = [
        {"name": "import-customers", "process": "CustomerImport", "cron": "*/5 * * * *",
         "first_run": "immediately"},
        {"name": "after-files", "process": "CustomerImport", "dependencies": [
            {"type": "FILE", "resourceId": "/data/customers", "lifeDuration": 7200},
            {"type": "TABLE", "resourceId": "rates", "lifeDuration": "1d"}]},
        {"name": "daily-numbers", "target": hook, "cron": "30 6 * * 1-5", "zone": "Europe/Berlin",
         "payload": {"day": "${yesterdaysDate}"}, "first_run": "immediately"},
        {"name": "heartbeat", "target": hook, "trigger": "every 60", "payload": "${scheduledTime}"},
        {"name": "site-done", "target": hook, "trigger": {"timetable": "SiteDailyAggregator"},
         "payload": {"day": "${timeperiod}"}},
        {"name": "partner-report", "target": f"http://127.0.0.1:{refusing}/partner",
         "cron": "0 5 * * *", "payload": {"report": "daily"}, "first_run": "immediately"},
        {"name": "night-only", "target": hook, "trigger": "every 900", "first_run": "immediately",
         "payload": "{}", "constraints": [{"time_window": _window()}]},
        {"name": "newsletter", "target": hook, "cron": "0 8 * * 1", "enabled": False},
    ]  # fmt: skip
    for each in definitions:
        otto.post("/schedules", {"enabled": True, **each}, 201)


def _window() -> dict[str, str]:
    """A time window of two hours that begins in nine hours."""
    start = NOW + timedelta(hours=9)
    return {"start": f"{start:%H}:00", "end": f"{start + timedelta(hours=2):%H}:00"}


def _until_done(home: Home) -> None:
    for day in range(DAYS, 0, -1):
        home.wait_for("SiteDailyAggregator", period(day))
        home.wait_for("ClientDailyAggregator", period(day))
    home.until_unit("InvoiceHourly", UnitState.INVALID)


def _operate(otto: Client, home: Home) -> None:
    """Reprocesses, skips, emits events and switches a process off, as an operator."""
    otto.post("/jobs/reprocess", {
        "process": "SiteHourlyAggregator", "from": period(4, 9), "to": period(4, 12),
        "reason": "visits of a crawler were counted",
    })  # fmt: skip
    otto.post("/jobs/skip", {
        "process": "RefundHourly", "from": period(DAYS), "to": period(DAYS, 6),
        "reason": "refunds began in the morning",
    })  # fmt: skip
    for kind, resource in (("FILE", "/data/customers/new.csv"), ("TABLE", "prices")):
        at = f"{SystemClock().now():%Y-%m-%dT%H:%M:%SZ}"
        event = {"eventType": kind, "eventResourceId": resource, "eventTimestamp": at}
        otto.post("/events", event, 202)
    off = {"is_on": False, "reason": "the disk is full"}
    otto.ask("PUT", "/boxes/{box}/processes/{name}", off, box=BOX, name="YearlyReportExporter")
    home.wait_for("SiteDailyAggregator", period(4))


def _cause_failures(home: Home) -> None:
    """Adds late orders for finished hours and unreadable messages, and kills a worker."""
    with home.store() as store:
        late = [("customer", period(3, hour)) for hour in (10, 11)]
        store.documents.update(ORDERS, late, _order)
        for body, why in (
            (b'{"v": 1, "type": "unit"', "not JSON: unexpected end of data"),
            (b'{"v": 2, "type": "events"}', "version 2, expected 1"),
        ):
            store.messages.bury(SESSIONS, body, why, SystemClock().now())
    kill(home.leaders()["CustomerImport/1"])
    home.until_all_run("CustomerImport/1")


def _is_accounted_for(client: Client) -> bool:
    """Whether an audit finds nothing unexplained."""
    result = client.ask("GET", "/audit", status=None, fresh=True).body["result"]
    return result is not None and not result["audit"]["unexplained"]
