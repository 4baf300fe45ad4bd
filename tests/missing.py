"""What this machine lacks for some tests: named where it is missed, and once more at the end.

A test without its server or browser is skipped; where `CI` is set it fails. At the end of a run
there is a line for each thing that was missing, which says what to install. Where several runs are
parts of one, `SYNERGY_TEST_MISSING` names a file in which they gather what was missing, and
`python3 -m tests.missing FILE` tells it for all of them.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NoReturn

import pytest

GATHERED = "SYNERGY_TEST_MISSING"
_REASON = re.compile(r"missing (?P<what>[^:]+): (?P<remedy>[^\n]+)")
Missing = Mapping[tuple[str, str], int]  # (what, remedy) → how many tests


def reason(what: str, remedy: str) -> str:
    """The reason of a skip that is told at the end of the run."""
    return f"missing {what}: {remedy}"


def lacking(what: str, remedy: str) -> NoReturn:
    """Skips the test, or fails it where `CI` is set."""
    if "CI" in os.environ:
        pytest.fail(reason(what, remedy))
    pytest.skip(reason(what, remedy))


def program(name: str, remedy: str) -> str:
    """The path of a program that the test cannot do without."""
    return shutil.which(name) or lacking(name, remedy)


def of_reasons(reasons: Iterable[str]) -> Counter[tuple[str, str]]:
    """What is missing, by the reasons of skips; others say nothing about the machine."""
    found = filter(None, map(_REASON.search, reasons))
    return Counter((match["what"], match["remedy"]) for match in found)


def lines(missing: Missing) -> list[str]:
    """A line for each thing that is missing."""
    tests: Counter[str] = Counter()
    for (what, _), number in missing.items():
        tests[what] += number
    remedies = dict(sorted(missing, reverse=True))
    return [
        f"skipped without {what}: {number} test{'s' if number > 1 else ''}; {remedies[what]}"
        for what, number in sorted(tests.items())
    ]


def gather(missing: Missing, file: Path) -> None:
    """Adds what a part of a run missed."""
    with file.open("a") as gathered:
        gathered.writelines(
            json.dumps([what, remedy, number]) + "\n" for (what, remedy), number in missing.items()
        )


def gathered(file: Path) -> Counter[tuple[str, str]]:
    """What all parts of a run missed."""
    found: Counter[tuple[str, str]] = Counter()
    for line in file.read_text().splitlines() if file.exists() else ():
        what, remedy, number = json.loads(line)
        found[what, remedy] += number
    return found


if __name__ == "__main__":
    sys.stdout.writelines(f"{line}\n" for line in lines(gathered(Path(sys.argv[1]))))
