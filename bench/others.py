"""The virtual environment of the software that Synergy is compared with.

It is kept in the user's cache, because that software is not a dependency of Synergy.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.figures import BenchFailed
from bench.programs import output_of
from synergy.errors import SynergyError

REQUIREMENTS = Path(__file__).parent / "contestants" / "requirements.txt"
_STEP_SECONDS = 600.0  # limit of one step; enough for a slow connection


class NotInstalled(SynergyError):
    """The environment of the other software cannot be created."""


def python(say: Callable[[str], None]) -> Path:
    """The interpreter of the environment, which is created if it is missing.

    The name of its folder has a digest of the requirements and the Python version, so that a
    change of either creates a new environment.
    """
    wanted = REQUIREMENTS.read_bytes() + sys.version.encode()
    folder = _cache() / f"bench-{hashlib.sha256(wanted).hexdigest()[:16]}"
    stamp = folder / "installed"
    if not stamp.exists():
        say(f"The software to compare with is not installed yet: creating {folder} ...")
        try:
            _make(folder, stamp)
        except OSError as error:
            raise NotInstalled(f"{folder} cannot be made: {error.strerror}") from error
    return folder / "bin" / "python"


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "synergy"


def _make(folder: Path, stamp: Path) -> None:
    """Creates the environment and, last, the stamp; one process at a time."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if stamp.exists():
            return
        _run([sys.executable, "-m", "venv", "--clear", str(folder), "--without-pip"])
        pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python")]
        options = ["--disable-pip-version-check", "--no-input", "--quiet"]
        _run([*pip, "install", *options, "-r", str(REQUIREMENTS)])
        stamp.touch()


def _run(command: Sequence[str]) -> None:
    try:
        output_of(command, " ".join(command[1:4]), _STEP_SECONDS)
    except BenchFailed as error:
        raise NotInstalled(str(error)) from None
