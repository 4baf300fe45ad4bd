"""What this machine lacks is skipped by name, fails in CI, and is told once at the end of a run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).parents[2]
TESTS = """
import pytest
from tests.missing import lacking, program, reason

@pytest.fixture(scope="session")
def broker():
    lacking("RabbitMQ", "install rabbitmq-server\\nand this is why it does not start")

def test_one(broker): ...
def test_two(broker): ...
def test_three(): program("no-such-program", "install it")
def test_four(): pytest.skip("of no account")
@pytest.mark.skipif(True, reason=reason("a network", "buy a cable"))
def test_five(): ...
"""
TOLD = [
    "skipped without RabbitMQ: 2 tests; install rabbitmq-server",
    "skipped without a network: 1 test; buy a cable",
    "skipped without no-such-program: 1 test; install it",
]


def run(*command: object, **more: str) -> subprocess.CompletedProcess[str]:
    kept = {k: v for k, v in os.environ.items() if k not in ("CI", "SYNERGY_TEST_MISSING")}
    return subprocess.run(
        [sys.executable, "-m", *map(str, command)],
        cwd=PROJECT,
        env={**kept, **more},
        capture_output=True,
        text=True,
    )


def pytest_on(folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_it.py").write_text(TESTS)
    options = ("-q", "-p", "tests.conftest", "-p", "no:cacheprovider", "-c", os.devnull)
    return run("pytest", *options, "--rootdir", folder, folder / "test_it.py", **more)


def test_what_is_missing_is_skipped_and_told_with_what_to_do(tmp_path: Path) -> None:
    done = pytest_on(tmp_path)

    assert done.returncode == 0, done.stdout
    assert done.stdout.splitlines()[-4:-1] == TOLD
    assert "5 skipped" in done.stdout


def test_where_nothing_may_be_missing_it_fails(tmp_path: Path) -> None:
    done = pytest_on(tmp_path, CI="true")

    assert done.returncode == 1
    assert "missing RabbitMQ: install rabbitmq-server" in done.stdout
    for counted in ("1 failed", "2 skipped", "2 errors"):
        assert counted in done.stdout.splitlines()[-1]


def test_parts_of_a_run_gather_what_they_miss_and_it_is_told_once(tmp_path: Path) -> None:
    file = tmp_path / "missing"
    for _ in range(2):
        done = pytest_on(tmp_path, SYNERGY_TEST_MISSING=str(file))
        assert "skipped without" not in done.stdout

    assert run("tests.missing", file).stdout.splitlines() == [
        line.replace("2 tests", "4 tests").replace("1 test;", "2 tests;") for line in TOLD
    ]
    assert run("tests.missing", tmp_path / "none").stdout == ""
