"""Commands of Synergy 1 and 2, typed as they were, answer with the command of today."""

from __future__ import annotations

import shlex

import pytest

from synergy.cli import exits, main, older_commands


@pytest.mark.parametrize(
    ("older", "today"),
    [
        # Version 2
        ("start Scheduler", "process start Scheduler"),
        ("start SiteHourly --console", "process start SiteHourly --console"),
        ("start Supervisor", "supervisor start"),
        ("stop Supervisor", "supervisor stop"),
        ("stop SiteHourly", "process stop SiteHourly"),
        ("query SiteHourly", "process show SiteHourly"),
        ("query", "supervisor status"),
        ("list", "process list"),
        ("super --start SiteHourly", "box start SiteHourly"),
        ("super --start -n SiteHourly", "box start SiteHourly"),
        ("super --stop SiteHourly", "box stop SiteHourly"),
        ("super --start", "box start NAME"),
        ("super --query", "box list"),
        ("super --update", "box sync"),
        ("super --reset", "box sync"),
        ("super --init", "box sync"),
        ("super --boxid prod-1", "supervisor start, with SYNERGY_BOX_ID=prod-1"),
        ("super", "supervisor status"),
        ("db --update", "store init"),
        ("db --init", "store init"),
        ("db --reset", "store reset"),
        ("db --flush", "store reset"),
        ("db", "store status"),
        # Version 1
        ("--run --app SiteHourly", "process start SiteHourly"),
        ("-r -a SiteHourly", "process start SiteHourly"),
        ("-r -n -a SiteHourly", "process start SiteHourly --console"),
        ("--app=SiteHourly --run", "process start SiteHourly"),
        ("-k -a SiteHourly", "process stop SiteHourly"),
        ("-q -a SiteHourly", "process show SiteHourly"),
        ("--query", "supervisor status"),
        ("-r -a Supervisor", "supervisor start"),
        ("-l", "process list"),
        ("-i", "install"),
        ("--install_ve", "install"),
        ("-s", "shell"),
        ("-t", "test"),
        ("-x", "test"),
        ("-v", "supervisor status"),
    ],
)
def test_an_older_command_names_that_of_today(capsys, older, today):
    assert main.main(shlex.split(older)) == exits.USAGE
    shown = capsys.readouterr()
    assert shown.out == ""
    assert f"is of an older version: did you mean launch.py {today}?\n" in shown.err


@pytest.mark.parametrize(
    "argv",
    [
        [],
        ["-h"],
        ["--version"],
        ["--debug"],
        ["-p", "x"],
        ["chek"],
        ["start"],
        ["audit", "x"],
        ["-"],
    ],
)
def test_other_words_are_not_taken_for_older_commands(argv):
    assert older_commands.today(argv) is None


def test_the_commands_of_today_exist():
    found = {" ".join(words.split()[:2]) for words in older_commands._WITHOUT_NAME.values()}
    found |= {f"{noun} {verb}" for noun in ("process", "box") for verb in ("start", "stop")}
    found |= {"process show", "supervisor start", "supervisor stop"}
    for command in found - {"install", "test"}:  # launch.py adds these two
        assert main.main([*command.split(), "-h"]) == exits.DONE, command
