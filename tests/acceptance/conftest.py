"""Homes for tests; no process may be left in them when the tests are over."""

from __future__ import annotations

from contextlib import contextmanager

import pytest

from tests.acceptance.kit import Home


@contextmanager
def homes_in(folder):
    """Makes homes; each is stopped at the end, and must leave no process behind."""
    made = []

    def make(name="home", **variables):
        made.append(Home(folder / name, **variables))
        return made[-1]

    try:
        yield make
    finally:
        for home in made:
            home.end()


@pytest.fixture
def homes(tmp_path):
    """Homes of a single test."""
    with homes_in(tmp_path) as make:
        yield make


@pytest.fixture(scope="module")
def module_homes(tmp_path_factory):
    """Homes that the tests of a module share."""
    with homes_in(tmp_path_factory.mktemp("homes")) as make:
        yield make
