#!/usr/bin/env python3
"""Starts Synergy; first creates its environment `.venv`, or updates it.

This file uses the standard library only. `test` and `bench` need the packages of
requirements-test.txt besides those of requirements.txt; the packages of requirements-local.txt,
if it exists, are installed last. An update keeps packages that were added by pip; another version
of Python starts from an empty environment. With `SYNERGY_NO_VENV=1` (containers, distributions)
the current interpreter is used as it is.
"""

import sys

if sys.version_info < (3, 11):  # noqa: UP036  an older Python gets this far
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
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PROJECT = Path(__file__).resolve().parent
RUNTIME = PROJECT / "requirements.txt"
TEST = PROJECT / "requirements-test.txt"
LOCAL = PROJECT / "requirements-local.txt"
VENV = PROJECT / ".venv"
LOCK = PROJECT / ".venv.lock"  # private, because a user who can read a file can lock it
PYTHON = VENV / "bin" / "python"
STAMPS = VENV / "stamps"
CONSTRAINTS = STAMPS / "constraints.txt"
MADE_WITH = STAMPS / "python"
FORMER_STAMP = VENV / "installed"  # the stamp of environments without STAMPS
UNFINISHED = "unfinished\n"
VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"

PROJECT_NOUNS = {  # commands of this repository: module, which images may omit, and help
    "test": ("tests.runner.command", "run the tests"),
    "bench": ("bench.command", "measure this machine"),
}
USAGE = """\
usage: launch.py install [--test]

Creates the environment .venv, or updates it, and does nothing else.

  --test   with the packages that `test` and `bench` need (requirements-test.txt)

example:
  python3 launch.py install --test
"""
NO_ENSUREPIP = """\
This Python cannot create virtual environments: its module ensurepip is missing.
Next: install it (Debian, Ubuntu: apt install python{0}-venv) and run the same command again,
or set SYNERGY_NO_VENV=1 to use this Python with the packages of requirements.txt in it."""
ADVICE = {  # the next step, by message of the system
    "No space left on device": "free some space, for the project and for temporary files (TMPDIR)",
    "Disk quota exceeded": "free some space: the disk quota is used up",
    "Read-only file system": "move the project to a writable file system",
    "Permission denied": "run as a user who may write into the folder of the project",
}
OTHERWISE_LOCAL = "correct requirements-local.txt, or move it away (or is there no network?)"
OTHERWISE = "see the lines above (no network, a proxy?)"


class SetupError(Exception):
    """The environment cannot be set up; the message says what to do."""


def main(argv: list[str]) -> int:
    """Updates the environment, restarts within it, and runs the command line."""
    if argv == ["--version"]:
        from synergy import __version__

        sys.stdout.write(f"synergy {__version__}\n")
        return 0
    command = next((word for word in argv if not word.startswith("-")), "")
    if command == "install" and argv not in (["install"], ["install", "--test"]):
        return show_usage(argv)
    needs_tests = command in ("test", "bench") and not {"-h", "--help"} & set(argv)
    locks = [RUNTIME, TEST] if needs_tests or argv == ["install", "--test"] else [RUNTIME]
    if os.environ.get("SYNERGY_NO_VENV") != "1":
        try:
            if not is_inside() or command == "install" or needs_tests:
                ensure_environment(locks)
        except SetupError as error:
            sys.stderr.write(f"{error}\n")
            return 1
        if command != "install" and not is_inside():
            os.execv(PYTHON, [str(PYTHON), str(PROJECT / "launch.py"), *argv])
    if command == "install":
        sys.stdout.write("The environment is ready.\n")
        return 0
    os.environ.update(SYNERGY_PROGRAM="launch.py", SYNERGY_PROJECT=str(PROJECT))
    from synergy.cli import main as command_line

    for noun, (module, help_) in PROJECT_NOUNS.items():
        if PROJECT.joinpath(*module.split(".")).with_suffix(".py").exists():
            command_line.NOUNS[noun] = (module, help_)
    return command_line.main(argv)


def show_usage(argv: list[str]) -> int:
    """Prints the usage of `install`: as a result with `-h`, else as an error."""
    is_help = bool({"-h", "--help"} & set(argv))
    (sys.stdout if is_help else sys.stderr).write(USAGE)
    return 0 if is_help else 2


def is_inside() -> bool:
    """Whether this Python is that of the environment."""
    return Path(sys.prefix).resolve() == VENV.resolve()


def ensure_environment(locks: list[Path]) -> None:
    """Installs these files, in one process at a time."""
    if not outdated(locks):
        return
    try:
        with acquired() as lock:
            if outdated(locks):
                if not is_made():
                    create_environment(lock)
                for requirements in outdated(locks):
                    install(requirements, lock)
                note("The environment is ready.")
    except OSError as error:
        raise SetupError(failure(str(error), "Setting up .venv failed")) from error


@contextmanager
def acquired() -> Iterator[int]:
    """The lock, once no other process sets up the environment."""
    lock = os.open(LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            note("Another process is setting up .venv: waiting for it ...")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock
    finally:
        os.close(lock)


def outdated(locks: list[Path]) -> list[Path]:
    """The files to install, in order; the local one after any other."""
    found = [lock for lock in locks if not is_made() or stamp(lock) != expected_stamp(lock)]
    is_local_outdated = LOCAL.exists() and (found or stamp(LOCAL) != expected_stamp(LOCAL))
    return [*found, LOCAL] if is_local_outdated else found


def is_made() -> bool:
    """Whether an environment for this version of Python exists, complete or not."""
    made_with = read(MADE_WITH) or " ".join(read(FORMER_STAMP).split()[-1:])
    return is_inside() or (PYTHON.exists() and made_with.strip() == VERSION)


def stamp(requirements: Path) -> str:
    """The stamp of a file: a digest of what was installed, `UNFINISHED`, or ""."""
    return read(STAMPS / requirements.name)


def expected_stamp(requirements: Path) -> str:
    """The stamp of a file that is installed; the local one depends on those of the locks."""
    digest = hashlib.sha256(requirements.read_bytes())
    if requirements == LOCAL:
        digest.update((stamp(RUNTIME) + stamp(TEST)).encode())
    return f"{digest.hexdigest()}\n"


def read(path: Path) -> str:
    """The text of a file; "" if it does not exist."""
    return path.read_text() if path.is_file() else ""


def write(path: Path, text: str) -> None:
    """Writes a file atomically."""
    temporary = path.with_suffix(".tmp")
    temporary.write_text(text)
    temporary.replace(path)


def create_environment(lock: int) -> None:
    """Creates an environment with pip only; its stamp is written last."""
    if importlib.util.find_spec("ensurepip") is None:
        raise SetupError(NO_ENSUREPIP.format(VERSION))
    if (STAMPS / RUNTIME.name).exists():
        note(f"The environment .venv is not one of Python {VERSION}. Packages added by pip")
        note("have to be added again; requirements-local.txt is installed again.")
    for path in (MADE_WITH, FORMER_STAMP):
        path.unlink(missing_ok=True)
    venv = [sys.executable, "-m", "venv", "--clear", "--without-pip", str(VENV)]
    run("Making the environment .venv", venv, lock)
    # By itself, because venv hides the errors of ensurepip.
    run("Installing pip", [str(PYTHON), "-I", "-m", "ensurepip", "--default-pip"], lock)
    STAMPS.mkdir()
    write(MADE_WITH, f"{VERSION}\n")


def install(requirements: Path, lock: int) -> None:
    """Installs the missing packages of a file; all of them after an interruption.

    An interrupted installation may leave an incomplete package that pip takes for installed.
    """
    STAMPS.mkdir(exist_ok=True)
    pip = [str(PYTHON), "-m", "pip", "--disable-pip-version-check", "--no-input"]
    command = [*pip, "install", "--no-cache-dir", "--progress-bar", "off", "-r", str(requirements)]
    if requirements == LOCAL:  # it must not change the locked versions of the runtime packages
        write(CONSTRAINTS, "\n".join(pins(RUNTIME)) + "\n")
        command += ["--constraint", str(CONSTRAINTS)]
    else:
        command += ["--require-hashes"]
    if stamp(requirements) == UNFINISHED:
        command += ["--force-reinstall"]
    elif requirements == TEST:
        command += ["--no-compile"]  # tests compile what they import
    write(STAMPS / requirements.name, UNFINISHED)
    step = f"Installing the packages of {requirements.name}"
    run(step, command, lock, len(pins(requirements)), requirements)
    write(STAMPS / requirements.name, expected_stamp(requirements))
    write(MADE_WITH, f"{VERSION}\n")


def pins(requirements: Path) -> list[str]:
    """The packages of a file, without their hashes."""
    return re.findall(r"^[A-Za-z0-9][^\\\n#]*", requirements.read_text(), re.MULTILINE)


def run(step: str, command: list[str], lock: int, total: int = 0, cause: Path = RUNTIME) -> None:
    """Runs one step of the set-up, with its progress; raises SetupError with its last lines.

    The step inherits the lock, and so keeps it if this process is killed.
    """
    note(f"{step} ...")
    lines, names = [], set()
    with subprocess.Popen(
        command,
        cwd=PROJECT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        pass_fds=(lock,),
        text=True,
        errors="replace",
    ) as process:
        for line in process.stdout or ():
            lines.append(line.rstrip())
            if total:
                note_progress(line, names, total)
    if process.returncode != 0:
        ended = f"{step} ended with {process.returncode}"
        raise SetupError(failure("\n".join(lines), ended, cause))


def note_progress(line: str, names: set[str], total: int) -> None:
    """Notes how many packages pip has processed, and when it unpacks them."""
    seen = re.match(r"(?:Collecting|Requirement already satisfied:) ([\w.-]+)", line)
    if seen and seen[1].lower() not in names:
        names.add(seen[1].lower())
        if len(names) % 10 == 0:
            note(f"  {len(names)} of {max(total, len(names))} packages")
    elif line.startswith("Installing collected packages:"):
        note(f"  unpacking {line.count(',') + 1} packages")


def failure(text: str, what: str, cause: Path = RUNTIME) -> str:
    """The message for a step that failed with this text."""
    lines = text.splitlines()
    advice = [advice for message, advice in ADVICE.items() if message in text]
    reasons = [line for line in lines[:-8] if any(message in line for message in ADVICE)]
    otherwise = OTHERWISE_LOCAL if cause == LOCAL else OTHERWISE
    shown = "\n".join([*reasons[-1:], *lines[-8:]])
    return f"{shown}\n{what}.\nNext: {[*advice, otherwise][0]}, then: python3 launch.py install"


def note(line: str) -> None:
    """Writes a line for people to standard error."""
    with suppress(OSError):  # it may have been closed
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
