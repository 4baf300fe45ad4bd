"""Each field of a process is checked."""

from __future__ import annotations

import os
import pwd
from pathlib import Path
from unittest.mock import patch

import pytest

from synergy.config import classes
from synergy.model.process import BuiltIn
from tests.unit.config.kit import daemon, managed, mistakes, one, only_mistake, process, write

ME = pwd.getpwuid(os.geteuid()).pw_name


@pytest.mark.parametrize(
    ("fields", "where", "reason"),
    [
        ({"present_on_boxes": ...}, "", "present_on_boxes is missing"),
        ({"process_name": ...}, "", "process_name is missing"),
        ({"time_qualifier": ...}, "", "time_qualifier is missing"),
        ({"classname": ...}, "", "expected classname or command, and there is neither"),
        ({"command": ["x"]}, "", "expected classname or command, not both"),
        ({"process_name": "q"}, "process_name", "'q' differs from the key 'p'"),
        ({"time_qualifer": "daily"}, "", "field time_qualifer: did you mean time_qualifier?"),
        ({"time_qualifier": "hourly "}, "time_qualifier", "did you mean hourly?"),
        ({"time_qualifier": "weekly"}, "time_qualifier", "unknown value 'weekly'"),
        ({"state_machine_name": "discret"}, "state_machine_name", "did you mean discrete?"),
        ({"blocking_type": 7}, "blocking_type", "expected one of children, dependencies, normal"),
        ({"late_data": "reproces"}, "late_data", "did you mean reprocess?"),
        ({"on_failure": "skp"}, "on_failure", "did you mean skip?"),
        ({"on_failure": True}, "on_failure", "unknown value True: expected one of block, skip"),
        ({"on_failure": "skip", "retry_failed": "1h"}, "retry_failed", "choose one"),
        ({"retry_failed": 0}, "retry_failed", "more than 0"),
        ({"retry_failed": "never"}, "retry_failed", "expected a duration"),
        ({"retry_failed": -1}, "retry_failed", "at least 0"),
        ({"refresh": 0}, "refresh", "more than 0"),
        ({"refresh": "0s"}, "refresh", "more than 0"),
        ({"refresh": "triger"}, "refresh", "a duration such as '60s' or 'trigger', not 'triger'"),
        ({"refresh": ""}, "refresh", "'trigger', not ''"),
        ({"refresh": "10 seconds"}, "refresh", "expected a duration"),
        ({"refresh": False}, "refresh", "expected a duration"),
        ({"time_grouping": 24}, "time_grouping", "1 to 23, not 24"),
        ({"time_grouping": 0}, "time_grouping", "1 to 23, not 0"),
        ({"time_grouping": True}, "time_grouping", "expected a whole number"),
        ({"time_qualifier": "daily", "time_grouping": 29}, "time_grouping", "1 to 28"),
        ({"time_qualifier": "monthly", "time_grouping": 13}, "time_grouping", "1 to 12"),
        ({"time_qualifier": "yearly", "time_grouping": 2}, "time_grouping", "1 to 1"),
        ({"max_active": 0}, "max_active", "1 or more, not 0"),
        ({"instances": -1}, "instances", "1 to 256, not -1"),
        ({"instances": 0}, "instances", "1 to 256, not 0"),
        ({"instances": 10_000}, "instances", "1 to 256, not 10000"),
        ({"max_attempts": 0}, "max_attempts", "1 or more"),
        ({"max_attempts": "3"}, "max_attempts", "1 or more, not '3'"),
        ({"settle": "-5m"}, "settle", "expected a duration"),
        ({"settle": -5}, "settle", "at least 0"),
        ({"settle": "5 minutes"}, "settle", "expected a duration"),
        ({"settle": True}, "settle", "expected a duration"),
        ({"settle": float("nan")}, "settle", "expected a duration"),
        ({"settle": "99999d"}, "settle", "at most ten years"),
        ({"heartbeat_timeout": 0}, "heartbeat_timeout", "more than 0"),
        ({"life_support": "0h"}, "life_support", "more than 0"),
        ({"timeout": 0}, "timeout", "more than 0"),
        ({"timeout": "a while"}, "timeout", "'a while'"),
        ({"classname": "Worker.start"}, "classname", "expected package.module.Class.method"),
        ({"classname": 5}, "classname", "expected a text, not 5"),
        ({"present_on_boxes": "dev.*"}, "present_on_boxes", "expected a list of texts"),
        ({"present_on_boxes": ["dev("]}, "present_on_boxes", "'dev(' is no regular expression"),
        ({"trigger_frequency": "every 1h"}, "trigger_frequency", "without a unit"),
        ({"trigger_frequency": 600}, "trigger_frequency", "expected a text, not 600"),
        ({"arguments": ["a"]}, "arguments", "expected a dictionary"),
        ({"arguments": {1: 2}}, "arguments", "expected a dictionary with texts as keys"),
        ({"is_on": "yes"}, "is_on", "expected True, False or 'demo_stream'"),
        ({"is_on": 1}, "is_on", "expected True or False"),
        ({"source": ""}, "source", "expected a text"),
    ],
)
def test_each_field_is_checked(
    project: Path, fields: dict[str, object], where: str, reason: str
) -> None:
    text = managed("p", "hourly", **fields).replace("nan", "float('nan')")
    one(project, text)
    mistake = only_mistake(project)
    assert mistake.startswith(f"process p: {where}: " if where else "process p: ")
    assert reason in mistake


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("run it", "expected a list of texts"),
        (["run", 5], "expected a list of texts only"),
        ([], "expected a program"),
        (["run", "${timeperoid}"], "unknown ${timeperoid}: expected one of ${timeperiod}"),
        (["run", "${}"], "unknown ${}"),
        (["run", "${timeperiod"], "item 2, character 1: $ begins neither ${name} nor $$"),
        (["run", "a$$$b"], "item 2, character 4: $ begins neither ${name} nor $$"),
        (["sh", "-c", "echo $$HOME $${timeperiod}"], None),
        (["python3", "-c", "import sys\nsys.exit(0)"], None),  # a program of several lines
    ],
)
def test_commands_are_checked(project: Path, command: object, reason: str | None) -> None:
    one(project, managed("p", "hourly", classname=..., command=command))
    found = mistakes(project)
    if reason is None:
        assert found == []
    else:
        assert any(m.startswith("process p: command: ") and reason in m for m in found)


@pytest.mark.parametrize(
    ("names", "reason"),
    [
        ("AWS_PROFILE", "expected a list of texts"),
        (["AWS_PROFILE=dev"], "'AWS_PROFILE': expected names such as AWS_PROFILE, no values"),
        (["AWS_*"], "'AWS_*': expected names"),
        (["1ST"], "'1ST': expected names"),
        (["ÄPFEL"], "'ÄPFEL': expected names"),
        ([5], "expected a list of texts only"),
    ],
)
def test_the_variables_of_commands_are_names(project: Path, names: object, reason: str) -> None:
    one(project, managed("p", "hourly", classname=..., command=["run"], environment=names))
    mistake = only_mistake(project)
    assert mistake.startswith("process p: environment: ")
    assert reason in mistake


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("environment", ["AWS_PROFILE"]),
        ("variables", {"A": "1"}),
        ("cwd", "/"),
        ("stdin", "x"),
        ("user", ME),
    ],
)
def test_only_commands_have_surroundings(project: Path, field: str, value: object) -> None:
    one(project, managed("p", "hourly", **{field: value}))
    assert only_mistake(project) == f"process p: {field}: only for a command"


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("variables", ["A=1"], "expected a mapping"),
        ("variables", {"1ST": "x"}, "'1ST': expected a name"),
        ("variables", {"A": 1}, "A: expected a text"),
        ("variables", {"A": "secret\0"}, "A: expected a text without NUL as its value"),
        ("variables", {"SYNERGY_RUN": "x"}, "SYNERGY_RUN is set by Synergy"),
        ("cwd", "data", "'data': expected an absolute path"),
        ("cwd", 1, "expected a text"),
        ("stdin", 1, "expected a text"),
        ("stdin", "x" * 65_537, "at most 65,536 characters"),
        ("user", "no-such-user", "this box has no user no-such-user"),
    ],
)
def test_the_surroundings_of_commands_are_checked(
    project: Path, field: str, value: object, reason: str
) -> None:
    one(project, managed("p", "hourly", classname=..., command=["run"], **{field: value}))
    mistake = only_mistake(project)
    assert mistake.startswith(f"process p: {field}: ")
    assert reason in mistake
    assert "secret" not in mistake


def test_the_user_of_a_command_is_checked_on_its_boxes_only(project: Path) -> None:
    elsewhere = {"present_on_boxes": ["another-box"], "user": "no-such-user"}
    one(project, managed("p", "hourly", classname=..., command=["run"], **elsewhere))
    assert mistakes(project) == []


def test_another_user_needs_root(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: pwd.getpwnam("nobody").pw_uid)
    one(project, managed("p", "hourly", classname=..., command=["run"], user="root"))
    assert "only root can start a program as another user, root" in only_mistake(project)


@pytest.mark.parametrize(
    ("item", "default", "is_refused"),
    [
        ("${n}", -1, True),
        ("${n}.csv", "-x", True),
        ("${empty}${n}", "-x", True),
        ("--days=${n}", -1, False),
        ("${timeperiod}${n}", "-x", False),
        ("${n}", 1, False),
    ],
)
def test_a_default_value_that_would_be_an_option_is_refused(
    project: Path, item: str, default: object, is_refused: bool
) -> None:
    def entry(n: str) -> str:
        text = managed("p", "hourly", classname=..., command=["run", item], arguments=1)
        return text.replace("'arguments': 1", f"'arguments': {{'n': {n}, 'empty': ''}}")

    one(project, entry(repr(default)))
    assert ["begin with -" in found for found in mistakes(project)] == [True] * is_refused
    one(project, entry(f"argument({default!r}, allow_option=True)"))
    assert mistakes(project) == []
    assert process(project).arguments["n"] == default


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("tests.unit.no_such_module.Fine.start", "cannot import tests.unit.no_such_module"),
        ("tests.unit.context_workers.Fien.start", "has no class Fien: did you mean Fine?"),
        ("tests.unit.context_workers.function.start", "has no class function"),
        ("tests.unit.context_workers.Fine.strat", "has no method strat: did you mean start?"),
        ("tests.unit.context_workers.Unfinished.start", "Unfinished does not define work"),
        ("broken_worker.Any.start", "ZeroDivisionError"),
    ],
)
def test_only_a_check_imports_classes(project: Path, path: str, reason: str) -> None:
    (project / "broken_worker.py").write_text("1 / 0\n")
    one(project, managed("p", "hourly", classname=path))
    mistake = only_mistake(project)
    assert mistake.startswith("process p: classname: ")
    assert reason in mistake
    assert process(project).classname == path  # loading alone imports nothing


@pytest.mark.parametrize("path", [str(each) for each in BuiltIn])
def test_classes_of_synergy_exist_and_are_not_imported_by_a_check(project, path) -> None:
    classes.resolve(path)
    write(project, {"p": daemon("p", classname=path)}, {})
    with patch.object(classes, "resolve") as asked:
        assert mistakes(project) == []
    assert not asked.called


@pytest.mark.parametrize("value", [7, [0], [7], ["-7"], [True], [-1001]])
def test_also_reads_must_be_a_list_of_earlier_periods(project: Path, value: object) -> None:
    one(project, managed("p", "daily", also_reads=value))
    assert "also_reads" in only_mistake(project)
