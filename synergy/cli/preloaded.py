"""The program of the fork server: `python -m synergy.cli.preloaded MODULE...`.

It imports what the processes of a deployment have in common, and the given modules, which are
those of the engines in use; never one of the project, so that every process reads its project at
its start.
"""

from __future__ import annotations

import gc
import importlib
import sys
from collections.abc import Sequence
from typing import NoReturn

from synergy import compose
from synergy.cli import main, process
from synergy.supervisor.fork_server import serve

COMMON = (
    "locale",
    "synergy.commands.store_copy_state",
    "synergy.runtime.logs",
    "synergy.runtime.masked_output",
    "synergy.runtime.process_memory",
    "synergy.runtime.workplace",
    "synergy.supervisor.ready",
    "synergy.worker.command",
    "synergy.worker.unit_runner",
)


def load(modules: Sequence[str]) -> None:
    """Imports what all processes need, and these modules."""
    gc.set_threshold(*main.GC_THRESHOLDS)
    for module in (*COMMON, *modules):
        importlib.import_module(module)


def run() -> NoReturn:
    """Serves as the fork server, and runs the process in each process that it forks."""
    command, process.prepared = serve(compose.open_project)
    sys.exit(main.outcome(command[command.index("process") :], process.run_supervised))


if __name__ == "__main__":
    load(sys.argv[1:])
    run()
