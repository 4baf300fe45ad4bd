"""MX over a deployment with some data of every kind, served at a port."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

from synergy.commands.bulk import BulkRequest, BulkVerb, Range
from synergy.delivery.request import Request, Response, failed, sent
from synergy.model.actor import Actor
from synergy.model.box import ObservedProcess
from synergy.model.process import DaemonProcess, Deployment
from synergy.mx.access import Role
from synergy.mx.accounts.users import UsersFile, new_token, new_user
from synergy.mx.server import MX
from synergy.mx.services import Services
from synergy.names import process_memory
from synergy.runtime.logs import log_path
from synergy.runtime.process_memory import written
from synergy.runtime.stop import Stop
from synergy.runtime.workplace import Workplace
from synergy.storage.protocol import LogLine
from synergy.worker.outcome import Processed
from tests.deployments import site_and_client
from tests.mx.secured_mx import QUICK
from tests.service.agent_harness import RecordingSender, SteppedAgent
from tests.service.free_runs import a_free_process
from tests.service.scheduler_harness import SchedulerHarness

LIMIT = 120.0  # seconds that the start or the end of MX may take
ACTOR = Actor("somebody", "sample data")
SCHEDULES: tuple[dict[str, object], ...] = (
    {"name": "nightly", "process": "Report", "cron": "0 2 * * *", "zone": "Europe/Berlin"},
    {"name": "hook", "target": "https://receiver.example/hook", "trigger": "every 60"},
    {"name": "dead", "target": "https://receiver.example/dead", "cron": "0 3 * * *"},
    {"name": "held", "target": "https://receiver.example/held", "cron": "* * * * *",
     "constraints": [{"delay": "30d"}]},
    {"name": "files", "process": "Report", "dependencies": [
        {"type": "FILE", "resourceId": "/data/a", "lifeDuration": 3600},
        {"type": "TABLE", "resourceId": "t", "lifeDuration": "5m"}]},
)  # fmt: skip
EVENTS: tuple[dict[str, object], ...] = tuple(
    {"eventType": "FILE", "eventTimestamp": "2015-05-20T11:59:00Z", "eventResourceId": resource}
    for resource in ("/data/a", "/data/b")
)
LOG = "2015-05-20 12:00:00,000 INFO Sitehourly - line {}\n"


def populate(world: SchedulerHarness, home: Path) -> SchedulerHarness:
    """Fills a system with finished, running and failed work, with boxes and logs; returns it."""
    world.store.facts.set("timetable.start", world.start)
    for _ in range(4):
        world.schedule()
        world.work(work=lambda _: Processed({"rows": 1}))
    world.schedule()
    world.round("Sitehourly")  # fails: this process has no source
    world.schedule()
    _boxes(world)
    _logs(world, home)
    _schedules(world)
    for body in (b"not json", b"\xff\xfe", b"<script>"):
        world.store.messages.bury("Sitehourly", body, "it is no JSON", world.clock.now())
    world.store.messages.put("of-old", [b"1", b"2"])
    operations = Services.at(world.workplace("", "mx-0")).operations
    for verb in BulkVerb:
        wanted = BulkRequest(verb, (Range("Sitehourly", "2015051803", "2015051805"),))
        operations.accept(wanted, ACTOR, world.clock.now())
        operations.work(lambda: True)
    return world


def a_populated_deployment() -> Deployment:
    """A deployment of two trees, a free-run process and a daemon."""
    found = site_and_client()
    daemon = DaemonProcess(
        name="Listener", classname="tests.nothing", token="listener", present_on_boxes=(".*",)
    )
    more = {"Report": a_free_process("Report"), "Listener": daemon}
    return Deployment({**found.processes, **more}, found.trees)


def place_of(world: SchedulerHarness, home: Path, users: Path | None = None) -> Workplace:
    """A workplace of MX at a free port."""
    place = replace(world.workplace("", "mx-1"), deployment=world.deployment, home=home)
    return replace(place, mx_address=("127.0.0.1", 0), mx_users_file=users, stop=Stop())


@contextmanager
def served(place: Workplace) -> Iterator[int]:
    """Runs MX and yields its port; stops it afterwards."""
    mx = MX(place)
    thread = threading.Thread(target=mx.start, name="mx")
    thread.start()
    try:
        yield mx._listening.getsockname()[1]
    finally:
        place.stop.set()
        thread.join(LIMIT)
        assert not thread.is_alive()


def a_token(world: SchedulerHarness, file: Path) -> str:
    """The secret of an admin's token in a new users file."""
    book, now, secrets = UsersFile(file), world.clock.now(), []
    book.change(lambda users: new_user(users, "ada", Role.ADMIN, QUICK, now))

    def add(users):
        changed, _, secret = new_token(
            users, "ada", Role.ADMIN, "", (now, now.replace(year=now.year + 1))
        )
        secrets.append(secret)
        return changed

    book.change(add)
    return secrets[0]


def _boxes(world: SchedulerHarness) -> None:
    now, store = world.clock.now(), world.store
    store.boxes.assign("box", [*world.deployment.processes])
    seen = ObservedProcess("box", "Sitehourly", 1, "running", pid=7, since=now, restarts=2)
    store.boxes.report("box", [seen], now)
    store.facts.set(process_memory("box"), written({("Sitehourly", 1): 4096}))


def _logs(world: SchedulerHarness, home: Path) -> None:
    path = log_path(home, "Sitehourly", 1)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(map(LOG.format, range(50))))
    unit = world.units("Sitehourly", "2015051800")[0]
    lines = [LogLine(world.clock.now(), 1, "INFO", f"line {number}") for number in range(5)]
    world.store.logs.append(unit.id, lines)


def _schedules(world: SchedulerHarness) -> None:
    place = world.workplace("", "mx-0")
    services, now = Services.at(replace(place, deployment=world.deployment)), world.clock.now()
    for definition in SCHEDULES:
        services.schedule_commands.create({**definition, "enabled": True}, ACTOR, now)
    services.schedule_commands.trigger("nightly", ACTOR, now)
    services.schedule_commands.trigger("dead", ACTOR, now)
    for event in EVENTS:
        services.schedule_commands.record_event(event, ACTOR, now)
    member = SteppedAgent(replace(place, deployment=world.deployment), RecordingSender(_received))
    with closing(member.consumer):
        member.rest()
        world.clock.advance(70)
        member.rest()


def _received(request: Request) -> Response:
    if "dead" in request.target.url:
        return failed("it answers 400", status=400, body=b"<b>no</b>", may_retry=False)
    return sent(200, b"taken")
