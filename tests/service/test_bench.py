"""Benches measure, clean up, and report what they cannot measure."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pymongo
import pytest

from bench import (
    bus,
    idle,
    mx,
    mx_pages,
    others,
    schedules,
    start,
    stream,
    trips,
)
from bench.catalogue import BENCHES, chosen
from bench.contexts.noop import PROCESS
from bench.contexts.parts import SCHEDULER
from bench.figures import BenchFailed
from bench.stage import Lab
from launch import PROJECT
from synergy.storage.mongodb import MongoStore
from tests.missing import reason
from tests.servers.mongodb import Server

NOOP = "bench.contexts.noop"


TINY = {
    "units": 60,
    "latency": 3,
    "timetable": 1,
    "empty": 200,
    "ingest": 1000,
    "aggregate": 300,
    "start": 1,
    "idle": 1,
    "schedules": 40,
    "mx": 240,
    "stream": 1,
}


FAKE = """#!/bin/sh
[ "$2" = venv ] || exec {python} "$@"
mkdir -p "$4/bin" && cp "$0" "$4/bin/python"
"""


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    """A lab in a folder; at the end the folder must be empty, and no process may use it."""
    yield Lab(PROJECT, tmp_path, lambda done, total: None, with_others=False)
    assert list(tmp_path.iterdir()) == []
    assert processes_of(tmp_path) == []


def processes_of(folder: Path) -> list[str]:
    """The commands of all processes whose environment names the folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if str(folder).encode() in (process / "environ").read_bytes():
                found.append((process / "cmdline").read_text())
        except OSError:
            continue  # it has ended, or belongs to another user
    return found


@pytest.mark.parametrize("name", TINY)
def test_a_bench_measures_and_cleans_up(
    lab: Lab, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for of_a_deployment in (idle, start):  # the default one has a dozen processes to start
        monkeypatch.setattr(of_a_deployment, "CONTEXT", NOOP)
    monkeypatch.setattr(idle, "QUIET", 0.2)
    monkeypatch.setattr(schedules, "IDLE", 1)
    monkeypatch.setattr(schedules, "DUE", 20)
    monkeypatch.setattr(mx, "ROUNDS", 2)
    monkeypatch.setattr(mx_pages, "ROUNDS", 1)
    monkeypatch.setattr(mx_pages, "FRAMES", 5)
    monkeypatch.setattr(stream, "LISTENERS", 5)
    (found,) = chosen([name])
    figures = found.measure(lab, TINY[name])
    assert figures
    assert len({figure.name for figure in figures}) == len(figures)
    for figure in figures:
        if figure.value is None:
            assert figure.why_not in (schedules.LEFT_OUT, mx_pages.NO_CHROMIUM)
        else:
            assert 0 <= figure.value < math.inf
    assert any(figure.is_met is not None for figure in figures)


def test_without_a_browser_the_figure_gives_the_reason(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    (figure,) = mx_pages.measure(lab, 100)
    assert (figure.value, figure.why_not) == (None, mx_pages.NO_CHROMIUM)


def test_tiny_sizes_are_known_for_every_bench() -> None:
    assert set(TINY) == {found.name for found in BENCHES if not found.server}
    assert all(TINY.get(found.name, 1) <= found.quick <= found.size for found in BENCHES)


def test_an_interrupt_leaves_nothing_behind(lab: Lab) -> None:
    def interrupted() -> None:
        with lab.stage(NOOP) as stage:
            stage.start(PROCESS, 2)
            assert len(processes_of(stage.home)) == 2
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()


def test_an_interrupt_leaves_no_supervisor_behind(lab: Lab) -> None:
    def interrupted() -> None:
        with lab.stage(NOOP) as stage:
            stage.command("supervisor", "start")
            assert len(processes_of(stage.home)) > 3
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()


def test_a_process_that_cannot_start_ends_the_bench_with_its_output(lab: Lab) -> None:
    with lab.stage(NOOP) as stage, pytest.raises(BenchFailed, match="no such process: Nobody"):
        stage.start("Nobody")


def test_a_process_that_ends_by_itself_ends_the_bench(lab: Lab) -> None:
    with lab.stage(NOOP) as stage:
        stage.start(SCHEDULER)
        (child,) = stage.children(SCHEDULER)
        child.kill()
        child.wait()
        with pytest.raises(BenchFailed, match="Scheduler ended with -9"):
            stage.until(lambda: False, "nothing", timeout=10)


def test_a_step_that_takes_too_long_ends_the_bench(lab: Lab) -> None:
    with lab.stage(NOOP) as stage:
        with pytest.raises(BenchFailed, match="the impossible: not done after"):
            stage.until(lambda: False, "the impossible", timeout=0)
        with pytest.raises(BenchFailed, match="the impossible: not done after"):
            stage.woken_until(lambda: None, "the impossible", timeout=0.01)


def test_a_command_that_fails_ends_the_bench(lab: Lab) -> None:
    with lab.stage(NOOP) as stage, pytest.raises(BenchFailed, match="no store yet"):
        stage.command("process", "show", PROCESS)


def test_settings_of_the_real_deployment_do_not_reach_a_stage(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SYNERGY_STORE", "sqlite:////nowhere/real.db")
    monkeypatch.setenv("SYNERGY_START_TIMEPERIOD", "2001010100")
    with lab.stage(NOOP) as stage:
        settings = stage.project.settings
        assert settings.store_file.is_relative_to(stage.home)
        assert settings.home == stage.home
        assert settings.start_timeperiod is None


def test_round_trips_are_counted_in_a_database_that_is_gone_afterwards(
    lab: Lab, mongodb: Server, mongodb_url: str
) -> None:
    (found,) = chosen(["trips"], ["store"])
    figures = {f.name: f.value for f in found.measure(replace(lab, store=mongodb_url), 10)}
    # One update marks any number of units as published.
    assert figures["note that it was published, one by one"] == 1
    assert figures["note that it was published, groups of 10"] == 0.1
    for step in ("create", "claim", "conclude, no rows", "all, without rows"):
        assert figures[f"{step}, groups of 10"] == pytest.approx(
            figures[f"{step}, one by one"] / 10
        )
    with pymongo.MongoClient(mongodb.url) as client:
        assert urlsplit(mongodb_url).path.removeprefix("/") not in client.list_database_names()


def test_units_over_mongodb_are_measured_in_databases_that_are_gone_afterwards(
    lab: Lab, mongo_java: Server, mongo_java_url: str
) -> None:
    (found,) = chosen(["mongodb"], ["store"])
    figures = {f.name: f.value for f in found.measure(replace(lab, store=mongo_java_url), 20)}
    assert figures["units, created, claimed and concluded"] > 0
    with pymongo.MongoClient(mongo_java.url) as client:
        assert urlsplit(mongo_java_url).path.removeprefix("/") not in client.list_database_names()


def test_round_trips_are_not_counted_in_an_existing_database(lab: Lab, mongodb_url: str) -> None:
    MongoStore.open(mongodb_url).close()
    with pytest.raises(BenchFailed, match="a MongoDB database that does not exist yet"):
        trips.measure(replace(lab, store=mongodb_url), 1)
    MongoStore.open(mongodb_url, create=False).close()


def test_units_over_rabbitmq_are_measured_beside_the_floor(
    lab: Lab, rabbitmq_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bus, "ROUNDS", 1)
    figures = {
        f.name: f for f in bus.measure(replace(lab, bus=rabbitmq_url, with_others=False), 30)
    }
    for name in ("Synergy, durable units", bus.FLOOR.name, "Synergy to pika alone"):
        assert (figures[name].value or 0) > 0
    for name in (bus.CELERY.name, "Synergy to Celery", "Synergy to Dramatiq"):
        assert (figures[name].value, figures[name].is_met) == (None, None)
        assert figures[name].why_not == bus.LEFT_OUT


def test_other_libraries_are_measured_on_the_same_broker(lab: Lab, rabbitmq_url: str) -> None:
    """Their environment is made once, in the user's cache, as a bench would do."""
    try:
        python = str(others.python(lab.say))
    except others.NotInstalled as error:
        pytest.skip(reason("Celery, Dramatiq and APScheduler", str(error)))
    with lab.stage(NOOP) as stage:
        for contestant in bus.OTHERS:
            assert bus.race(stage, contestant, python, rabbitmq_url, 60) > 0


def test_a_failing_process_of_the_bench_is_reported_with_its_output(
    lab: Lab, rabbitmq_url: str
) -> None:
    nobody = bus.Contestant("Nobody", ("synergy.nothing",), ("synergy.nothing",))
    with lab.stage(NOOP) as stage, pytest.raises(BenchFailed, match=r"Nobody: .*synergy.nothing"):
        bus.race(stage, nobody, sys.executable, rabbitmq_url, 60)


def test_an_environment_that_cannot_be_made_gives_the_reason_and_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A script replaces the interpreter, so that the environment is made quickly."""
    interpreter = tmp_path / "python"
    interpreter.write_text(FAKE.format(python=sys.executable))
    interpreter.chmod(0o755)
    monkeypatch.setattr(others.sys, "executable", str(interpreter))
    wanted = tmp_path / "requirements.txt"
    wanted.write_text(f"{tmp_path}/there/is/no/such.whl\n")
    monkeypatch.setattr(others, "REQUIREMENTS", wanted)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    said: list[str] = []
    with pytest.raises(others.NotInstalled, match=r"-m pip .* ended with 1: .*no/such.whl"):
        others.python(said.append)
    assert list((tmp_path / "cache").rglob("installed")) == []
    assert len(said) == 1
    monkeypatch.setenv("XDG_CACHE_HOME", str(wanted))
    with pytest.raises(others.NotInstalled, match="cannot be made: Not a directory"):
        others.python(said.append)
