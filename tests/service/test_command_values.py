"""The values in the arguments of programs: inserted as they are, and none becomes an option."""

from __future__ import annotations

import pytest

from synergy.model.unit_of_work import UnitState
from tests.service.free_runs import (
    a_free_process,
    a_run,
    a_system,
    carry_out_command,
    launch,
    started_with,
    unit,
)


def test_arguments_of_a_run_replace_only_declared_arguments(tmp_path):
    command = ("${days}", "${site}", "${more}", "${home}")
    given = {"days": 1, "more": "x", "home": "/elsewhere", "run": "0", "timeperiod": "1"}
    _, argv, _ = started_with(tmp_path, command, {"days": 7, "site": "a"}, given)
    assert argv == ["1", "a", "${more}", str(tmp_path)]


@pytest.mark.parametrize(
    "value",
    [
        "$(touch here) ; `id` && x | y > z",
        "a b\nc\t'd' \"e\"",
        "${home}",
        "${days}${run}",
        "",
        "日",
    ],
)
def test_a_value_stays_one_argument_whatever_it_contains(tmp_path, value):
    command = ("before", "${days}", "--days=${days}", "after")
    _, argv, _ = started_with(tmp_path, command, {"days": 7}, {"days": value})
    assert argv == ["before", value, f"--days={value}", "after"]


@pytest.mark.parametrize("item", ["${days}", "${days}.csv"])
def test_a_value_that_would_be_an_option_is_refused(item):
    process = a_free_process(classname=None, command=("touch", item), arguments={"days": ""})
    system = a_system(process)
    run = a_run(request={"arguments": {"days": "--reference=/etc/passwd"}})
    launch(system, run)
    carry_out_command(system)
    done = unit(system, run)
    assert done.state is UnitState.INVALID
    assert done.reason.startswith("CommandFailed: the value of ${days} makes an item of the")
    assert "passwd" not in done.reason


def test_a_value_that_is_declared_so_may_be_an_option(tmp_path):
    _, argv, _ = started_with(
        tmp_path, ("${days}", "--", "${days}"), {"days": 7}, {"days": -1}, options={"days"}
    )
    assert argv == ["-1", "--", "-1"]


def test_two_dollars_are_one(tmp_path):
    _, argv, _ = started_with(tmp_path, ("a$$b", "$${days}", "$$${days}"), {"days": 7}, {})
    assert argv == ["a$b", "${days}", "$7"]


def test_a_value_with_a_null_character_fails_only_its_own_run():
    process = a_free_process(classname=None, command=("true", "${x}"), arguments={"x": ""})
    system = a_system(process)
    runs = [a_run(f"due:{n}", request={"arguments": {"x": x}}) for n, x in enumerate("a\0b")]
    launch(system, *runs)
    for _ in runs:
        carry_out_command(system)
    assert [unit(system, run).state for run in runs] == [
        UnitState.PROCESSED,
        UnitState.INVALID,
        UnitState.PROCESSED,
    ]
