"""Composition: from a project on disk to a process at work."""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from synergy import compose
from synergy.clock import SteppedClock
from synergy.errors import ConfigurationError, NotFound, StorageUnavailable
from synergy.model.retention import Retention
from synergy.names import DELIVERIES
from synergy.runtime import identity
from synergy.runtime.logs import JsonLines
from synergy.runtime.stop import Stop
from synergy.worker.command import CommandWorker
from tests.service import composed

CONTEXT = """
from synergy.config.context import *

def daemon(name):
    return daemon_context_entry(
        process_name=name, classname=f"tests.service.composed.{name}.start",
        instances=2, present_on_boxes=[".*"])

process_context = {name: daemon(name) for name in ("Visitor", "Patient", "Failing")}
process_context["Program"] = managed_context_entry(
    process_name="Program", command=["true"], time_qualifier=QUALIFIER_DAILY,
    present_on_boxes=[".*"])
timetable_context = {
    "t": timetable_tree_entry(tree_name="t", enclosed_processes=["Program"])}
"""
ENVIRON = {
    "SYNERGY_BOX_ID": "box-7",
    "SYNERGY_CLOCK": "2026-11-21T13:00Z",
    "SYNERGY_START_TIMEPERIOD": "2026112000",
    "SYNERGY_RETENTION": "events=14d",
}


@pytest.fixture(autouse=True)
def _process_as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Restores the state of this process: signals, logging, the module path."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(threading, "excepthook", threading.excepthook)
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    level = logging.getLogger().level
    composed.met.clear()
    yield
    for number, action in before.items():
        signal.signal(number, action)
    root = logging.getLogger()
    for handler in [h for h in root.handlers if isinstance(h.formatter, JsonLines)]:
        root.removeHandler(handler)
        handler.close()
    root.setLevel(level)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "settings").mkdir()
    for name in ("base", "dev"):
        (tmp_path / "settings" / f"{name}.py").write_text("")
    (tmp_path / "context.py").write_text(CONTEXT)
    return tmp_path


@pytest.fixture
def project(path: Path) -> compose.Project:
    return compose.open_project(path, ENVIRON, imports=True)


@pytest.fixture
def begun(project: compose.Project) -> compose.Project:
    """A project with a store."""
    compose.prepare_store(project.settings)
    return project


def log_of(project: compose.Project, name: str) -> list[dict[str, Any]]:
    lines = (project.settings.home / "logs" / f"{name}.log").read_text().splitlines()
    return [json.loads(line) for line in lines]


def test_mistakes_of_settings_and_context_are_reported_together(path: Path) -> None:
    (path / "context.py").write_text("process_context = 5\ntimetable_context = {}\n")
    with pytest.raises(ConfigurationError) as raised:
        compose.open_project(path, {"SYNERGY_MX_PORT": "x"})
    assert [m.split(":")[0] for m in raised.value.mistakes] == [
        "SYNERGY_MX_PORT",
        "context.py process_context",
    ]


def test_classes_are_imported_only_when_asked_for(path: Path) -> None:
    (path / "context.py").write_text(CONTEXT.replace("service.composed", "service.nothing"))
    assert len(compose.open_project(path, ENVIRON).deployment.processes) == 5
    with pytest.raises(ConfigurationError):
        compose.open_project(path, ENVIRON, imports=True)


def test_an_unknown_process_comes_with_the_nearest_name(project: compose.Project) -> None:
    with pytest.raises(NotFound, match=r"no such process: Visitr; did you mean Visitor\?"):
        project.process("Visitr")


def test_the_agents_queue_is_made_with_those_of_processes(project: compose.Project) -> None:
    """`store init` makes it, because the rights of an agent may not suffice."""
    names = {"Visitor", "Patient", "Failing", "Program", "Pool"}
    assert set(project.queues) == {DELIVERIES} | names


def test_opening_a_project_writes_nothing(project: compose.Project) -> None:
    assert not project.settings.home.exists()


def test_a_workplace_has_all_that_a_process_works_with(begun: compose.Project) -> None:
    stop = Stop()
    place = compose.workplace(begun, "Visitor", 2, stop)
    try:
        assert place.process is begun.deployment.processes["Visitor"]
        assert place.deployment is begun.deployment
        assert (place.instance, place.box, place.home) == (2, "box-7", begun.path / "var")
        assert place.start_timeperiod == "2026112000"
        assert place.retention == Retention(events=timedelta(days=14))
        assert place.stop is stop
        assert isinstance(place.clock, SteppedClock)
        assert place.clock.now() == datetime(2026, 11, 21, 13, tzinfo=UTC)
        who = identity.parse(place.owner)
        assert who is not None
        assert who.pid == os.getpid()
        assert begun.settings.store_file.is_file()
    finally:
        place.bus.close()
        place.store.close()


def test_a_daemon_runs_to_its_end(begun: compose.Project) -> None:
    assert compose.run_process(begun, "Visitor", 1)
    (place,) = composed.met
    store = compose.open_store(begun.settings)
    try:
        assert store.facts.get("visitor") == place.owner
    finally:
        store.close()
    events = [line["event"] for line in log_of(begun, "Visitor")]
    assert events == ["store.checked", "process.started", "process.stopped", "store.checked"]
    assert {line["box"] for line in log_of(begun, "Visitor")} == {"box-7"}


def test_the_second_instance_has_its_own_log(begun: compose.Project) -> None:
    assert compose.run_process(begun, "Visitor", 2)
    assert composed.met[0].instance == 2
    assert {line["instance"] for line in log_of(begun, "Visitor.2")} == {2}


def test_a_signal_stops_the_process(begun: compose.Project) -> None:
    assert compose.run_process(begun, "Patient")
    assert log_of(begun, "Patient")[-1]["event"] == "process.stopped"


def test_a_failure_is_in_the_log_and_nowhere_else(
    begun: compose.Project, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not compose.run_process(begun, "Failing")
    last = log_of(begun, "Failing")[-1]
    assert (last["level"], last["event"]) == ("error", "process.failed")
    assert "ValueError: amqp://me:***@host is not there" in last["traceback"]
    assert capsys.readouterr().err == ""


def test_a_process_without_a_store_says_so_and_makes_none(project: compose.Project) -> None:
    """A store that was only moved away must not find a new one in its place."""
    with pytest.raises(StorageUnavailable, match="store init"):
        compose.run_process(project, "Visitor")
    assert log_of(project, "Visitor")[-1]["event"] == "process.failed"
    assert composed.met == []
    assert not project.settings.store_file.exists()


def test_a_process_started_by_hand_creates_the_store(project: compose.Project) -> None:
    assert compose.run_process(project, "Visitor", console=True)
    assert project.settings.store_file.is_file()


def test_a_process_whose_store_cannot_be_made_says_so(project: compose.Project) -> None:
    project.settings.home.mkdir()
    project.settings.store_file.mkdir()
    with pytest.raises(StorageUnavailable, match="cannot be opened"):
        compose.run_process(project, "Visitor", console=True)
    assert log_of(project, "Visitor")[-1]["event"] == "process.failed"
    assert composed.met == []


def test_a_process_reports_to_the_supervisor_that_it_works(
    begun: compose.Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader, writer = os.pipe()
    monkeypatch.setenv("SYNERGY_READY_FD", str(writer))
    assert compose.run_process(begun, "Visitor")
    assert os.read(reader, 16) == b"1"
    os.close(reader)


def test_a_command_has_the_command_worker(
    begun: compose.Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[str] = []

    def start(worker: CommandWorker) -> None:
        started.append(worker.workplace.process.name)

    monkeypatch.setattr(CommandWorker, "start", start)
    assert compose.run_process(begun, "Program")
    assert started == ["Program"]
