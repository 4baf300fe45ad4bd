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
    lacking("RabbitMQ", "install rabbitmq-server\\nor name one")

def test_one(broker): ...
def test_two(broker): ...
def test_three(): program("a-program", "install it")
def test_four(): pytest.skip("of no account")
@pytest.mark.skipif(True, reason=reason("network", "buy a cable"))
def test_five(): ...
"""
TOLD = [
    "skipped: 2 tests: no RabbitMQ: install rabbitmq-server or name one",
    "skipped: 1 test: no a-program: install it",
    "skipped: 1 test: no network: buy a cable",
]


def pytest_on(folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_it.py").write_text(TESTS)
    options = ("-q", "-p", "tests.conftest", "-p", "no:cacheprovider", "-c", os.devnull)
    kept = {name: value for name, value in os.environ.items() if name != "CI"}
    return subprocess.run(
        [sys.executable, "-m", "pytest", *options, "--rootdir", folder, folder / "test_it.py"],
        cwd=PROJECT,
        env={**kept, **more},
        capture_output=True,
        text=True,
    )


def test_what_is_missing_is_skipped_and_told_with_what_to_do(tmp_path: Path) -> None:
    done = pytest_on(tmp_path)

    assert done.returncode == 0, done.stdout
    assert done.stdout.splitlines()[-4:-1] == TOLD
    assert "5 skipped" in done.stdout


def test_where_nothing_may_be_missing_it_fails(tmp_path: Path) -> None:
    done = pytest_on(tmp_path, CI="true")

    assert done.returncode == 1
    assert "no RabbitMQ: install rabbitmq-server" in done.stdout
    for counted in ("1 failed", "2 skipped", "2 errors"):
        assert counted in done.stdout.splitlines()[-1]
