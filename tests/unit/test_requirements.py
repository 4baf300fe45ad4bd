"""The locks pin all their packages by version and hash; the runtime lock suffices to run."""

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
EXTRAS = {"boto3", "botocore", "urllib3"}  # boto3 is optional, with what it needs
LOCKED = re.compile(
    r"^(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^ \\\n]+)(?: ; (?P<marker>[^\\\n]+))?"
    r"(?P<hashes>(?: \\\n    --hash=sha256:[0-9a-f]{64})*)\n",
    re.MULTILINE,
)
# One import a line, as ruff requires.
IMPORTED = re.compile(r"^ *(?:import|from(?= [\w.]+ import )) (\w+)", re.MULTILINE)


def locked(name: str) -> dict[str, re.Match[str]]:
    """Returns the packages of a lock by name."""
    text = (PROJECT / name).read_text()
    return {canonicalize_name(found["name"]): found for found in LOCKED.finditer(text)}


def inputs(name: str) -> list[Requirement]:
    """Returns the requirements that a lock is generated from."""
    lines = (PROJECT / name).with_suffix(".in").read_text().splitlines()
    written = [line.partition("#")[0].strip() for line in lines]
    return [Requirement(line) for line in written if line]


@pytest.mark.parametrize("name", [RUNTIME, TEST])
def test_a_lock_pins_the_versions_of_its_input(name: str) -> None:
    lock = locked(name)
    assert inputs(name)
    for wanted in inputs(name):
        assert str(wanted.specifier) == f"=={lock[canonicalize_name(wanted.name)]['version']}"


@pytest.mark.parametrize("name", [RUNTIME, TEST])
def test_a_lock_contains_only_packages_with_hashes_and_no_index(name: str) -> None:
    text = (PROJECT / name).read_text()
    rest = LOCKED.sub("", text).splitlines()
    assert [line for line in rest if not line.lstrip().startswith("#")] == []
    assert all(found["hashes"] for found in LOCKED.finditer(text))
    assert not re.search(r"://|--(extra-)?index|--find-links|--trusted-host", text)


@pytest.mark.parametrize("name", [RUNTIME, TEST])
def test_a_lock_contains_all_dependencies_of_its_packages(name: str) -> None:
    lock = locked(name)
    here = [package for package, found in lock.items() if is_for_here(found["marker"])]
    for package in here:
        for wanted in map(Requirement, requires(package) or ()):
            if wanted.marker is None or wanted.marker.evaluate({"extra": ""}):
                assert canonicalize_name(wanted.name) in lock, f"{package} needs {wanted}"


def is_for_here(marker: str | None) -> bool:
    return marker is None or bool(Requirement(f"any ; {marker}").marker.evaluate())  # type: ignore[union-attr]


def test_packages_in_both_locks_have_the_same_version() -> None:
    runtime, test = locked(RUNTIME), locked(TEST)
    assert {name: test[name]["version"] for name in runtime.keys() & test.keys()} == {
        name: runtime[name]["version"] for name in runtime.keys() & test.keys()
    }


def test_the_runtime_lock_contains_every_package_that_the_code_imports() -> None:
    places = [
        PROJECT / "context.py",
        *(PROJECT / name for name in ("synergy", "workers", "settings")),
    ]
    files = [
        file
        for place in places
        for file in (place.rglob("*.py") if place.is_dir() else [place])
        if "tests" not in file.parts[len(PROJECT.parts) :]  # of the template of a project
    ]
    lock, distributions = locked(RUNTIME), packages_distributions()
    own = {"synergy", "workers", "settings", "context"} | set(sys.stdlib_module_names)
    own.add("backports" if sys.version_info >= (3, 14) else "compression")  # one of the two
    missing = {
        f"{file.relative_to(PROJECT)}: {module}"
        for file in files
        for module in imported(file)
        if module not in own | EXTRAS
        and not any(canonicalize_name(name) in lock for name in distributions.get(module, ()))
    }
    assert missing == set()


def imported(file: Path) -> set[str]:
    """Returns the top-level modules that a file imports, at any place."""
    return set(IMPORTED.findall(file.read_text()))
