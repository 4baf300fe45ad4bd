"""`launch.py` at work in a home, but in this process: the same answers without starting one more.

That commands work as processes is shown by those that tests start; see `kit`.
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

OF_PROCESSES = "SYNERGY_TEST_"  # how the context shall be in processes, not in this one


def run(home: Home, *argv: object, code: int | None = 0) -> str:
    """What a command prints, which must end with this exit code (None: any)."""
    given = home.environment(**home.patiently)
    environ = {name: value for name, value in given.items() if not name.startswith(OF_PROCESSES)}
    out, err = StringIO(), StringIO()
    with patch.dict(os.environ, environ, clear=True), redirect_stdout(out), redirect_stderr(err):
        ended = main([str(word) for word in argv])
    assert code is None or ended == code, (argv, ended, out.getvalue(), err.getvalue())
    return out.getvalue()


def ask(home: Home, *argv: object, code: int | None = 0) -> Any:
    """What a command answers with `--json`."""
    return json.loads(run(home, *argv, "--json", code=code))


def wait_for(home: Home, process: str, timeperiod: str, code: int = 0) -> Any:
    """How a job ended, as `timetable wait` tells it; code 1: it cannot be done."""
    seconds = ("--timeout", home.patience)
    return ask(home, "timetable", "wait", process, timeperiod, *seconds, code=code)
