"""Skips tests whose server, browser or program this machine lacks, and lists what is missing.

A test without its server or browser is skipped; where `CI` is set it fails. The reason says what
is missing and what to do, in one line: `no RabbitMQ: install rabbitmq-server`. At the end of a run
there is a line for each thing that was missing.
"""

from __future__ import annotations

import os
import re
import shutil
from collections import Counter
from collections.abc import Iterable
from typing import NoReturn

import pytest

_REASON = re.compile(r"(?:Skipped: )?no (?P<what>[^:\n]+): (?P<remedy>[^\n]+)")


def reason(what: str, remedy: str) -> str:
    """The reason of a skip that is listed at the end of the run."""
    return f"no {what}: {' '.join(remedy.split())}"


def lacking(what: str, remedy: str) -> NoReturn:
    """Skips the test, or fails it where `CI` is set."""
    if "CI" in os.environ:
        pytest.fail(reason(what, remedy))
    pytest.skip(reason(what, remedy))


def program(name: str, remedy: str) -> str:
    """The path of a program that the test needs."""
    return shutil.which(name) or lacking(name, remedy)


def lines(reasons: Iterable[str]) -> list[str]:
    """A line for each missing thing that the reasons name; skips for other reasons are ignored."""
    found = [match for match in map(_REASON.match, reasons) if match]
    tests = Counter(match["what"] for match in found)
    remedies = {match["what"]: match["remedy"] for match in found}
    return [
        f"skipped: {number} test{'s' if number > 1 else ''}: no {what}: {remedies[what]}"
        for what, number in sorted(tests.items())
    ]
