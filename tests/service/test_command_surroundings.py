"""What a program finds when it starts: its folder, variables, standard input and user."""

from __future__ import annotations

import pwd

import pytest

from synergy.model.unit_of_work import UnitState
from tests.another_user import needs_root, open_folder
from tests.service.free_runs import a_free_process, a_run, a_system, carry_out_command, launch, unit


def ended(command, **fields):
    """The unit of a run of this shell command, and the lines that it printed."""
    system = a_system(a_free_process(classname=None, command=("sh", "-c", command), **fields))
    run = a_run()
    launch(system, run)
    carry_out_command(system)
    return unit(system, run), [line.text for line in system.store.logs.of_unit(run.id)]


def test_a_program_finds_its_folder_its_variables_and_its_input(tmp_path, caplog, monkeypatch):
    caplog.set_level("INFO")
    monkeypatch.setenv("LANG", "C.UTF-8")
    done, lines = ended(
        'pwd; cat; echo "$$MODE $$LANG $$SYNERGY_ATTEMPT"',
        cwd=str(tmp_path),
        stdin="one\ntwo\n",
        variables={"MODE": "full", "LANG": "C"},
    )
    assert done.state is UnitState.PROCESSED, done.reason
    assert lines == [str(tmp_path), "one", "two", "full C 1"]


def test_long_input_that_is_not_read_blocks_nothing(caplog):
    done, _ = ended("exit 0", stdin="x" * 65_536 + "\n")
    assert done.state is UnitState.PROCESSED, done.reason


def test_a_program_without_input_reads_nothing(caplog):
    caplog.set_level("INFO")
    assert ended("cat; echo end")[1] == ["end"]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"cwd": "/no/such/folder"}, "/no/such/folder, its cwd, cannot be entered"),
        ({"user": "no-such-user"}, "this box has no user no-such-user"),
    ],
)
def test_a_program_that_cannot_start_says_why(fields, reason, caplog):
    done, _ = ended("true", **fields)
    assert done.state is UnitState.INVALID
    assert reason in done.reason


def test_a_program_runs_as_its_user_with_the_variables_of_that_user(caplog):
    needs_root()
    caplog.set_level("INFO")
    with open_folder() as folder:
        done, lines = ended(
            'id -un; id -gn; id -Gn; echo "$$USER $$LOGNAME $$HOME"', user="nobody", cwd=folder
        )
    found = pwd.getpwnam("nobody")
    assert done.state is UnitState.PROCESSED, done.reason
    assert lines[0] == "nobody"
    assert lines[1] == lines[2] != "root"
    assert lines[3] == f"nobody nobody {found.pw_dir}"
