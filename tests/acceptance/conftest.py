"""A home for each test, which is found empty of processes when the test is over."""

from __future__ import annotations

import pytest

from tests.acceptance.kit import Home


@pytest.fixture
def homes(tmp_path):
    """Makes homes; each is stopped at the end, and must leave no process behind."""
    made = []

    def make(name="home", **variables):
        made.append(Home(tmp_path / name, **variables))
        return made[-1]

    yield make
    for home in made:
        home.end()
