"""Stores are copied to another engine and back, also after a copy was broken off."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson
import pytest

from synergy.cli import exits
from synergy.commands.store_copy_state import State, state_of
from synergy.config.stores import place
from synergy.model.job import JobState
from synergy.storage.copy_records import KINDS
from synergy.storage.mongodb import MongoStore
from synergy.storage.protocol import Store
from synergy.storage.sqlite import SqliteStore
from tests.factories import a_conclusion, a_hint
from tests.records import COPY, everything
from tests.service.commands import NOW, START, Commands
from tests.service.scheduler_harness import SchedulerHarness
from tests.service.store_copy.kit import DAY, ELSEWHERE, HOUR, SOURCE, copy, refused, release_leases

PROJECT = Path(__file__).parents[3]


LIMIT_SECONDS = 120.0


def test_a_deployment_moves_to_mongodb_and_back(
    commands: Commands, ran: SchedulerHarness, mongodb_url: str, mongo: MongoStore, file: Path
) -> None:
    there = copy(commands, SOURCE, mongodb_url)
    back = copy(commands, mongodb_url, f"sqlite:///{file}")
    with closing(SqliteStore.open(file, create=False)) as store:
        assert everything(store) == everything(mongo) == everything(ran.store)
    assert there["equal"]
    assert [kind["kind"] for kind in there["kinds"]] == list(KINDS)
    assert there["kinds"] == back["kinds"]
    assert all(kind["source"]["records"] for kind in there["kinds"])
    assert there["copied"] == sum(kind["source"]["records"] for kind in there["kinds"])


def test_schedulers_and_workers_continue_in_the_copy(
    commands: Commands, ran: SchedulerHarness, mongodb_url: str, mongo: MongoStore
) -> None:
    copy(commands, SOURCE, mongodb_url)
    last = ran.store.journal.last_seq()
    system = SchedulerHarness(ran.deployment, START, ran.clock.now(), mongo)
    system.settle()
    assert system.rows("site_hourly")["2015051801"] == 9
    assert system.generation(HOUR, "2015051801") == 2
    new = mongo.journal.since(last, 10_000)
    assert [entry.seq for entry in new] == list(range(last + 1, last + 1 + len(new)))
    assert "unit.processed" in {entry.event for entry in new}
    assert system.audit().unexplained == ()


def test_late_data_is_found_in_the_copy_by_the_numbers_that_were_copied(
    commands: Commands, ran: SchedulerHarness, mongodb_url: str, mongo: MongoStore
) -> None:
    ran.settle()
    release_leases(ran.store)
    copy(commands, SOURCE, mongodb_url)
    system = SchedulerHarness(ran.deployment, START, ran.clock.now(), mongo)
    system.settle()
    assert system.generation(HOUR, "2015051800") == 1  # nothing that was copied counts as late
    system.write("single_session", "2015051800", 10)
    system.advance(30)
    system.settle()
    assert system.generation(HOUR, "2015051800") == 2
    assert system.state(HOUR, "2015051800") is JobState.PROCESSED
    assert system.rows("site_hourly")["2015051800"] == 11


def test_claims_hold_in_the_copy(
    commands: Commands, ran: SchedulerHarness, mongodb_url: str, mongo: MongoStore
) -> None:
    (unit, *_) = ran.store.units.unfinished()
    (held,) = ran.store.units.claim([a_hint(unit)], "w", NOW)
    copy(commands, SOURCE, mongodb_url)
    assert mongo.units.get([unit.id]) == [held]
    assert mongo.units.heartbeat([a_hint(unit)], "w") == []
    assert mongo.units.claim([a_hint(unit)], "v", NOW) == []
    assert mongo.units.conclude([a_conclusion(unit, "w")], NOW) == []


def test_a_complete_copy_is_not_copied_again(
    commands: Commands, ran: SchedulerHarness, file: Path
) -> None:
    copy(commands, SOURCE, f"sqlite:///{file}")
    assert "is a complete copy" in refused(commands, SOURCE, f"sqlite:///{file}")


def test_a_dry_run_of_a_copy_counts_records_and_creates_nothing(
    commands: Commands, ran: SchedulerHarness, file: Path
) -> None:
    argv = ("store", "copy", "--from", SOURCE, "--to", f"sqlite:///{file}", "--dry-run")
    found = commands.json(*argv)
    assert found["records"] == {kind: len(some) for kind, some in everything(ran.store).items()}
    assert "would copy" in commands.ok(*argv)
    assert not file.exists()


def _launch(*argv: str) -> subprocess.Popen[str]:
    """The command in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "launch.py", *argv],
        cwd=PROJECT,
        env={**os.environ, "SYNERGY_NO_VENV": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


# A copy that is killed after it wrote a second portion, before it recorded its progress.
KILLED = """
import os, signal, sys
from synergy.cli.main import main
from synergy.commands.store_copy_state import state_of
from synergy.storage import copy_records
from synergy.storage.{engine} import {store} as Store

copy_records.PORTION = 20
opened = Store.__init__

def open_to_die(store, *rest):
    opened(store, *rest)
    keep = store.facts.set
    def keep_or_die(name, value):
        state = state_of(store)
        if state is not None and state.kind == "journal" and state.done:
            os.kill(os.getpid(), signal.SIGKILL)
        keep(name, value)
    store.facts.set = keep_or_die

Store.__init__ = open_to_die
main(sys.argv[1:])
"""


def _killed(target: Store, source: str, to: str) -> State:
    """Runs a copy that is killed within the journal; returns the progress that it recorded."""
    engine = type(target).__module__.split(".")[2]
    program = KILLED.format(engine=engine, store=type(target).__name__)
    argv = ("store", "copy", "--from", source, "--to", to)
    done = subprocess.run(
        [sys.executable, "-c", program, *argv], cwd=PROJECT, timeout=LIMIT_SECONDS, check=False
    )
    assert done.returncode == -signal.SIGKILL
    state = state_of(target)
    assert state is not None
    assert (state.kind, state.is_complete) == ("journal", False)
    return state


def test_a_killed_copy_resumes_where_it_was(
    commands: Commands, ran: SchedulerHarness, mongodb_url: str, mongo: MongoStore
) -> None:
    state = _killed(mongo, SOURCE, mongodb_url)
    found = copy(commands, SOURCE, mongodb_url)
    total = sum(kind["source"]["records"] for kind in found["kinds"])
    assert (found["equal"], found["copied"]) == (True, total - state.done)
    assert everything(mongo) == everything(ran.store)


def test_a_killed_copy_back_to_sqlite_resumes(
    commands: Commands, ran: SchedulerHarness, mongodb_url: str, mongo: MongoStore, file: Path
) -> None:
    copy(commands, SOURCE, mongodb_url)
    with closing(SqliteStore.open(file)) as target:
        _killed(target, mongodb_url, f"sqlite:///{file}")
        assert copy(commands, mongodb_url, f"sqlite:///{file}")["equal"]
        assert everything(target) == everything(ran.store)


def test_a_source_that_changed_before_the_copy_resumed_is_reported(
    commands: Commands, ran: SchedulerHarness, mongodb_url: str, mongo: MongoStore
) -> None:
    _killed(mongo, SOURCE, mongodb_url)
    ran.store.controls.set_on(DAY, False, "me", "so", NOW)
    assert commands.run("store", "copy", "--from", SOURCE, "--to", mongodb_url) == exits.FAILED
    output = [line for line in commands.out.splitlines() if line.startswith("different")]
    assert output == [f"different: controls, first {DAY}; the source has 2 records, the target 1"]
    assert "the copy cannot be used" in commands.out


def test_an_unfinished_copy_cannot_be_used(
    commands: Commands,
    ran: SchedulerHarness,
    mongodb_url: str,
    mongo: MongoStore,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    state = State(place(f"sqlite:///{commands.home}/synergy.db"), "facts", [""])
    mongo.facts.set(COPY, orjson.dumps(state).decode())
    monkeypatch.setenv("SYNERGY_STORE", mongodb_url)
    for command in (
        "supervisor start --foreground", "store status", "timetable show",
        f"process start {HOUR} --console", "report site_hourly",
    ):  # fmt: skip
        assert commands.run(*command.split()) == exits.REFUSED, command
        assert "unfinished copy of sqlite:///" in commands.err, command
    with _launch("supervisor", "start") as process:
        output = process.communicate(timeout=LIMIT_SECONDS)[0]
    assert (process.returncode, "unfinished copy of" in output) == (exits.REFUSED, True), output
    commands.ok("store", "reset", "--yes")
    commands.ok("store", "status")
    assert copy(commands, SOURCE, mongodb_url)["equal"]
    commands.ok("store", "status")
    commands.ok("timetable", "audit")


def test_a_copy_that_lost_its_lease_writes_no_more(
    commands: Commands, ran: SchedulerHarness, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a pause in which another process continued the copy."""
    read = type(ran.store.transfer).read
    with closing(SqliteStore.open(file)) as target:

        def read_slowly(transfer: Any, kind: str, *rest: Any) -> Any:
            if kind == "units" and (lease := target.leases.read(COPY)) is not None:
                target.leases.take(lease, COPY, ELSEWHERE)
            return read(transfer, kind, *rest)

        monkeypatch.setattr("synergy.runtime.leadership.RENEW_SECONDS", 0.0)
        monkeypatch.setattr(type(ran.store.transfer), "read", read_slowly)
        assert "another process copies into" in refused(commands, SOURCE, f"sqlite:///{file}")
        assert target.units.find()[0] == []
