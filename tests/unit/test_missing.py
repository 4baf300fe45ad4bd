"""Tests that lack a program are skipped, fail in CI, and are summarized at the end of a run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.acceptance.forked import call

TESTS = """
import pytest
from tests.missing import lacking, program, reason

@pytest.fixture(scope="session")
def broker():
    lacking("RabbitMQ", "install rabbitmq-server\\nor name one")

def test_one(broker): ...
def test_two(broker): ...
def test_three(): program("a-program", "install it")
def test_four(): pytest.skip("another reason")
@pytest.mark.skipif(True, reason=reason("network", "buy a cable"))
def test_five(): ...
"""
SUMMARY = [
    "skipped: 2 tests: no RabbitMQ: install rabbitmq-server or name one",
    "skipped: 1 test: no a-program: install it",
    "skipped: 1 test: no network: buy a cable",
]


def pytest_on(folder: Path, **more: str) -> tuple[int, str]:
    """Returns the exit code and the output."""
    (folder / "test_it.py").write_text(TESTS)
    options = ["-q", "-p", "tests.conftest", "-p", "no:cacheprovider", "-c", os.devnull]
    place = ["--rootdir", str(folder), str(folder / "test_it.py")]
    kept = {name: value for name, value in os.environ.items() if name != "CI"}
    code, out, _ = call(lambda: pytest.main([*options, *place]), {**kept, **more}, limit=60)
    return code, out


def test_tests_that_lack_a_program_are_skipped_with_the_remedy(tmp_path: Path) -> None:
    code, output = pytest_on(tmp_path)

    assert code == 0, output
    assert output.splitlines()[-4:-1] == SUMMARY
    assert "5 skipped" in output


def test_in_ci_tests_that_lack_a_program_fail(tmp_path: Path) -> None:
    code, output = pytest_on(tmp_path, CI="true")

    assert code == 1
    assert "no RabbitMQ: install rabbitmq-server" in output
    for counted in ("1 failed", "2 skipped", "2 errors"):
        assert counted in output.splitlines()[-1]
