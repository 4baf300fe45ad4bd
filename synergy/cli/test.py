"""`launch.py test`: the whole check, or only pytest with the arguments given."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from synergy.cli import exits

EXAMPLE = """example:
  launch.py test                              everything that has to be sound
  launch.py test tests/unit -k timeperiod     only pytest, with these arguments
"""
STEPS = (
    ("format", ("ruff", "format", "--check", ".")),
    ("lint", ("ruff", "check", ".")),
    ("types", ("mypy",)),
)
# Real systems and browsers spend their time waiting, so they run beside what computes. The whole
# access log, and three boxes, are much work for the stand-in for MongoDB. The import contracts are
# among the first.
_SERVICES = "tests/service"
_REAL = ("tests/acceptance", "tests/mx/browser")
_LOG = "tests/acceptance/test_access_log.py"
_BOXES = "tests/acceptance/boxes"


def _without(*paths: str) -> tuple[str, ...]:
    return tuple(f"--ignore={path}" for path in paths)


STAGES = (
    (_without(_SERVICES, *_REAL), (*_REAL, *_without(_LOG, _BOXES))),
    ((_SERVICES,), (_LOG,)),
    ((_BOXES,),),
)
"""Each a few parts of the tests, which run side by side."""


def add(subparsers: Any) -> None:
    """Adds the command to the parser."""
    parser = subparsers.add_parser(
        "test",
        help="run the tests",
        description="Runs format, lint, types and tests; with arguments, only pytest.",
        epilog=EXAMPLE,
    )

    def take_all(
        words: Sequence[str], namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Pytest's options are not ours to know, so all words but `-h` are its arguments."""
        if {"-h", "--help"} & set(words):
            parser.print_help()
            parser.exit()
        namespace = namespace or argparse.Namespace()
        namespace.run = run
        namespace.words = [word for word in words if word != "--debug"]
        return namespace, []

    parser.parse_known_args = take_all


def run(arguments: argparse.Namespace) -> int:
    """Runs the steps, all of them even if one fails; 1 if any did."""
    if arguments.words:
        return _pytest(arguments.words)
    failed = [name for name, command in STEPS if not _is_sound(name, command)]
    failed += ["tests" for parts in STAGES if not _is_stage_sound(parts)]
    if failed:
        sys.stderr.write(f"failed: {', '.join(failed)}\n")
    return exits.FAILED if failed else exits.DONE


def _is_sound(name: str, command: Sequence[str]) -> bool:
    from synergy.cli.output import colour, say

    done = _module(command)
    verdict = colour("sound", "green") if done == 0 else colour("FAILED", "red")
    say(f"{name}: {verdict}")
    sys.stdout.flush()
    return done == 0


def _pytest(words: Sequence[str]) -> int:
    return exits.DONE if _module(("pytest", *words)) == 0 else exits.FAILED


def _is_stage_sound(parts: Sequence[Sequence[str]]) -> bool:
    """Runs parts side by side; what the others say is shown when the first has ended."""
    with ThreadPoolExecutor(len(parts)) as pool:
        others = [pool.submit(_beside, part) for part in parts[1:]]
        codes = [_module(("pytest", *parts[0]))]
        for other in others:
            code, said = other.result()
            codes.append(code)
            sys.stdout.write(said)
            sys.stdout.flush()
    return not any(codes)


def _beside(part: Sequence[str]) -> tuple[int, str]:
    """Runs a part of the tests aside: its exit code, and what it said."""
    with tempfile.TemporaryFile() as said:
        code = _module(("pytest", *part), said.fileno())
        said.seek(0)
        return code, said.read().decode(errors="replace")


def _module(command: Sequence[str], output: int | None = None) -> int:
    """The exit code of a module that is run in the project; it writes where we do, or there."""
    from synergy.compose import HERE

    return subprocess.run(
        [sys.executable, "-m", *command], cwd=HERE, check=False, stdout=output, stderr=output
    ).returncode
