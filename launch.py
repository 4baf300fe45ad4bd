#!/usr/bin/env python3
"""Starts Synergy. Makes its environment `.venv` first when that is missing or out of date.

Standard library alone. Commands of operation need the packages of requirements.txt; `test` and
`bench` those of requirements-test.txt on top. What requirements-local.txt names, if there is such
a file, is installed last. An update installs in place, so that what was added by pip stays; only
another version of Python has the environment made from nothing. With `SYNERGY_NO_VENV=1`
(containers, distributions) the interpreter that runs this is taken as it is.
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
import re
import subprocess
from contextlib import suppress
from pathlib import Path

PROJECT = Path(__file__).resolve().parent
RUNTIME = PROJECT / "requirements.txt"
TEST = PROJECT / "requirements-test.txt"
LOCAL = PROJECT / "requirements-local.txt"
VENV = PROJECT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMPS = VENV / "stamps"
MADE_WITH = STAMPS / "python"
FORMER_STAMP = VENV / "installed"  # of environments that were made before locks had stamps
UNFINISHED = "unfinished\n"
VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"

PROJECT_NOUNS = {  # commands of this project beside those of the library: module and help
    "ingest": ("workers.commands.ingest", "read access logs"),
    "report": ("workers.commands.report", "print the documents of a collection"),
    "test": ("tests.runner.command", "run the tests"),
    "bench": ("bench.command", "measure this machine"),
}
USAGE = """\
usage: launch.py install [--test]

Makes the environment .venv, or brings it up to date, and does nothing else.

  --test   with what `test` and `bench` need on top (requirements-test.txt)

example:
  python3 launch.py install --test
"""
NO_ENSUREPIP = """\
This Python cannot make virtual environments: its module ensurepip is missing.
Next: install it (Debian, Ubuntu: apt install python{0}-venv) and run the same command again,
or set SYNERGY_NO_VENV=1 to use this Python with the packages of requirements.txt in it."""
CAUSES = {  # what the system says, and what to do
    "No space left on device": "free some space, for the project and for temporary files (TMPDIR)",
    "Disk quota exceeded": "free some space: the disk quota is used up",
    "Read-only file system": "have the project on a file system that can be written to",
    "Permission denied": "be a user who may write into the folder of the project",
}
OTHERWISE = "see the lines above (no network, a proxy?)"


class SetupError(Exception):
    """The environment cannot be made; the message says what to do."""


def main(argv: list[str]) -> int:
    """Brings the environment up to date, goes into it, and runs the command line."""
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
    from synergy.cli import main as command_line

    command_line.NOUNS.update(
        {noun: found for noun, found in PROJECT_NOUNS.items() if is_there(found[0])}
    )
    return command_line.main(argv)


def is_there(module: str) -> bool:
    """Whether this installation has a module of the project: images leave tests and benches out."""
    return PROJECT.joinpath(*module.split(".")).with_suffix(".py").exists()


def show_usage(argv: list[str]) -> int:
    """Help is an answer; anything else that is no usage of `install` is a mistake."""
    is_help = bool({"-h", "--help"} & set(argv))
    (sys.stdout if is_help else sys.stderr).write(USAGE)
    return 0 if is_help else 2


def is_inside() -> bool:
    """Whether this Python is the one of the environment."""
    return Path(sys.prefix).resolve() == VENV.resolve()


def ensure_environment(locks: list[Path]) -> None:
    """Has everything of these locks in `.venv`; one process at a time sees to it."""
    if not outdated(locks):
        return
    lock = os.open(PROJECT, os.O_RDONLY)
    try:
        take(lock)
        if outdated(locks):
            update_environment(locks, lock)
    except OSError as error:
        raise SetupError(failure(str(error), "Setting up .venv failed")) from error
    finally:
        os.close(lock)


def take(lock: int) -> None:
    """Waits until nobody else sets up."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        tell("Another process is setting up .venv: waiting for it ...")
        fcntl.flock(lock, fcntl.LOCK_EX)


def outdated(locks: list[Path]) -> list[Path]:
    """Which files are to be installed, in this order; the local one after any other."""
    found = [lock for lock in locks if not is_made() or stamp(lock) != wanted(lock)]
    if LOCAL.exists() and (found or stamp(LOCAL) != wanted(LOCAL)):
        found.append(LOCAL)
    return found


def is_made() -> bool:
    """Whether there is an environment for this Python, of which only packages may be missing."""
    made_with = read(MADE_WITH) or " ".join(read(FORMER_STAMP).split()[-1:])
    return is_inside() or (PYTHON.exists() and made_with.strip() == VERSION)


def stamp(requirements: Path) -> str:
    """What the environment says of a file: what was installed, unfinished, or nothing."""
    return read(STAMPS / requirements.name)


def wanted(requirements: Path) -> str:
    """What the stamp says once the file is installed, the local one on top of the locks."""
    digest = hashlib.sha256(requirements.read_bytes())
    if requirements == LOCAL:
        digest.update((stamp(RUNTIME) + stamp(TEST)).encode())
    return f"{digest.hexdigest()}\n"


def read(path: Path) -> str:
    """The text of a file; "" if there is none."""
    try:
        return path.read_text()
    except (FileNotFoundError, NotADirectoryError):
        return ""


def write(path: Path, text: str) -> None:
    """Writes a file, as a whole or not at all."""
    unfinished = path.with_suffix(".tmp")
    unfinished.write_text(text)
    unfinished.replace(path)


def update_environment(locks: list[Path], lock: int) -> None:
    """Installs what is out of date, in an environment that is made if there is none."""
    if not is_made():
        make_environment(lock)
    for requirements in outdated(locks):
        install(requirements, lock)
    tell("The environment is ready.")


def make_environment(lock: int) -> None:
    """An environment with nothing but pip; the stamp is written last."""
    if importlib.util.find_spec("ensurepip") is None:
        raise SetupError(NO_ENSUREPIP.format(VERSION))
    if (STAMPS / RUNTIME.name).exists():
        tell(f"The environment .venv is not one of Python {VERSION}. What was added to it by pip")
        tell("is to be added again; requirements-local.txt is installed again.")
    for path in (MADE_WITH, FORMER_STAMP):
        path.unlink(missing_ok=True)
    venv = [sys.executable, "-m", "venv", "--clear", "--without-pip", str(VENV)]
    run("Making the environment .venv", venv, lock)
    pip = [str(PYTHON), "-I", "-m", "ensurepip", "--default-pip"]  # venv itself hides why it failed
    run("Putting pip into it", pip, lock)
    STAMPS.mkdir()
    write(MADE_WITH, f"{VERSION}\n")


def install(requirements: Path, lock: int) -> None:
    """Installs what a file names and is not there; all of it if that was interrupted before.

    What is interrupted may leave a package that looks whole and is not.
    """
    STAMPS.mkdir(exist_ok=True)
    pip = [str(PYTHON), "-m", "pip", "--disable-pip-version-check", "--no-input"]
    command = [*pip, "install", "--no-cache-dir", "--progress-bar", "off", "-r", str(requirements)]
    command += options_for_local() if requirements == LOCAL else ["--require-hashes"]
    if stamp(requirements) == UNFINISHED:
        command += ["--force-reinstall"]
    elif requirements == TEST:
        command += ["--no-compile"]  # tests compile what they import
    write(STAMPS / requirements.name, UNFINISHED)
    step = f"Installing the packages of {requirements.name}"
    run(step, command, lock, len(pins(requirements)), requirements)
    write(STAMPS / requirements.name, wanted(requirements))
    write(MADE_WITH, f"{VERSION}\n")


def options_for_local() -> list[str]:
    """Holds packages that Synergy runs with to their locked versions; hashes are theirs alone."""
    constraints = STAMPS / "constraints.txt"
    write(constraints, "\n".join(pins(RUNTIME)) + "\n")
    return ["--constraint", str(constraints)]


def pins(requirements: Path) -> list[str]:
    """The packages of a file, without their hashes."""
    return re.findall(r"^[A-Za-z0-9][^\\\n#]*", requirements.read_text(), re.MULTILINE)


def run(step: str, command: list[str], lock: int, total: int = 0, cause: Path = RUNTIME) -> None:
    """One step of the set-up, with its progress; its last words are shown if it fails.

    It inherits the lock, so that nobody else begins while it outlives a launch that was killed.
    """
    tell(f"{step} ...")
    said, names = [], set()
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
            said.append(line.rstrip())
            if total:
                tell_progress(line, names, total)
    if process.returncode != 0:
        ended = f"{step} ended with {process.returncode}"
        raise SetupError(failure("\n".join(said), ended, cause))


def tell_progress(line: str, names: set[str], total: int) -> None:
    """Tells how many packages pip has seen to, now and then, and when it unpacks them."""
    seen = re.match(r"(?:Collecting|Requirement already satisfied:) ([\w.-]+)", line)
    if seen and seen[1].lower() not in names:
        names.add(seen[1].lower())
        if len(names) % 10 == 0:
            tell(f"  {len(names)} of {max(total, len(names))} packages")
    elif line.startswith("Installing collected packages:"):
        tell(f"  unpacking {line.count(',') + 1} packages")


def failure(said: str, what: str, cause: Path = RUNTIME) -> str:
    """The message for a step that failed."""
    lines = said.splitlines()
    advice = [help_ for sign, help_ in CAUSES.items() if sign in said]
    signs = [line for line in lines[:-8] if any(sign in line for sign in CAUSES)]
    if cause == LOCAL and not advice:
        next_ = "correct requirements-local.txt, or move it away (or is there no network?)"
    else:
        next_ = (advice or [OTHERWISE])[0]
    shown = "\n".join([*signs[-1:], *lines[-8:]])
    return f"{shown}\n{what}.\nNext: {next_}, then: python3 launch.py install"


def tell(line: str) -> None:
    """Progress: for people, so not where results are."""
    with suppress(OSError):  # whoever read it is gone
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
