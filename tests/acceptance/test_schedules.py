"""Schedules with real agents: each due time is recorded once and sent, whichever agent dies."""

from __future__ import annotations

import json
import shutil
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from synergy.clock import SystemClock
from synergy.commands.schedules import ScheduleCommands
from synergy.model.actor import Actor
from synergy.model.schedule import RunState
from synergy.names import DECIDED_EVENT
from synergy.queries.schedules.event_effects import causes
from tests.acceptance import inside
from tests.acceptance.boxes.cluster import lasting
from tests.acceptance.boxes.seconds import Seconds
from tests.acceptance.conftest import homes_in
from tests.acceptance.deployments import mortal_agent, scheduled, short_limits
from tests.acceptance.kit import kill, until
from tests.delivery.receivers import answers, receiving
from tests.servers import rabbitmq
from tests.servers.wire import wire

LOOPBACK = "127.0.0.0/8"
LIMIT_SECONDS = 120.0
HANGS = short_limits.WAIT + 1.0  # seconds: longer than any lease lasts


@pytest.fixture
def deaths(tmp_path):
    folder = tmp_path / "deaths"
    folder.mkdir()
    return folder


@pytest.fixture
def receiver():
    with receiving(answers(body=b"thank you")) as receiver:
        yield receiver


@pytest.fixture
def at_home(homes, deaths, tmp_path):
    """Makes a home with this number of agents."""

    def make(agents=2, **variables):
        return a_home(homes, deaths, tmp_path / "stamps", agents, **variables)

    return make


def a_home(make, deaths, stamps, agents, **variables):
    home = make(
        context="tests.acceptance.deployments.scheduled",
        test_short_limits="1",
        webhook_networks=LOOPBACK,
        test_deaths=str(deaths),
        test_stamps=str(stamps),
        test_agents=str(agents),
        **variables,
    )
    home.limit = LIMIT_SECONDS
    home.start()
    return home


@pytest.fixture(scope="module", params=["one file", "MongoDB and RabbitMQ"])
def home(request, tmp_path_factory):
    """A home with three agents, shared by the tests that leave its servers running.

    Once with the embedded default, once with the production engines.
    """
    folder = tmp_path_factory.mktemp("schedules")
    (folder / "deaths").mkdir()
    with ExitStack() as stack:
        urls = {}
        if request.param != "one file":
            store, bus = (request.getfixturevalue(name) for name in ("mongodb", "rabbitmq"))
            urls["store"] = stack.enter_context(store.fresh_database())
            urls["bus"] = stack.enter_context(bus.emptied())
        make = stack.enter_context(homes_in(folder))
        yield a_home(make, folder / "deaths", folder / "stamps", 3, **urls)


def add(home, tmp_path, data, *options):
    file = tmp_path / "schedule.json"
    file.write_text(json.dumps(data))
    return inside.ask(home, "schedule", "add", file, *options)


def soon(seconds=1.5):
    """A whole second in the near future."""
    return (SystemClock().now() + timedelta(seconds=seconds)).replace(microsecond=0)


def hook(receiver, **more):
    return {"target": f"http://127.0.0.1:{receiver.port}/hook", "payload": "${runId}", **more}


def runs_until(home, schedule, is_it):
    """The runs of a schedule, once `is_it` accepts them."""

    def look(store):
        found, _ = store.runs.find(schedule=schedule, limit=1000)
        return found if is_it(found) else None

    return home.until(look, home.limit)


def ended(*states):
    """A condition: there are runs, and all are in one of these states."""
    return lambda runs: bool(runs) and all(run.state in states for run in runs)


def keys(receiver):
    return [call.headers["idempotency-key"] for call in receiver.calls]


@pytest.fixture
def broker(request, tmp_path):
    """A broker that the test may stop, kill and empty."""
    with rabbitmq.ill_treated(request.getfixturevalue("rabbitmq"), tmp_path) as broker:
        yield broker


def test_no_due_time_is_lost_when_the_broker_is_killed_and_loses_its_messages(
    broker, at_home, deaths, tmp_path, receiver
):
    """Runs are launched without the broker, and announced once it is back."""
    (deaths / mortal_agent.MESSAGES).touch()
    home = at_home(bus=broker.url)
    seconds = Seconds(receiver, "127.0.0.1", tmp_path)
    seconds.add(home)
    receiver.wait_for(2)
    broker.node.kill()
    shutil.rmtree(broker.node.folder / "data")
    with home.store() as store:
        until(lambda: len(unsent(store)) >= 4)
    broker.node.start()
    seconds.assert_all_are_accounted_for(home)


def unsent(store):
    """Unfinished runs that no agent has claimed."""
    return [run for run in store.runs.unfinished() if run.owner is None]


def test_no_run_is_sent_twice_when_the_store_hangs(mongodb_url, rabbitmq_url, at_home, tmp_path):
    """Responses that arrive meanwhile are recorded once the store is back."""

    def behave(wire, receiver):
        receiver.gate.wait(60)
        answers()(wire, receiver)

    with receiving(behave) as receiver, wire(mongodb_url) as (line, url):
        home = at_home(agents=1, store=url, bus=rabbitmq_url)
        before = home.leaders()
        seconds = Seconds(receiver, "127.0.0.1", tmp_path)
        seconds.add(home)
        receiver.wait_for(3)
        with lasting(HANGS):
            line.go_dead()
            receiver.gate.set()
        line.cut()
        line.revive()
        seconds.assert_all_are_accounted_for(home)
        assert home.leaders() == before
        assert len(keys(receiver)) == len(set(keys(receiver)))
        home.end()


def test_a_run_is_completed_whichever_step_its_agent_dies_at(home):
    """One death after the other in one home; the supervisor restarts each agent."""
    deaths = Path(home.variables["test_deaths"])
    with receiving(answers()) as receiver:
        run = run_of(home, "in-peace", receiver)
    assert (run.attempt, keys(receiver)) == (1, [run.id])  # three agents make one delivery

    for step in mortal_agent.WITH_THE_LAUNCH:  # each run is claimed at launch
        run = run_with_a_death(step, home, deaths, step)
        is_kept = (
            step == mortal_agent.WITH_THE_RECORD and "store" in home.variables
        )  # no transaction
        is_claimed_anew = is_kept or step in (
            mortal_agent.AFTER_THE_RECORD,
            mortal_agent.BEFORE_THE_RESULT,
        )
        assert run.attempt == 1 + is_claimed_anew, step

    (deaths / mortal_agent.MESSAGES).touch()
    for step in mortal_agent.BY_MESSAGES:
        run = run_with_a_death(step, home, deaths, f"{step}-by-messages")
        assert run.attempt == 1 + (step == mortal_agent.AFTER_THE_CLAIM), step

    assert_a_claim_of_a_killed_agent_is_taken_over_once(home)
    (deaths / mortal_agent.MESSAGES).unlink()


def run_with_a_death(step, home, deaths, name):
    """A run at which an agent dies at `step`; checks how often it was sent."""
    (deaths / step).touch()
    with receiving(answers(body=b"thank you")) as receiver:
        run = run_of(home, name, receiver)
        until(lambda: not (deaths / step).exists())  # the agent may die after the run has finished
        calls = list(receiver.calls)
    assert {call.headers["idempotency-key"] for call in calls} == {run.id}, step
    assert len(calls) == 1 + (step == mortal_agent.BEFORE_THE_RESULT), step
    assert len({call.headers["x-synergy-scheduled-time"] for call in calls}) == 1
    return run


def run_of(home, name, receiver):
    """The only run of a new job of this name, once it is processed."""
    due = add_job(home, name, receiver)
    (run,) = runs_until(home, name, ended(RunState.PROCESSED))
    assert run.due_at == due
    return run


def add_job(home, name, receiver):
    """Adds a one-off job that is due soon; returns its due time."""
    with home.store() as store, home.bus(store) as bus:  # faster than a command
        actions, due = ScheduleCommands(store, bus, home.deployment()), soon()
        data = hook(receiver, name=name, when=due.isoformat())
        actions.create(data, Actor("a test", ""), SystemClock().now(), enable=True)
    return due


def assert_a_claim_of_a_killed_agent_is_taken_over_once(home):
    """The receiver does not respond until the agent that called it is killed."""

    def behave(wire, receiver):
        if receiver.connections == 1:
            receiver.gate.wait(60)
        answers()(wire, receiver)

    with receiving(behave) as receiver:
        add_job(home, "held", receiver)
        receiver.wait_for(1)
        (held,) = runs_until(home, "held", lambda runs: runs[:1] and runs[0].owner)
        kill(_pid_of(home, held.owner))
        receiver.wait_for(2)
        (run,) = runs_until(home, "held", ended(RunState.PROCESSED))
    assert run.attempt == 2
    assert keys(receiver) == [run.id, run.id]


def _pid_of(home, owner):
    (pid,) = [
        pid
        for slot, pid in home.leaders().items()
        if slot.startswith(f"{scheduled.AGENT}/") and str(pid) in owner.split("/")
    ]
    return pid


def test_a_program_runs_each_second_with_its_arguments_one_at_a_time(home, tmp_path):
    data = {"name": "ticks", "process": scheduled.STAMP, "arguments": {"word": "$(touch no)"}}
    add(home, tmp_path, data | {"trigger": "cron * * * * * ?"}, "--enable")

    def three(runs):
        return sum(run.state is RunState.PROCESSED for run in runs) >= 3

    runs_until(home, "ticks", three)
    inside.ask(home, "schedule", "disable", "ticks")
    runs = runs_until(
        home, "ticks", lambda runs: all(run.state.is_finished for run in runs) and runs
    )

    dues = sorted(run.due_at for run in runs)
    seconds = int((dues[-1] - dues[0]).total_seconds())
    assert dues == [dues[0] + timedelta(seconds=n) for n in range(seconds + 1)]
    done = {run.id: run for run in runs if run.state is RunState.PROCESSED}
    lines = [
        line.split(" ", 2) for line in Path(home.variables["test_stamps"]).read_text().splitlines()
    ]
    assert {line[0] for line in lines} == set(done)
    assert len(lines) == len(done)
    for run, timeperiod, word in lines:
        assert timeperiod == f"{done[run].due_at:%Y%m%d%H%M%S}"
        assert word == "$(touch no)"


@pytest.mark.parametrize("home", ["one file"], indirect=True)
def test_a_run_starts_when_all_its_events_are_within_their_lifetime(home, tmp_path, receiver):
    """A file event that lives for an hour, and a time-based event that only counts on arrival."""
    dependencies = [
        {"type": "FILE", "resourceId": "/dir/path/", "lifeDuration": "3600"},
        {"type": "TIME BASED", "resourceId": "cron", "lifeDuration": 0},
    ]
    add(home, tmp_path, hook(receiver, name="fresh", dependencies=dependencies), "--enable")

    def emit(kind, resource, at):
        """Emits an event; returns the due times of the runs that it causes."""
        answer = inside.ask(home, "event", "emit", kind, resource, "--at", f"2026-11-20T{at}")
        ((event,), effects) = (answer["events"], answer["effects"])
        if not effects["schedules"]:
            return []
        runs = home.until(lambda store: caused(store, event))
        return [f"{run.due_at:%Y-%m-%dT%H:%M:%SZ}" for run in runs[0]]

    def caused(store, event):
        """A list that holds the caused runs, once an agent has processed the event."""
        if int(store.facts.get(DECIDED_EVENT) or 0) < event["seq"]:
            return None
        found, _ = store.runs.find(schedule="fresh", limit=1000)
        return [[run for run in found if event["id"] in causes(run)]]

    for at in ("11:59:59", "12:04:59", "12:14:50"):
        assert emit("FILE", "/dir/path/part-1", at) == []
    assert emit("FILE", "/dir/an_other_path/x", "12:20:00") == []
    assert emit("TIME BASED", "cron", "12:30:00") == ["2026-11-20T12:30:00Z"]
    assert emit("TIME_BASED_CRON", "cron", "13:10:00") == ["2026-11-20T13:10:00Z"]
    assert emit("TIME BASED", "cron", "13:30:00") == []

    runs = runs_until(home, "fresh", lambda runs: ended(RunState.PROCESSED)(runs) and runs)
    stamps = sorted(run.due_at for run in runs)
    assert stamps == [
        datetime(2026, 11, 20, 12, 30, tzinfo=UTC),
        datetime(2026, 11, 20, 13, 10, tzinfo=UTC),
    ]
    receiver.wait_for(2)
