"""Programs that stand in for MongoDB in tests, built once into the user's cache.

It uses only the standard library, so that programs can be built while the packages of the tests
are being installed.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

LIMIT = 900  # seconds; a bound for downloading and compiling everything


class NotBuilt(Exception):
    """The program could not be built, with the reason."""


def built_once(name: str, sources: Sequence[Path], build: Callable[[Path], None]) -> Path:
    """Returns what `build` writes to the path that it is given, once for each state of `sources`.

    Processes that need it meanwhile wait.
    """
    state = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:16]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "synergy-tests"
    program = cache / f"{name}-{state}"
    if not program.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with (cache / f"building-{name}").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not program.exists():
                unfinished = program.with_suffix(".new")
                build(unfinished)
                unfinished.rename(program)
    return program


def output_of(
    command: Sequence[str], folder: Path, environ: Mapping[str, str] = MappingProxyType({})
) -> str:
    """Returns the output of a command; raises NotBuilt if it fails."""
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    if done.returncode:
        said = (done.stderr + done.stdout)[-500:]
        raise NotBuilt(f"{Path(command[0]).name} could not build it: {said}")
    return done.stdout
