"""Free-run processes in `context.py`."""

from __future__ import annotations

from pathlib import Path

import pytest

from synergy.model.process import POOLED, FreerunProcess
from tests.unit.config.schedules_kit import SOUND, WORKER, declare, load, mistakes, schedule


def freerun(project: Path, name: str = "Report") -> FreerunProcess:
    return load(project).freerun()[name]


def test_the_defaults_of_a_freerun_process(project: Path) -> None:
    declare(project)
    assert freerun(project) == FreerunProcess(
        name="Report",
        classname=WORKER,
        token="Report",
        present_on_boxes=(".*",),
        instances=POOLED,
        max_attempts=1,
        max_active=1,
    )


def test_every_optional_field_of_a_freerun_process_is_loaded(project: Path) -> None:
    declare(
        project,
        "process_context['Export'] = freerun('Export', command=['x', '${run}', '${timeperiod}',"
        " '${start}', '${end}', '${attempt}', '${home}', '${site}'], arguments={'site': 'a'},"
        " token='e', instances=2, max_attempts=3, retry_backoff='2m', heartbeat_timeout=30,"
        " resubmit_after='2h', life_support='7d', timeout='20s', is_on=False,"
        " trigger_frequency='at  5-8:00', environment=['MODE'], variables={'A': '1'}, cwd='/',"
        " stdin='in')",
    )
    assert freerun(project, "Export") == FreerunProcess(
        name="Export",
        classname=None,
        command=(
            "x", "${run}", "${timeperiod}", "${start}", "${end}", "${attempt}", "${home}",
            "${site}",
        ),
        arguments={"site": "a"},
        token="e",
        present_on_boxes=(".*",),
        instances=2,
        max_attempts=3,
        retry_backoff=120,
        heartbeat_timeout=30,
        resubmit_after=7200,
        life_support=7 * 86_400,
        timeout=20,
        is_on=False,
        trigger_frequency="at 5-08:00",
        environment=("MODE",),
        variables={"A": "1"},
        cwd="/",
        stdin="in",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ("classname='a'", "classname: 'a': expected package.module.Class.method"),
        ("command=['x', '${runs}']", "command: unknown ${runs}: expected one of ${timeperiod}"),
        ("command=['x'], classname='a.b.C.d'", "expected classname or command, not both"),
        ("trigger_frequency='every 0'", "trigger_frequency: trigger 'every 0'"),
        ("trigger_frequency=60", "trigger_frequency: expected a text, not 60"),
        ("time_qualifier='daily'", "unknown field time_qualifier"),
        ("max_attempts=0", "max_attempts: expected a whole number, 1 or more"),
    ],
)
def test_freerun_processes_are_checked(project: Path, fields: str, reason: str) -> None:
    declare(project, f"process_context['F'] = freerun('F', {fields})")
    (mistake,) = mistakes(project)
    assert mistake.startswith("process F: ")
    assert reason in mistake


def test_commands_of_managed_processes_cannot_name_a_run(project: Path) -> None:
    declare(
        project,
        "process_context['Daily'].fields.update(classname=None, command=['x', '${run}'])",
    )
    (mistake,) = mistakes(project)
    assert "unknown ${run}" in mistake


def test_a_trigger_frequency_declares_a_schedule_named_like_the_process(project: Path) -> None:
    declare(project, "process_context['F'] = freerun('F', trigger_frequency='every  60')")
    assert load(project).schedules == {"F": {"name": "F", "process": "F", "trigger": "every 60"}}


def test_the_name_of_a_trigger_frequency_is_reserved(project: Path) -> None:
    declare(
        project,
        "process_context['F'] = freerun('F', trigger_frequency='every 60')",
        schedule({**SOUND, "schedule_name": "F"}, "F"),
    )
    (mistake,) = mistakes(project)
    assert mistake.startswith("process F: trigger_frequency: ")
    assert "schedule_context has a schedule of that name" in mistake
