"""A supervised process ends although threads that its work began go on."""

from __future__ import annotations

import subprocess
import sys

import pytest

from synergy.runtime import retirement

SCRIPT = """
import sys, threading, time
from argparse import Namespace
from types import SimpleNamespace
from synergy import compose
from synergy.cli import process
from synergy.runtime import leftover_threads

def run(*_, **__):
    threading.Thread(target=time.sleep, args=({work},)).start()
    {end}

leftover_threads.SECONDS = {seconds}
compose.run_process = run
one = SimpleNamespace(name="A", instances=1)
process.prepared = SimpleNamespace(process=lambda name: one)
sys.exit(process.run_start(Namespace(console=True, name="A", instance=1, dry_run=False)))
"""


def ended(monkeypatch, end: str, *, work: float = 30.0, seconds: float = 0.2):
    """The end of a supervised process whose work began a thread that takes `work` seconds."""
    monkeypatch.setenv("SYNERGY_RUN", "a-marker")
    script = SCRIPT.format(work=work, end=end, seconds=seconds)
    return subprocess.run(
        [sys.executable, "-c", script], timeout=20, check=False, capture_output=True, text=True
    )


@pytest.mark.parametrize(
    ("end", "code"),
    [
        ("return True", 0),
        ("return False", 1),
        (f"raise SystemExit({retirement.EXIT_CODE})", retirement.EXIT_CODE),
        ("raise RuntimeError", 1),
    ],
)
def test_a_process_with_a_thread_that_goes_on_ends_with_its_exit_code(monkeypatch, end, code):
    done = ended(monkeypatch, end)
    assert done.returncode == code
    assert "went on after its end" in done.stderr


def test_threads_that_end_in_time_are_waited_for(monkeypatch):
    done = ended(monkeypatch, "return True", work=0.1, seconds=10.0)
    assert (done.returncode, done.stderr) == (0, "")
