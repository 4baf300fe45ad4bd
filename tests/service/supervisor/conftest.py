"""Fixtures of the supervisor: a home, a foreign process, supervisors driven by the test."""

from __future__ import annotations

import subprocess
import sys

import pytest

from synergy.supervisor.host import ProcessHost
from tests.service.supervisor.kit import Driver


@pytest.fixture
def home(tmp_path):
    yield tmp_path
    assert not ProcessHost(tmp_path, tmp_path).sweep()


@pytest.fixture
def bystander():
    """A process that the supervisor did not start."""
    process = subprocess.Popen([sys.executable, "-ISc", "import signal; signal.pause()"])
    yield process
    process.kill()
    process.wait()


@pytest.fixture
def drive():
    drivers = []

    def make(config, store=None):
        drivers.append(Driver(config, store))
        return drivers[-1]

    yield make
    for driver in drivers:
        driver.supervisor.close()
        driver.store.close()
