"""Acting as another user of the machine, which only root can do."""

from __future__ import annotations

import os
import pwd
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.acceptance import forked
from tests.missing import reason

LIMIT = 60.0  # seconds


def needs_root() -> None:
    """Skips the test where this process may not become another user."""
    if os.geteuid() != 0:
        pytest.skip(reason("root", "run the tests as root"))


def as_nobody(act: Callable[[], object]) -> str:
    """What `act` returns, as text, in a fork that has become the user nobody."""

    def run() -> int:
        found = pwd.getpwnam("nobody")
        os.setgroups([])
        os.setgid(found.pw_gid)
        os.setuid(found.pw_uid)
        sys.stdout.write(str(act()))
        return 0

    code, out, err = forked.call(run, dict(os.environ), LIMIT)
    assert code == 0, err
    return out


def outcome(act: Callable[[], object]) -> str:
    """The name of the error that `act` raises; what it returns if it raises none."""
    try:
        return str(act())
    except OSError as error:
        return type(error).__name__


def open_folder() -> TemporaryDirectory[str]:
    """A folder that every user can enter, which folders of tests are not."""
    made = TemporaryDirectory(prefix="synergy-test-")
    Path(made.name).chmod(0o755)
    return made
