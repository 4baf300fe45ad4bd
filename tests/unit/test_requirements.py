"""The locks hold all that they are made from, by version and hash; the first is enough to run."""

from __future__ import annotations

import re
import sys
from importlib.metadata import packages_distributions, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PROJECT = Path(__file__).parents[2]
RUNTIME, TEST = "requirements.txt", "requirements-test.txt"
EXTRAS = {"boto3", "botocore"}  # imported when they are asked for; the message says what to do
LOCKED = re.compile(
    r"^(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^ \\\n]+)(?: ; (?P<marker>[^\\\n]+))?"
    r"(?P<hashes>(?: \\\n    --hash=sha256:[0-9a-f]{64})*)\n",
    re.MULTILINE,
)
# One a line, as ruff wants it.
IMPORTED = re.compile(r"^ *(?:import|from(?= [\w.]+ import )) (\w+)", re.MULTILINE)


def locked(name: str) -> dict[str, re.Match[str]]:
    """The packages of a lock."""
    text = (PROJECT / name).read_text()
    return {canonicalize_name(found["name"]): found for found in LOCKED.finditer(text)}


def inputs(name: str) -> list[Requirement]:
    """What a lock is made from."""
    lines = (PROJECT / name).with_suffix(".in").read_text().splitlines()
    written = [line.partition("#")[0].strip() for line in lines]
    return [Requirement(line) for line in written if line]


@pytest.mark.parametrize("name", [RUNTIME, TEST])
def test_a_lock_has_what_it_is_made_from_by_version(name: str) -> None:
    lock = locked(name)
    assert inputs(name)
    for wanted in inputs(name):
        assert str(wanted.specifier) == f"=={lock[canonicalize_name(wanted.name)]['version']}"


@pytest.mark.parametrize("name", [RUNTIME, TEST])
def test_a_lock_is_nothing_but_packages_with_hashes_and_names_no_index(name: str) -> None:
    text = (PROJECT / name).read_text()
    rest = LOCKED.sub("", text).splitlines()
    assert [line for line in rest if not line.lstrip().startswith("#")] == []
    assert all(found["hashes"] for found in LOCKED.finditer(text))
    assert not re.search(r"://|--(extra-)?index|--find-links|--trusted-host", text)


@pytest.mark.parametrize("name", [RUNTIME, TEST])
def test_a_lock_has_all_that_its_packages_pull_in(name: str) -> None:
    lock = locked(name)
    here = [package for package, found in lock.items() if is_for_here(found["marker"])]
    for package in here:
        for wanted in map(Requirement, requires(package) or ()):
            if wanted.marker is None or wanted.marker.evaluate({"extra": ""}):
                assert canonicalize_name(wanted.name) in lock, f"{package} needs {wanted}"


def is_for_here(marker: str | None) -> bool:
    return marker is None or bool(Requirement(f"any ; {marker}").marker.evaluate())  # type: ignore[union-attr]


def test_what_both_locks_have_is_of_one_version() -> None:
    runtime, test = locked(RUNTIME), locked(TEST)
    assert {name: test[name]["version"] for name in runtime.keys() & test.keys()} == {
        name: runtime[name]["version"] for name in runtime.keys() & test.keys()
    }


def test_what_runs_imports_nothing_but_what_the_runtime_has() -> None:
    places = [
        PROJECT / "context.py",
        *(PROJECT / name for name in ("synergy", "workers", "settings")),
    ]
    files = [
        file for place in places for file in (place.rglob("*.py") if place.is_dir() else [place])
    ]
    lock, distributions = locked(RUNTIME), packages_distributions()
    own = {"synergy", "workers", "settings", "context"} | set(sys.stdlib_module_names)
    missing = {
        f"{file.relative_to(PROJECT)}: {module}"
        for file in files
        for module in imported(file)
        if module not in own | EXTRAS
        and not any(canonicalize_name(name) in lock for name in distributions.get(module, ()))
    }
    assert missing == set()


def imported(file: Path) -> set[str]:
    """The top-level modules that a file imports, wherever it does."""
    return set(IMPORTED.findall(file.read_text()))
