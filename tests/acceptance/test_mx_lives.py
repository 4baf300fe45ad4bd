"""MX is killed, restarted, run twice and left without servers: other processes are not affected.

Clients lose no event of the stream. They know only the OpenAPI document.
"""

from __future__ import annotations

import re
import threading
from contextlib import closing, contextmanager, suppress
from datetime import timedelta
from html import unescape

import httpx
import pytest

from synergy.clock import SystemClock
from synergy.mx.access import Role
from synergy.mx.accounts.users import UsersFile, new_user
from synergy.runtime.shared_parts import COLLECTOR, lease_of, part_of_tree
from tests.acceptance import inside
from tests.acceptance.api_client import Client
from tests.acceptance.kit import LIMIT, end_of, kill, until
from tests.acceptance.test_failures import write
from tests.mx.secured_mx import PASSWORD, QUICK
from tests.servers.ports import free_port
from tests.servers.wire import wire

DEPLOYMENT = "tests.acceptance.deployments.attended"
YESTERDAY = f"{SystemClock().now() - timedelta(days=1):%Y%m%d}"
DAY, START, HOUR = (YESTERDAY + hour for hour in ("00", "20", "21"))
LEASES = (lease_of(part_of_tree("copies")), lease_of(COLLECTOR))
FOLLOWERS = 3
SLOW = 300.0  # seconds: the stand-in for MongoDB reads whole collections
HTML = {"Accept": "text/html"}
PACE = 0.5  # seconds between two requests of a polling client


def a_home(homes, **settings):
    """A running home with two hours of data."""
    home = homes(start_timeperiod=START, context=DEPLOYMENT, test_gates="none", **settings)
    home.limit = SLOW if "store" in settings else LIMIT
    inside.run(home, "store", "init")
    write(home, START, 5)
    write(home, HOUR, 1)
    home.start()
    return home


@pytest.fixture(scope="module")
def running(module_homes, tmp_path_factory):
    """A running home with a user; tests restore its state."""
    users = tmp_path_factory.mktemp("users") / "users.json"
    now = SystemClock().now()
    UsersFile(users).change(lambda users: new_user(users, "ada", Role.ADMIN, QUICK, now))
    home = a_home(module_homes, mx_users_file=str(users))
    inside.wait_for(home, "CopyDaily", DAY)
    return home


def address(home, port=None):
    return f"http://127.0.0.1:{port or home.variables['mx_port']}"


def epochs(home):
    """The current terms of the leases."""
    with home.store() as store:
        return {name: store.leases.read(name).epoch for name in LEASES}


def others(home):
    """The pids of all processes but MX."""
    return {slot: pid for slot, pid in home.leaders().items() if slot != "MX/1"}


def log_in(base):
    """Logs in as a browser does; returns the headers that scripts of a page send."""
    with httpx.Client(base_url=base, trust_env=False) as browser:
        (form,) = re.findall(r'name="csrf" value="([^"]*)"', browser.get("/login").text)
        fields = {"csrf": unescape(form), "name": "ada", "password": PASSWORD, "next": "/"}
        assert browser.post("/login", data=fields).status_code == 303
        (secret,) = re.findall(r'<meta name="csrf" content="([^"]*)"', browser.get("/account").text)
        cookies = "; ".join(f"{name}={value}" for name, value in browser.cookies.items())
    return {"Cookie": cookies, "X-CSRF-Token": unescape(secret), "Origin": base}


def user_of(home, port=None):
    """A client with a session of the home's MX, which an MX at another port accepts as well."""
    headers = log_in(address(home))
    return Client(address(home, port), {**headers, "Origin": address(home, port)})


class Follower(threading.Thread):
    """Follows the stream, across disconnections, until an entry with the reason `end`."""

    def __init__(self, client, end):
        super().__init__(daemon=True)
        self._listener = client.listen()
        self._end = end
        self.begin = int(self._listener.last)
        self.seen = []

    @property
    def connections(self):
        return self._listener.connections

    def run(self):
        with self._listener:
            for message in self._listener.messages():
                if message is not None:
                    self.seen.append(message.id)
                    if message.data.get("why") == self._end:
                        break


@contextmanager
def polling(client):
    """Two threads poll MX; yields the list of their responses, which match the description."""
    is_over, answered = threading.Event(), []

    def ask():
        while not is_over.wait(PACE):
            with suppress(httpx.TransportError):
                client.get("/trees/{tree}", tree="copies")
                answered.append(client.get("/jobs", process="CopyHourly", limit=3))

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        yield answered
    finally:
        is_over.set()
        for thread in threads:
            thread.join(LIMIT)


def until_back(home, client, pid):
    """Waits until an MX with another pid answers."""

    def look():
        if home.leaders().get("MX/1") in (pid, None):
            return None
        with suppress(httpx.TransportError):
            return client.get("/livez")

    until(look, home.limit)


def restarts(home):
    status = inside.ask(home, "supervisor", "status")
    return {seen["name"]: seen["restarts"] for seen in status["processes"]}


def kill_mx(home, client, who):
    """Kills MX: polling clients recover, followers miss no entry, other processes go on."""
    terms, pids, before = epochs(home), others(home), restarts(home)
    place = {"process": "CopyDaily", "timeperiod": DAY}
    generation = client.get("/jobs/{process}/{timeperiod}", **place)["job"]["generation"]
    followers = [Follower(client, "that is all") for _ in range(FOLLOWERS)]
    for follower in followers:
        follower.start()
    with polling(client) as answered:
        until(lambda: answered)
        mx = home.leaders()["MX/1"]
        write(home, HOUR, 10)
        kill(mx)
        inside.run(home, "timetable", "reprocess", "CopyHourly", HOUR)
        inside.wait_for(home, "CopyDaily", DAY)
        until_back(home, client, mx)
        so_far = len(answered)
        until(lambda: len(answered) > so_far)  # polling clients are served again
    assert (epochs(home), others(home)) == (terms, pids)
    job = client.get("/jobs/{process}/{timeperiod}", **place)["job"]
    assert (job["state"], job["generation"]) == ("processed", generation + 1)

    body = {"is_on": False, "reason": "that is all"}
    client.ask("PATCH", "/processes/{name}", body, name="CopyDaily")
    for follower in followers:
        follower.join(LIMIT)
        assert not follower.is_alive()
        first, last = follower.begin + 1, follower.seen[-1]
        assert follower.seen == list(range(first, last + 1))
        assert follower.connections > 1
    found = client.get("/journal", limit=1, event="process.off")["items"]
    assert [(entry["who"], entry["seq"]) for entry in found] == [(who, last)]
    client.ask("PATCH", "/processes/{name}", {"is_on": True}, name="CopyDaily")
    with client.listen(since=last) as listener:  # skips older entries
        listener.until(lambda found: found is not None and found.data["event"] == "process.on")
    assert restarts(home) == before | {"MX": before["MX"] + 1}
    home.check_journal()


def test_killing_mx_affects_only_its_clients(running):
    with closing(Client(address(running))) as stranger:
        stranger.get("/trees", 401)
    with closing(user_of(running)) as client:
        kill_mx(running, client, "ada (mx)")


def by_the_second(message):
    is_it = message is not None and message.data.get("why") == "by the second"
    return message if is_it else None


def test_a_second_mx_serves_sessions_and_events_of_the_first(running):
    terms, pids, port = epochs(running), running.leaders(), free_port()
    second = running.begin("process", "start", "MX", "--console", mx_port=str(port))
    with (
        closing(user_of(running)) as client,
        closing(user_of(running, port)) as beside,
        client.listen() as one,
        beside.listen() as other,
    ):
        asked = {"process": "CopyHourly", "from": HOUR, "reason": "by the second"}
        assert beside.post("/jobs/reprocess", asked)["count"] == 2
        heard = [listener.until(by_the_second) for listener in (one, other)]
        assert heard[0] == heard[1]
        inside.wait_for(running, "CopyDaily", DAY)
        second.terminate()
        assert end_of(second).code == 0
        assert client.get("/readyz")["ready"] is True
    assert (epochs(running), running.leaders()) == (terms, pids)


def wrong(client):
    """The failing checks of `/readyz`: detail by name."""
    answer = client.ask("GET", "/readyz", status=None)
    found = {check["name"]: check["detail"] for check in answer.body["checks"] if not check["ok"]}
    assert (answer.status, answer.body["ready"]) == ((503, False) if found else (200, True))
    return found


def until_wrong(client, *names):
    """Waits until all these checks fail; returns all failing checks."""

    def look():
        found = wrong(client)
        return found if set(names) <= set(found) else None

    return until(look)


def until_well(client, limit=LIMIT):
    until(lambda: not wrong(client), limit)


def test_readyz_names_a_stopped_scheduler_until_it_runs_again(running):
    with closing(user_of(running)) as client:
        place = {"box": running.box, "name": "Scheduler"}
        client.ask("PUT", "/boxes/{box}/processes/{name}", {"is_on": False}, **place)
        said = until_wrong(client, "scheduler", "collector")
        assert said == {
            "scheduler": "tree copies has no leader",
            "collector": "the collector has no leader",
        }
        assert client.get("/livez") == {"alive": True}
        until(lambda: said["scheduler"] in client.http.get("/", headers=HTML).text)
        client.ask("PUT", "/boxes/{box}/processes/{name}", {"is_on": True}, **place)
        until_well(client)
        asked = {"process": "CopyHourly", "from": START}
        client.post("/jobs/reprocess", asked)
        inside.wait_for(running, "CopyDaily", DAY)


def test_readyz_names_hanging_servers_and_mx_survives_them_and_a_kill(
    homes, mongodb_url, rabbitmq_url
):
    """With the production engines: both hang in turn, then MX is killed, then all is stopped."""
    with wire(mongodb_url) as (to_store, store), wire(rabbitmq_url) as (to_bus, bus):
        home = a_home(homes, store=store, bus=bus)
        with closing(Client(address(home))) as client:
            inside.wait_for(home, "CopyDaily", DAY)
            until_well(client)
            pids = home.leaders()

            to_bus.go_dead()
            assert "store" not in until_wrong(client, "bus")
            to_bus.revive()
            until_well(client, home.limit)

            to_store.go_dead()
            assert "bus" not in until_wrong(client, "store")
            assert client.get("/livez") == {"alive": True}
            client.get("/jobs", 503, process="CopyHourly")
            page = client.http.get("/", headers=HTML)
            assert page.status_code == 503
            assert "The store does not answer" in page.text
            assert "Traceback" not in page.text
            to_store.revive()
            until_well(client, home.limit)

            write(home, HOUR, 10)
            client.post("/jobs/reprocess", {"process": "CopyHourly", "from": HOUR})
            inside.wait_for(home, "CopyDaily", DAY)
            assert home.leaders() == pids  # no process was restarted

            kill_mx(home, client, "local (mx)")

            with client.listen() as one, client.listen(nouns="job") as other:
                home.stop()
                for listener in (one, other):
                    assert list(listener.rest()) == []
        assert home.marked() == {}
    last = (home.path / "logs" / "MX.log").read_text().splitlines()[-1]
    assert '"process.stopped"' in last  # it was not killed
