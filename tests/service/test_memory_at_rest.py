"""What keeps processes small that have nothing to do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from synergy.cli import main, process
from synergy.compose import open_project, supervisor_config

PROJECT = Path(__file__).resolve().parents[2]
AGENT = """
import sys
from synergy.agent.agent import Agent
from synergy.clock import SystemClock
from synergy.delivery.late_sender import LateSender
from synergy.delivery.options import Options
sender = LateSender(Options(), SystemClock())
print(*sorted({"asyncio", "ssl"} & sys.modules.keys()))
sender.room("https://example.org/")
print(*sorted({"asyncio", "ssl"} & sys.modules.keys()))
sender.close(0)
print(sender.room("https://example.org/"))
"""
RELEASES = """
from synergy.runtime.process_memory import own_memory, release_free_memory
blocks = [bytes(60_000) for _ in range(500)]
kept = bytes(60_000)  # above the others in the heap
before = own_memory()
blocks.clear()
release_free_memory()
print(before - own_memory())
"""


def outcome(program):
    command = [sys.executable, "-c", program]
    ran = subprocess.run(command, cwd=PROJECT, check=True, capture_output=True, text=True)
    return ran.stdout.splitlines()


def test_an_agent_has_an_event_loop_only_once_there_is_a_delivery():
    assert outcome(AGENT) == ["", "asyncio ssl", "0"]


def test_free_memory_is_returned_although_something_above_it_is_used():
    (released,) = outcome(RELEASES)
    assert int(released) > 20 << 20


def test_a_supervised_process_is_that_of_the_command_although_it_is_not_parsed(
    monkeypatch, tmp_path
):
    seen = []
    monkeypatch.setattr(process, "_run_here", lambda arguments: seen.append(arguments) or 0)
    project = open_project(PROJECT, {"SYNERGY_HOME": str(tmp_path)})
    command = supervisor_config(project).command("Scheduler", 2)
    argv = command[command.index("process") :]

    process.run_supervised(argv)
    process.run_start(main._parser("process").parse_args(argv))

    ours, parsed = map(vars, seen)
    assert ours["name"] == "Scheduler"
    assert ours == {name: parsed.get(name, False) for name in ours}
