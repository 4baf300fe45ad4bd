"""The environment in which other task queues run: made once, kept in the user's cache.

They are no dependencies of Synergy, so neither its environment nor its requirements have them.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from synergy.errors import SynergyError

REQUIREMENTS = Path(__file__).parent / "contestants" / "requirements.txt"
_LIMIT = 600.0  # seconds for a step, on a slow line
_TAIL = 500  # characters of what a step said that an error shows


class NotInstalled(SynergyError):
    """The environment cannot be made; the message says why."""


def python(say: Callable[[str], None]) -> Path:
    """The interpreter of the environment, which is made if it is not there.

    It has the name of what it contains, so that new requirements make a new one.
    """
    wanted = REQUIREMENTS.read_bytes() + sys.version.encode()
    folder = _cache() / f"bench-{hashlib.sha256(wanted).hexdigest()[:16]}"
    stamp = folder / "installed"
    if not stamp.exists():
        say(f"Celery and Dramatiq are not installed yet: making {folder} for them ...")
        try:
            _make(folder, stamp)
        except OSError as error:
            raise NotInstalled(f"{folder} cannot be made: {error.strerror}") from error
    return folder / "bin" / "python"


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "synergy"


def _make(folder: Path, stamp: Path) -> None:
    """From nothing to the stamp, which is written last; one process at a time does so."""
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
    step = " ".join(command[1:4])
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, timeout=_LIMIT, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise NotInstalled(f"{step} took more than {_LIMIT:g} s") from None
    if done.returncode != 0:
        said = done.stdout.strip()[-_TAIL:]
        raise NotInstalled(f"{step} ended with {done.returncode}: {said}")
