"""Starts Synergy. Makes its environment `.venv` first when that is missing or out of date.

Standard library alone. With `SYNERGY_NO_VENV=1` (containers, distributions) the interpreter
that runs this is taken as it is.
"""

import sys

if sys.version_info < (3, 11):  # noqa: UP036  older ones get this far, and should be told
    sys.stderr.write(
        "Synergy needs Python 3.11 or later; this is {}.{}.\n"
        "Install a newer one and run, for example: python3.11 launch.py ...\n".format(
            *sys.version_info[:2]
        )
    )
    sys.exit(78)

import fcntl
import hashlib
import importlib.util
import os
import subprocess
from pathlib import Path

PROJECT = Path(__file__).resolve().parent
REQUIREMENTS = PROJECT / "requirements.txt"
VENV = PROJECT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMP = VENV / "installed"

NO_ENSUREPIP = """\
This Python cannot make virtual environments: its module ensurepip is missing.
Next: install it (Debian, Ubuntu: apt install python{}.{}-venv) and run the same command again,
or set SYNERGY_NO_VENV=1 to use this Python with the packages of requirements.txt in it."""

FAILED = """\
{}
Setting up .venv failed: {}.
Next: see the lines above (no network, a proxy, no space?), then: python3 launch.py install"""


class SetupError(Exception):
    """The environment cannot be made; the message says what to do."""


def main(argv: list[str]) -> int:
    """Brings the environment up to date, goes into it, and runs the command line."""
    if os.environ.get("SYNERGY_NO_VENV") != "1" and Path(sys.prefix).resolve() != VENV.resolve():
        try:
            ensure_environment()
        except SetupError as error:
            sys.stderr.write(f"{error}\n")
            return 1
        if argv != ["install"]:
            os.execv(PYTHON, [str(PYTHON), str(PROJECT / "launch.py"), *argv])
    if argv == ["install"]:
        sys.stdout.write("The environment is ready.\n")
        return 0
    from synergy.cli.main import main as command_line

    return command_line(argv)


def ensure_environment() -> None:
    """Makes `.venv` what requirements.txt asks for; one process at a time does so."""
    if is_up_to_date():
        return
    lock = os.open(PROJECT, os.O_RDONLY)
    try:
        take(lock)
        if not is_up_to_date():
            make_environment(lock)
    finally:
        os.close(lock)


def take(lock: int) -> None:
    """Waits until nobody else sets up."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        tell("Another process is setting up .venv: waiting for it ...")
        fcntl.flock(lock, fcntl.LOCK_EX)


def is_up_to_date() -> bool:
    """Whether an earlier set-up came to its end, for these requirements and this Python."""
    try:
        return PYTHON.exists() and STAMP.read_text() == wanted()
    except (FileNotFoundError, NotADirectoryError):
        return False


def wanted() -> str:
    """What the stamp of an environment that is up to date says."""
    digest = hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()
    return f"{digest} {sys.version_info.major}.{sys.version_info.minor}\n"


def make_environment(lock: int) -> None:
    """From nothing to the stamp, which is written last: what was interrupted is done again."""
    if importlib.util.find_spec("ensurepip") is None:
        raise SetupError(NO_ENSUREPIP.format(*sys.version_info[:2]))
    STAMP.unlink(missing_ok=True)
    venv = [sys.executable, "-m", "venv", "--clear", str(VENV)]
    run("Making the environment .venv", venv, lock)
    pip = [str(PYTHON), "-m", "pip", "--disable-pip-version-check", "--no-input"]
    install = [*pip, "install", "--no-cache-dir", "--quiet", "-r", str(REQUIREMENTS)]
    run("Installing the packages of requirements.txt", install, lock)
    unfinished = STAMP.with_suffix(".tmp")
    unfinished.write_text(wanted())
    unfinished.replace(STAMP)
    tell("The environment is ready.")


def run(step: str, command: list[str], lock: int) -> None:
    """One step of the set-up; its last words are shown if it fails.

    It inherits the lock, so that nobody else begins while it outlives a launch that was killed.
    """
    tell(f"{step} ...")
    done = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        pass_fds=(lock,),
        text=True,
        check=False,
    )
    if done.returncode != 0:
        last = "\n".join(done.stdout.splitlines()[-8:])
        raise SetupError(FAILED.format(last, f"{step} ended with {done.returncode}"))


def tell(line: str) -> None:
    """Progress: on a terminal only."""
    if sys.stderr.isatty():
        sys.stderr.write(f"{line}\n")


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
