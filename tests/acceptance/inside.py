"""Runs commands of `launch.py` on a home within this process, without starting another one.

Other tests run commands as processes; see `kit`.
"""

from __future__ import annotations

import json
import os
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from typing import Any
from unittest.mock import patch

from synergy.cli.main import main
from tests.acceptance.kit import Home

OF_PROCESSES = "SYNERGY_TEST_"  # settings for the context in other processes only


def run(home: Home, *argv: object, code: int | None = 0) -> str:
    """Runs a command, expects this exit code (None: any), and returns what it prints."""
    given = home.environment(**home.tolerant_store)
    environ = {name: value for name, value in given.items() if not name.startswith(OF_PROCESSES)}
    out, err = StringIO(), StringIO()
    with patch.dict(os.environ, environ, clear=True), redirect_stdout(out), redirect_stderr(err):
        ended = main([str(word) for word in argv])
    assert code is None or ended == code, (argv, ended, out.getvalue(), err.getvalue())
    return out.getvalue()


def ask(home: Home, *argv: object, code: int | None = 0) -> Any:
    """The `--json` output of a command."""
    return json.loads(run(home, *argv, "--json", code=code))


def wait_for(home: Home, process: str, timeperiod: str, code: int = 0) -> Any:
    """The output of `timetable wait` for a job; code 1: the job cannot be done."""
    seconds = ("--timeout", home.limit)
    return ask(home, "timetable", "wait", process, timeperiod, *seconds, code=code)
