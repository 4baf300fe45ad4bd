"""`launch.py test`: the whole check, or only pytest with the arguments given."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from launch import PROJECT
from synergy.cli import exits
from tests.runner.parts import Part, Runner, conclude

EXAMPLE = """example:
  launch.py test                              everything that has to be sound
  launch.py test tests/unit -k timeperiod     only pytest, with these arguments
"""
STEPS = (
    ("format", ("ruff", "format", "--check", ".")),
    ("lint", ("ruff", "check", ".")),
    ("types", ("mypy",)),
)
_SERVICES = "tests/service"
_OF_SERVERS = tuple(
    f"{_SERVICES}/{name}" for name in ("test_bench.py", "test_rabbitmq_work.py", "store_copy")
)
_EXCHANGES = "tests/delivery/test_exchange.py"
_STORES = ("tests/contract", *_OF_SERVERS, _EXCHANGES)
_MX = "tests/mx"
_SYSTEMS = "tests/acceptance"
_BROWSER = ("tests/mx/browser", "tests/acceptance/browser")
_BOXES = "tests/acceptance/boxes"
_FAULTS = tuple(
    f"{_SYSTEMS}/test_{name}.py"
    for name in (
        "access_log",
        "failures",
        "hangs",
        "kill",
        "mx_lives",
        "random_faults",
        "schedules",
    )
)


def _without(*paths: str) -> tuple[str, ...]:
    return tuple(f"--ignore={path}" for path in paths)


# The longest first.
PARTS = (
    Part("three boxes", (_BOXES,), is_real=True),
    Part("services", (_SERVICES, *_without(*_OF_SERVERS))),
    Part("the access log, and faults", _FAULTS, is_real=True),
    Part("stores, buses and benches", _STORES),
    Part("MX", (_MX, *_without(_BROWSER[0]))),
    Part("a browser", _BROWSER, is_real=True),
    Part("all other tests", _without("tests/contract", _SERVICES, _MX, _SYSTEMS, _EXCHANGES)),
    Part("real systems", (_SYSTEMS, *_without(_BOXES, _BROWSER[1], *_FAULTS)), is_real=True),
)


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
        """Passes all words but `-h` to pytest: argparse does not know its options."""
        if {"-h", "--help"} & set(words):
            parser.print_help()
            parser.exit()
        namespace = namespace or argparse.Namespace()
        namespace.run = run
        namespace.words = [word for word in words if word != "--debug"]
        return namespace, []

    parser.parse_known_args = take_all


def run(arguments: argparse.Namespace) -> int:
    """Runs all steps, even if one fails; returns 1 if any failed."""
    if arguments.words:
        return _pytest(arguments.words)
    with ThreadPoolExecutor(1) as beside:  # the steps use one processor while tests wait
        steps = beside.submit(_failed_steps)
        summary = Runner(PROJECT).run(PARTS)
    failed = steps.result()
    conclude(summary)
    if not summary.is_sound:
        failed.append("tests")
    if failed:
        sys.stderr.write(f"failed: {', '.join(failed)}\n")
    return exits.FAILED if failed else exits.DONE


def _failed_steps() -> list[str]:
    return [name for name, command in STEPS if not _is_sound(name, command)]


def _is_sound(name: str, command: Sequence[str]) -> bool:
    from synergy.cli.output import colour, say

    done = _module(command)
    verdict = colour("sound", "green") if done == 0 else colour("FAILED", "red")
    say(f"{name}: {verdict}")
    sys.stdout.flush()
    return done == 0


def _pytest(words: Sequence[str]) -> int:
    return exits.DONE if _module(("pytest", *words)) == 0 else exits.FAILED


def _module(command: Sequence[str]) -> int:
    """Runs a module in the folder of the project; returns its exit code."""
    return subprocess.run([sys.executable, "-m", *command], cwd=PROJECT, check=False).returncode
