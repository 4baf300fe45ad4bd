"""An access log is processed while a client watches and operates through the API alone.

The client knows only the OpenAPI document. The log is ingested by command, for which there is no
API, and the final reports are read from the store.
"""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import takewhile

import pytest

from synergy.clock import SystemClock
from tests.acceptance import inside, visits
from tests.acceptance.api_client import Client, StreamMessage
from tests.acceptance.deployments.watched import STAMP
from tests.acceptance.kit import Home, until
from tests.acceptance.test_access_log import expected
from tests.acceptance.visits import SITE
from tests.access_log import DAYS, access_log
from tests.mx.prometheus import parse

LAST_YEAR = SystemClock().now().year - 1
FIRST_DAY = date(LAST_YEAR, 5, 30)
LOG = access_log(FIRST_DAY, lines=4000)
YEAR = f"{LAST_YEAR}000000"
START = f"{FIRST_DAY:%Y%m%d}00"
END = f"{FIRST_DAY + timedelta(days=DAYS):%Y%m%d}00"
A_DAY, ANOTHER_DAY = f"{LAST_YEAR}0531", f"{LAST_YEAR}0601"  # within the log
LIMIT_SECONDS = 120.0
OFTEN = 50  # the watcher is disconnected after so many messages
ME = "local (mx)"
SITES = ("SiteYearlyAggregator", "SiteMonthlyAggregator", "SiteDailyAggregator")
CLIENTS = ("ClientDailyAggregator", "ClientMonthlyAggregator", "ClientYearlyAggregator")
HOURLY = "SiteHourlyAggregator"


@dataclass(frozen=True)
class Watched:
    """The home once everything is done, and all messages of the stream until then."""

    home: Home
    client: Client
    messages: list[StreamMessage]
    connections: int


@pytest.fixture(scope="module")
def watched(module_homes, tmp_path_factory):
    log = LOG.write(tmp_path_factory.mktemp("log") / "access.log")
    home = module_homes(start_timeperiod=START, context="tests.acceptance.deployments.driven")
    home.ingest_at_rest(log, SITE)
    inside.run(home, "process", "off", HOURLY)  # until the client watches
    home.start()
    with closing(Client(f"http://127.0.0.1:{home.variables['mx_port']}")) as client:
        yield Watched(home, client, *watch(client))


@pytest.fixture
def client(watched):
    return watched.client


def watch(client):
    """All messages from the first entry until all is done, and the number of connections."""
    messages, last = [], None
    with client.listen(since=0) as listener:
        client.ask("PATCH", "/processes/{name}", {"is_on": True}, name=HOURLY)

        def is_done(message):
            nonlocal last
            if message is not None:
                messages.append(message)
                if len(messages) % OFTEN == 1:  # also if all entries come in a single message
                    listener.cut()
            if last is None and caught_up(message):
                last = client.get("/journal", limit=1)["items"][0]["seq"]
            return last is not None and messages and messages[-1].id >= last

        caught_up = catching_up(client)
        listener.until(is_done, LIMIT_SECONDS)
        return messages, listener.connections


def catching_up(client):
    """A function that returns, for each message, whether all closed periods are done by now."""
    behind = [
        lane for tree in client.get("/trees")["items"] for lane in lanes(client, tree["name"])
    ]

    def is_done(message):
        while behind:
            tree, process = behind[0]
            if message is not None and process not in (message.data.get("process"), ""):
                return False
            (lane,) = (lane for lane in last_of(client, tree) if lane["name"] == process)
            if (lane["frontier"] or lane["closed"]) < lane["closed"]:
                return False
            behind.pop(0)
            message = None  # the next process may have been done before
        return True

    return is_done


def last_of(client, tree):
    return client.get("/trees/{tree}", tree=tree, from_=f"{LAST_YEAR + 1}010100")["processes"]


def lanes(client, tree):
    return [(tree, lane["name"]) for lane in last_of(client, tree)]


def job(client, process, timeperiod):
    return client.get("/jobs/{process}/{timeperiod}", process=process, timeperiod=timeperiod)


def wait_for(client, process, timeperiod, generation):
    """Waits on the stream until a job is processed in this generation."""

    def look(_):
        found = job(client, process, timeperiod)["job"]
        return found if (found["state"], found["generation"]) == ("processed", generation) else None

    with client.listen(process=process, nouns="job") as listener:
        return listener.until(look)


def leaves(cause):
    """The causes that have no further cause."""
    return [leaf for each in cause["causes"] for leaf in leaves(each)] or [cause]


def periods(entry):
    """The timeperiods of an entry; its first and last hour are of one day."""
    return [str(each) for each in range(int(entry["first"]), int(entry["last"]) + 1)]


def test_the_stream_delivers_each_entry_once_and_in_order_across_disconnections(watched):
    entries = list(watched.client.items("/journal", limit=1000))[::-1]
    assert [entry["seq"] for entry in entries] == list(range(1, len(entries) + 1))
    by_number = {entry["seq"]: entry for entry in entries}
    seen = 0
    for message in watched.messages:
        if message.event == "behind":
            assert message.data["from"] == seen
        else:
            assert message.id == seen + 1
            assert message.data.items() <= by_number[message.id].items()
        seen = message.id
    assert watched.connections > 1
    assert {message.event for message in watched.messages} >= {"job", "unit"}


def test_the_timetable_holds_the_figures_of_the_log(client):
    site = {
        lane["name"]: lane
        for lane in client.get("/trees/{tree}", tree="site", from_=START, to=END)["processes"]
    }
    assert {name: site[name]["runs"] for name in SITES} == {
        "SiteYearlyAggregator": [["processed", 1]],
        "SiteMonthlyAggregator": [["processed", 2]],
        "SiteDailyAggregator": [["processed", 4]],
    }
    hours = Counter()
    for state, number in site[HOURLY]["runs"]:
        hours[state] += number
    assert hours == {"processed": len(LOG.hours), "noop": 24 * DAYS - len(LOG.hours)}

    listed = client.items("/jobs", process=HOURLY, state="processed", from_=START, to=END, limit=50)
    found = [job(client, HOURLY, each["timeperiod"]) for each in listed]
    assert sorted(each["job"]["timeperiod"] for each in found) == LOG.hours
    assert sum(each["source"]["rows"] for each in found) == len(LOG.visits())
    assert {each["generation"] for each in client.items("/jobs", from_=START, to=END)} == {1}


def test_the_audit_explains_everything(client):
    client.ask("GET", "/audit", status=None, fresh=True)
    result = until(
        lambda: None if (found := client.get("/audit"))["is_running"] else found["result"]
    )
    audit = result["audit"]
    assert audit["unexplained"] == []
    assert audit["expected"] == audit["accounted"] > 5_000


def test_why_names_an_open_period_as_the_cause(client):
    for process in ("SiteYearlyAggregator", "ClientDailyAggregator", "AlertDailyWorker"):
        tree = client.get("/processes/{name}", name=process)["tree"]
        (last,) = (lane["last"] for lane in last_of(client, tree) if lane["name"] == process)
        why = client.get("/jobs/{process}/{timeperiod}/why", process=process, timeperiod=last)
        assert {leaf["kind"] for leaf in leaves(why)} == {"open"}, why


def test_a_range_is_reprocessed_and_followed_to_its_end(watched):
    client = watched.client
    wanted = {
        HOURLY: 3, "SiteDailyAggregator": 1, "SiteMonthlyAggregator": 1, "SiteYearlyAggregator": 1,
        **dict.fromkeys(CLIENTS, 1),
        "AlertDailyWorker": 2,  # the day, and a week later
        "YearlyReportExporter": 1,
    }  # fmt: skip
    asked = {"process": HOURLY, "from": f"{A_DAY}10", "to": f"{A_DAY}13", "reason": "a new rule"}
    last = client.get("/journal", limit=1)["items"][0]["seq"]
    planned = client.post("/jobs/reprocess", {**asked, "dry_run": True})
    assert (planned["dry_run"], planned["count"], planned["processes"]) == (True, 12, wanted)
    entries = takewhile(lambda entry: entry["seq"] > last, client.items("/journal"))
    assert not [entry for entry in entries if entry["generation"] > 1]  # hours may have closed
    states = {(each["process"], each["timeperiod"]): each["before"] for each in planned["touched"]}

    finished = set()

    def all_are_finished(message):
        is_end = message is not None and message.data["event"] in ("job.processed", "job.noop")
        if is_end and message.data["generation"] == 2:
            finished.update((message.data["process"], each) for each in periods(message.data))
        return finished == set(states)

    mine = {"Idempotency-Key": "the-rule", "prefer": "respond-async"}
    with client.listen(nouns="job") as listener:
        accepted = client.ask("POST", "/jobs/reprocess", asked, 202, **mine)
        operation = client.follow(accepted)
        assert (operation["state"], operation["total"], operation["touched"]) == ("done", 3, 12)
        again = client.ask("POST", "/jobs/reprocess", asked, 202, **mine)
        assert (again.body, again.headers["Idempotency-Replayed"]) == (accepted.body, "true")
        client.ask("POST", "/jobs/reprocess", {**asked, "to": f"{A_DAY}14"}, 422, **mine)
        assert listener.until(all_are_finished)

    for (process, timeperiod), state in states.items():
        found = job(client, process, timeperiod)["job"]
        assert (found["state"], found["generation"]) == (state, 2)
    day = client.items("/jobs", process=HOURLY, from_=f"{A_DAY}00", to=f"{ANOTHER_DAY}00")
    again = [each["timeperiod"] for each in day if each["generation"] == 2]
    assert again == [f"{A_DAY}10", f"{A_DAY}11", f"{A_DAY}12"]
    entries = list(client.items("/journal", event="job.started_over", process=HOURLY))
    assert {(entry["who"], entry["why"]) for entry in entries} == {(ME, "a new rule")}
    wanted = expected(LOG.visits())
    with watched.home.store() as store:
        rows = {name: store.documents.read(name, "", "") for name in wanted}
        assert {name: visits.reported(found) for name, found in rows.items()} == wanted


def test_why_offers_to_switch_on_the_process_that_blocks_a_period(client):
    daily, yearly = CLIENTS[0], CLIENTS[2]
    generation = job(client, yearly, YEAR)["job"]["generation"]
    place = client.ask(
        "PATCH", "/processes/{name}", {"is_on": False, "reason": "lunch"}, name=daily
    )
    assert [change["after"] for change in place.body["touched"]] == [False]
    asked = {"process": daily, "from": START, "reason": "once more"}
    assert client.post("/jobs/reprocess", asked)["processes"] == dict.fromkeys(CLIENTS, 1)

    why = client.get("/jobs/{process}/{timeperiod}/why", process=yearly, timeperiod=YEAR)
    (leaf,) = leaves(why)
    assert (leaf["kind"], leaf["process"], leaf["timeperiod"]) == ("switched_off", daily, START)
    (help_,) = leaf["helps"]
    body = {**help_["body"], "reason": "lunch is over"}
    assert client.ask(help_["method"], help_["path"], body).body["count"] == 1

    wait_for(client, yearly, YEAR, generation + 1)
    switched = [
        (entry["event"], entry["who"], entry["why"])
        for entry in client.items("/journal", process=daily, event="process")
        if entry["event"] in ("process.on", "process.off")
    ]
    assert switched == [("process.on", ME, "lunch is over"), ("process.off", ME, "lunch")]


def test_a_schedule_runs_by_a_trigger_and_by_an_event(client):
    written = {
        "name": "stamps", "process": STAMP, "arguments": {"word": "twice"}, "enabled": True,
        "dependencies": [{"type": "FILE", "resourceId": "/in/", "lifeDuration": "3600"}],
        "reason": "a test",
    }  # fmt: skip
    assert client.ask("POST", "/schedules", {**written, "dry_run": True}).body["count"] == 1
    made = client.ask("POST", "/schedules", written, 201)
    assert client.get(made.headers["location"])["name"] == "stamps"

    (run,) = client.post("/schedules/{name}/trigger", {"reason": "now"}, name="stamps")["touched"]
    triggered = run_of(client, run["id"])
    emitted = {
        "eventType": "FILE", "eventResourceId": "/in/a", "id": "a", "reason": "it is there",
        "eventTimestamp": SystemClock().now().isoformat(),
    }  # fmt: skip
    came = client.post("/events", emitted, 202)
    assert (came["is_new"], came["schedules"]) == (True, ["stamps"])
    (second,) = until(lambda: runs_of(client, "stamps") - {triggered["id"]})
    assert [run["id"] for run in came["touched"]] == ([second] if came["is_decided"] else [])
    caused = run_of(client, second)
    assert client.post("/events", emitted, 202)["is_new"] is False

    assert [triggered["state"], caused["state"]] == ["processed", "processed"]
    runs = runs_of(client, "stamps")
    assert runs == {triggered["id"], caused["id"]}
    assert [event["id"] for event in client.items("/events")] == ["a"]
    units = list(client.items("/units", process=STAMP))
    assert {unit["run"] for unit in units} == runs
    for unit in units:
        log = client.get("/units/{id}/log", id=unit["id"])
        assert "stamped twice" in [line["message"] for line in log["items"]]

    client.ask("DELETE", "/schedules/{name}", name="stamps", reason="done")
    client.get("/schedules/{name}", 404, name="stamps")


def runs_of(client, schedule):
    return {run["id"] for run in client.items("/schedules/{name}/runs", name=schedule)}


def run_of(client, id):
    """The run, once it has finished."""
    with client.listen(nouns="run") as listener:
        return listener.until(
            lambda _: found if (found := client.get("/runs/{id}", id=id))["finished_at"] else None
        )


def of_one_listener(metrics):
    """The metrics, once closed streams are no longer counted; else None."""
    return metrics if metrics["synergy_mx_stream_listeners"].value() == 1 else None


def test_metrics_count_what_happens(client):
    daily = CLIENTS[0]
    generation = job(client, CLIENTS[2], YEAR)["job"]["generation"]
    with client.listen(nouns="gc"):
        before = until(lambda: of_one_listener(parse(client.get("/metrics"))))
    asked = {"process": daily, "from": f"{ANOTHER_DAY}00"}
    client.post("/jobs/reprocess", asked)
    wait_for(client, CLIENTS[2], YEAR, generation + 1)
    client.get("/units/{id}", 404, id="none")
    after = parse(client.get("/metrics"))

    def rise(name, suffix="", **labels):
        sample = f"synergy_{name}{suffix}", tuple(sorted(labels.items()))
        return after[f"synergy_{name}"].samples[sample] - (
            before[f"synergy_{name}"].samples.get(sample, 0)
        )

    for process in CLIENTS:
        assert rise("journal_entries_total", event="job.started_over", process=process) == 1
        assert rise("journal_entries_total", event="job.processed", process=process) == 1
        assert rise("unit_duration_seconds", "_count", process=process, outcome="processed") == 1
        assert rise("dispatch_latency_seconds", "_count", process=process) == 1
    assert rise("mx_requests_total", method="POST", status="200") == 1
    assert rise("mx_requests_total", method="GET", status="404") == 1
    for tree in client.get("/trees")["items"]:
        for process in tree["processes"]:
            for state, number in process["counts"].items():
                labels = {"process": process["name"], "state": state}
                assert after["synergy_jobs"].value(**labels) == number


def test_probes_report_mx_alive_and_ready(client):
    assert client.get("/livez") == client.get("/healthz") == {"alive": True}
    ready = client.get("/readyz")
    assert ready["ready"] is True
    assert {check["name"] for check in ready["checks"]} == {
        "store", "bus", "scheduler", "collector", "agent",
    }  # fmt: skip
