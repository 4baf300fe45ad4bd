"""Runs that a program carries out: its arguments, environment, exit code and log."""

from __future__ import annotations

import json
import logging
import os
import re
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from synergy.clock import SystemClock
from synergy.config.loader import check
from synergy.lifecycle.legal_moves import RunMove
from synergy.lifecycle.state_changes import outcome_of
from synergy.model.run_detail import RunDetail
from synergy.model.unit_of_work import UnitState
from synergy.runtime.identity import start_time
from synergy.runtime.masking import know
from synergy.supervisor.proctable import MARKER
from synergy.worker.command import KEPT, CommandWorker
from synergy.worker.unit_runner import UnitRunner
from tests.acceptance.kit import until
from tests.deployments import HOURLY, a_deployment, a_process
from tests.service.free_runs import (
    DUMP,
    SECOND,
    a_free_process,
    a_run,
    a_system,
    carry_out,
    carry_out_command,
    launch,
    started_with,
    unit,
)
from tests.service.scheduler_harness import SchedulerHarness


def log_of(system, run):
    """The log of a run: levels and texts."""
    return [(line.level, line.text) for line in system.store.logs.of_unit(run.id)]


@pytest.mark.parametrize(
    ("code", "state", "outcome"),
    [
        (0, UnitState.PROCESSED, (RunMove.PROCESS, "")),
        (99, UnitState.NOOP, (RunMove.PASS, "")),
        (1, UnitState.INVALID, None),
    ],
)
def test_the_exit_code_says_how_the_run_ended(code, state, outcome):
    command = ("sh", "-c", f"echo fire >&2; exit {code}")
    system = a_system(a_free_process(classname=None, command=command))
    run = a_run()
    launch(system, run)
    carry_out_command(system)
    done = unit(system, run)
    assert (done.state, outcome_of(done)) == (state, outcome)
    if code == 1:
        assert done.reason == "CommandFailed: exit code 1: fire"
        system.schedule()
        reason = "failed: CommandFailed: exit code 1: fire"
        assert outcome_of(unit(system, run)) == (RunMove.FAIL, reason)


def test_the_log_of_a_failed_program_holds_its_output_and_exit_code(caplog):
    caplog.set_level(logging.INFO)
    command = ("sh", "-c", "echo half way; printf 'no disk\\nat all\\n' >&2; exit 3")
    system = a_system(a_free_process(classname=None, command=command))
    run = a_run()
    launch(system, run)
    carry_out_command(system)
    assert log_of(system, run) == [
        ("INFO", "half way"), ("INFO", "no disk"), ("INFO", "at all"), ("ERROR", "exit code 3"),
    ]  # fmt: skip
    assert unit(system, run).reason == "CommandFailed: exit code 3: no disk\nat all"


def test_passwords_in_the_output_of_a_program_are_masked(caplog):
    caplog.set_level(logging.INFO)
    command = ("sh", "-c", "echo postgres://me:secret@db/x; echo http://me:secret@h >&2; exit 3")
    system = a_system(a_free_process(classname=None, command=command))
    run = a_run()
    launch(system, run)
    carry_out_command(system)
    texts = [text for _, text in log_of(system, run)]
    assert texts == ["postgres://me:***@db/x", "http://me:***@h", "exit code 3"]
    assert unit(system, run).reason == "CommandFailed: exit code 3: http://me:***@h"


@pytest.mark.parametrize("before", [8_190, 8_185, 4_680, 4_675])
def test_a_secret_at_a_cut_of_long_output_is_masked(before, caplog):
    caplog.set_level(logging.INFO)
    know(["canary-canary"])
    script = f"import sys; sys.exit('x' * {before} + 'canary-canary' + 'y' * 3495)"
    system = a_system(a_free_process(classname=None, command=(sys.executable, "-c", script)))
    run = a_run()
    launch(system, run)
    carry_out_command(system)
    everything = repr(log_of(system, run)) + unit(system, run).reason
    assert "***yyy" in everything
    assert not re.search("canary|anary|cana|nary", everything)


@pytest.mark.parametrize("rest", [f"'y' * {8192 * KEPT}", f"'\\nline' * {KEPT - 1}"])
def test_a_line_whose_beginning_is_not_kept_shows_no_part_of_a_secret(rest, caplog):
    caplog.set_level(logging.INFO)
    know(["canary-canary"])
    script = f"import sys; sys.exit('x' * 8186 + 'canary-canary' + {rest})"
    system = a_system(a_free_process(classname=None, command=(sys.executable, "-c", script)))
    run = a_run()
    launch(system, run)
    carry_out_command(system)
    texts = [text for _, text in log_of(system, run)]
    assert texts[0] == "..."
    assert set(texts[1:-1]) <= {"line"}
    assert "canary" not in unit(system, run).reason


def test_the_log_of_a_program_that_cannot_be_started():
    system = a_system(a_free_process(classname=None, command=("./no-such-program",)))
    run = a_run()
    launch(system, run)
    carry_out_command(system)
    reason = "./no-such-program cannot be started: No such file or directory"
    assert log_of(system, run) == [("ERROR", reason)]


def test_the_log_of_python_work_that_failed_keeps_its_traceback():
    def fail(task):
        raise ValueError("no disk")

    system = a_system(a_free_process())
    run = a_run()
    launch(system, run)
    assert carry_out(system, fail)
    [(level, text)] = log_of(system, run)
    assert level == "ERROR"
    assert text.startswith("Traceback (most recent call last):\n")
    assert text.endswith("ValueError: no disk\n")


def test_a_program_gets_its_run_in_the_environment(tmp_path, monkeypatch):
    monkeypatch.delenv(MARKER, raising=False)
    command = ("${timeperiod}", "${start}..${end}", "${attempt}", "${run}", "${home}", "${days}")
    run, argv, environment = started_with(tmp_path, command, {"days": 7}, {})
    assert argv == [SECOND, f"{SECOND}..{SECOND}", "1", run.id, str(tmp_path), "7"]
    expected = {
        "SYNERGY_UNIT": run.id,
        "SYNERGY_TIMEPERIOD": SECOND,
        "SYNERGY_GENERATION": "1",
        "SYNERGY_ATTEMPT": "1",
        "SYNERGY_IDEMPOTENCY_KEY": f"{run.id}:1",
    }
    assert expected.items() <= environment.items()
    assert MARKER not in environment  # only the supervisor sets it
    given = {name: environment[name] for name in expected}
    assert check(Path(__file__).parents[2], given).mistakes == ()  # the program may be launch.py


def test_a_program_gets_the_usual_variables_and_those_that_its_process_names(tmp_path, monkeypatch):
    passed_on = {
        "PATH": os.environ["PATH"],
        "LC_ALL": "C.UTF-8",
        "TZ": "Europe/Berlin",
        "XDG_RUNTIME_DIR": "/run/user/7",
        "SYNERGY_HOME": "/srv/synergy",
        "AWS_PROFILE": "reports",
    }
    kept_back = {
        "SYNERGY_STORE": "mongodb://me:mongo-canary@db/synergy",
        "SYNERGY_BUS": "amqp://me:rabbit-canary@mq",
        "SYNERGY_WEBHOOK_SECRETS": "whsec_canary",
        "AWS_SECRET_ACCESS_KEY": "aws-canary",
        "DATABASE_URL": "postgres://me:other-canary@db",
        "TZ_SECRET": "no name of the list",
    }
    for name in os.environ:
        monkeypatch.delenv(name)
    for name, value in {**passed_on, **kept_back}.items():
        monkeypatch.setenv(name, value)
    names = ("AWS_PROFILE", "NOT_THERE")
    run, _, environment = started_with(tmp_path, (), {}, {}, names=names)
    given = {name for name in environment if not name.startswith("SYNERGY_") or name in kept_back}
    assert passed_on.items() <= environment.items()
    assert given - {"LC_CTYPE"} == passed_on.keys() - {"SYNERGY_HOME"}  # Python may set LC_CTYPE
    assert environment["SYNERGY_UNIT"] == run.id


def test_a_program_keeps_the_mark_by_which_the_supervisor_finds_it(tmp_path, monkeypatch):
    monkeypatch.setenv(MARKER, "the mark")
    _, _, environment = started_with(tmp_path, (), {}, {})
    assert environment[MARKER] == "the mark"


def test_a_program_that_a_period_triggered_receives_the_period(tmp_path):
    command = ("${timeperiod}", "${start}..${end}", "${days}")
    cause = {"timeperiod": "2015051900", "start": "2015051900", "end": "2015052000", "days": 9}
    _, argv, environment = started_with(
        tmp_path, command, {"days": 7}, {}, detail=RunDetail(cause=cause)
    )
    assert argv == ["2015051900", "2015051900..2015052000", "7"]
    assert environment["SYNERGY_TIMEPERIOD"] == "2015051900"


def test_a_program_receives_state_and_generation_of_its_period(tmp_path):
    command = ("${state}", "${generation}")
    cause = {"timeperiod": "2015051900", "status": "given_up", "generation": 2}
    _, argv, _ = started_with(tmp_path, command, {}, {}, detail=RunDetail(cause=cause))
    assert argv == ["given_up", "2"]


def test_without_a_period_there_is_no_state_and_no_generation(tmp_path):
    _, argv, _ = started_with(tmp_path, ("${state}", "${generation}", "end"), {}, {})
    assert argv == ["", "", "end"]


def test_a_declared_argument_named_state_wins_over_the_state_of_the_period(tmp_path):
    cause = {"timeperiod": "2015051900", "status": "processed", "generation": 2}
    _, argv, _ = started_with(
        tmp_path, ("${state}",), {"state": "Bavaria"}, {}, detail=RunDetail(cause=cause)
    )
    assert argv == ["Bavaria"]


def test_the_run_placeholder_is_not_replaced_in_commands_of_jobs(tmp_path):
    seen = tmp_path / "seen"
    process = a_process(
        "Hour", HOURLY, classname=None, settle=0.0,
        command=(sys.executable, "-c", DUMP, str(seen), "${timeperiod}", "${end}", "${run}"),
    )  # fmt: skip
    system = SchedulerHarness(a_deployment({"t": [process]}), start="2015052011")
    system.clock.advance(1)
    system.schedule()
    carry_out_command(system, "Hour")
    argv, _ = json.loads(seen.read_text())
    assert argv[1:] == ["2015052011", "2015052012", "${run}"]


def test_a_program_that_takes_too_long_is_ended_with_all_that_it_started(tmp_path, caplog):
    left = tmp_path / "pid"
    command = ("sh", "-c", 'sleep 600 & echo $$! > "$$0.new"; mv "$$0.new" "$$0"; wait', str(left))
    process = a_process("P", HOURLY, classname=None, command=command, timeout=0.5)
    system = SchedulerHarness(a_deployment({"t": [process]}), start="2015052000")
    system.schedule()
    workplace = replace(system.workplace("P", "a worker"), clock=SystemClock())
    ended: list[int] = []
    work = CommandWorker(workplace).work
    with (
        closing(UnitRunner(workplace, work, ("domain",), end=ended.append)) as runner,
        closing(system.bus.consumer("P")) as consumer,
    ):
        assert runner.round(consumer)
    [done] = [u for u in system.store.units.unfinished() if u.state is UnitState.INVALID]
    assert (done.reason, done.failures) == ("timed out after 0.5 s", 1)
    until(
        lambda: start_time(int(left.read_text())) is None
    )  # a killed process may end a moment later
    assert ended == []  # the program was ended, not its worker
