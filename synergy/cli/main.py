"""The command line: `launch.py NOUN VERB`.

Each noun is a module with `add(subparsers)`, which adds the noun's parser; the parser of each verb
sets `run`: a function of the parsed arguments that returns an exit code (or None, for done). Only
the module of the given noun is imported, and commands import what they need when they run, so
that `-h` answers at once.

A SynergyError is printed as one line, and has its exit code; the traceback of any other exception
is in the log. `--debug` shows tracebacks.
"""

from __future__ import annotations

import argparse
import errno
import gc
import importlib
import os
import re
import sys
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import Any, NoReturn

from synergy import __version__
from synergy.cli import exits, recording
from synergy.errors import SynergyError
from synergy.program import LAUNCHER, PROGRAM

NOUNS: dict[str, tuple[str, str]] = {  # the project adds its own: see `cli.project_nouns`
    "supervisor": ("synergy.cli.supervisor", "start, stop and watch the processes of this box"),
    "dev": ("synergy.cli.dev", "run everything in this terminal, and restart what is saved"),
    "box": ("synergy.cli.box", "which processes run on which box"),
    "reload": ("synergy.cli.reload", "take over a changed context without stopping what runs"),
    "process": ("synergy.cli.process", "processes: show, start, stop, switch on and off"),
    "status": ("synergy.cli.status", "whether all is well, and if not, what is not"),
    "timetable": ("synergy.cli.timetable", "jobs: show, explain, reprocess, skip, audit"),
    "run": ("synergy.cli.run", "carry out one period here and now, for debugging"),
    "rows": ("synergy.cli.rows", "print the rows of a collection"),
    "unit": ("synergy.cli.unit", "units of work: show, cancel, retry"),
    "schedule": (
        "synergy.cli.schedule",
        "schedules: add, show, enable, trigger, preview; and their runs",
    ),
    "event": ("synergy.cli.event", "events that schedules react to: emit, list"),
    "journal": ("synergy.cli.journal", "what changed, when, why, and by whom"),
    "gc": ("synergy.cli.gc", "the garbage collector: run it now, see what it would do"),
    "user": ("synergy.cli.user", "who may log in to MX, and tokens for programs"),
    "audit-log": ("synergy.cli.audit_log", "who changed what: list it, verify that it is whole"),
    "queue": ("synergy.cli.queue", "waiting messages, and messages in quarantine"),
    "store": ("synergy.cli.store", "the store: init, status, check, reset, backup, copy, import"),
    "check": ("synergy.cli.check", "list all mistakes in settings and context"),
    "init": ("synergy.cli.init", "make the folder of a new project"),
    "demo": ("synergy.cli.demo", "run the illustration, in a folder of its own"),
    "shell": ("synergy.cli.shell", "a Python prompt with the open project"),
}
SYSTEM_ERRORS = {
    errno.EACCES,
    errno.EDQUOT,
    errno.EEXIST,
    errno.EISDIR,
    errno.ELOOP,
    errno.ENAMETOOLONG,
    errno.ENOSPC,
    errno.ENOTDIR,
    errno.EPERM,
    errno.EROFS,
}
"""Conditions of the file system, which a traceback would not explain."""
# Imports, and batches of decisions, create tens of thousands of small objects without cycles:
# with the default thresholds a fifth of the time would go into searching them for cycles.
GC_THRESHOLDS = (100_000, 20, 100)
EXAMPLE = """example:
  python3 launch.py supervisor start     runs the whole system on this machine
  python3 launch.py timetable -h         the verbs of a noun
"""


class _Help(argparse.RawDescriptionHelpFormatter):
    """Keeps the lines of examples, and leaves room for the longest noun."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog)
        self._action_max_length = 14  # it is computed without the indentation of the nouns


class Parser(argparse.ArgumentParser):
    """A parser with examples in its help, and suggestions for mistyped words."""

    def __init__(self, *args: Any, **options: Any) -> None:
        options.setdefault("formatter_class", _Help)
        options.setdefault("allow_abbrev", False)
        super().__init__(*args, **options)
        self.add_argument(
            "--debug", action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS
        )

    def format_help(self) -> str:
        """The help, whose examples name the program that runs."""
        return re.sub(rf"(python3 )?{re.escape(LAUNCHER)}\b", PROGRAM, super().format_help())

    def error(self, message: str) -> NoReturn:
        from synergy.runtime.masking import mask
        from synergy.visible_text import visible

        self.exit(exits.USAGE, f"{self.prog}: {visible(mask(message))}\ntry: {self.prog} -h\n")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            choices = [str(choice) for choice in action.choices]
            near = _commands_with_verb(str(value)) if action.dest == "noun" else []
            near = near or get_close_matches(str(value), choices, 1)
            meant = f"did you mean {' or '.join(near)}?"
            expected = meant if near else f"expected {', '.join(choices)}"
            raise argparse.ArgumentError(action, f"{value!r} is unknown: {expected}")


def main(argv: Sequence[str]) -> int:
    """Runs the command `argv` (without the program's name); returns its exit code."""
    return outcome(argv, _run)


def outcome(argv: Sequence[str], run: Callable[[Sequence[str]], int]) -> int:
    """The exit code of a command that `run` carries out; prints why it failed."""
    gc.set_threshold(*GC_THRESHOLDS)
    is_debug = "--debug" in argv
    try:
        code = run(argv)
        sys.stdout.flush()
    except SystemExit as exit_:
        return exit_.code if isinstance(exit_.code, int) else exits.FAILED
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        return exits.INTERRUPTED
    except BrokenPipeError:
        _abandon_stdout()
        return exits.FAILED
    except Exception as error:  # the outermost boundary: no user sees a traceback
        if is_debug:
            raise
        return _explain_failure(error, argv)
    return code


def _run(argv: Sequence[str]) -> int:
    noun = next((word for word in argv if not word.startswith("-")), None)
    if noun not in NOUNS:
        from synergy.cli.project_nouns import project_nouns

        NOUNS.update(project_nouns())
    parser = _parser(noun)
    if noun not in NOUNS:
        from synergy.cli import older_commands

        if command := older_commands.today(argv):
            older = " ".join(argv[:2])
            parser.error(f"{older!r} is of an older version: did you mean {PROGRAM} {command}?")
    return recording.carry_out(parser.parse_args(argv))


def _parser(noun: str | None) -> Parser:
    parser = Parser(
        prog=PROGRAM,
        description="Synergy: a timetable for time-partitioned data processing.",
        epilog=EXAMPLE,
    )
    version = f"synergy {__version__}"
    parser.add_argument("--version", action="version", version=version, help="show the version")
    nouns = parser.add_subparsers(dest="noun", metavar="NOUN", required=True)
    for name, (module, help_) in NOUNS.items():
        if name == noun:
            importlib.import_module(module).add(nouns)
        else:
            nouns.add_parser(name, help=help_)
    return parser


def _commands_with_verb(verb: str) -> list[str]:
    """The commands with this verb, for a command line without a noun."""
    found = []
    for noun, (module, _) in NOUNS.items():
        nouns = Parser().add_subparsers()
        importlib.import_module(module).add(nouns)
        for action in nouns.choices[noun]._actions:
            if isinstance(action, argparse._SubParsersAction) and verb in action.choices:
                found.append(f"{noun} {verb}")
    return found


def _explain_failure(error: Exception, argv: Sequence[str]) -> int:
    """Prints why a command failed; returns the exit code."""
    if isinstance(error, SynergyError):
        _explain(getattr(error, "mistakes", None) or (str(error),))
        return exits.code_of(error)
    if isinstance(error, OSError) and error.errno in SYSTEM_ERRORS and error.filename:
        _explain((f"{error.filename}: {error.strerror}",))
    elif not all(word.isascii() or _is_text(word) for word in argv):
        _explain(("an argument is not UTF-8, as names and reasons have to be",))
        return exits.USAGE
    else:
        _report_unexpected(error)
    return exits.FAILED


def _is_text(word: str) -> bool:
    """Whether a word has no surrogates, which stand for bytes that could not be decoded."""
    return not any("\ud800" <= character <= "\udfff" for character in word)


def _explain(mistakes: Sequence[str]) -> None:
    from synergy.cli import output

    for mistake in mistakes:
        output.error(mistake)
    if len(mistakes) > 1:
        sys.stderr.write(f"{len(mistakes)} mistakes; nothing was done\n")


def _report_unexpected(error: Exception) -> None:
    """Prints one line; writes the traceback into the log."""
    from synergy.config.loader import load_settings
    from synergy.runtime import logs
    from synergy.runtime.masking import mask
    from synergy.visible_text import visible

    sys.stderr.write(f"unexpected {type(error).__name__}: {visible(mask(str(error)))}\n")
    try:
        settings = load_settings()
        path = logs.configure(settings.home, "cli", settings.box_id)
    except (SynergyError, OSError):
        sys.stderr.write("run it again with --debug for the traceback\n")
    else:
        logs.logger.error("A command failed", exc_info=error, extra={"event": "cli.failed"})
        sys.stderr.write(f"the traceback is in {path}\n")


def _abandon_stdout() -> None:
    """Discards what is still buffered: the reader of standard output is gone."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
