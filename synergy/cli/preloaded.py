"""The program of the fork server: `python -m synergy.cli.preloaded COUNT MODULE...`.

It imports what the processes of a deployment have in common, and the given modules, which are those
of the engines in use; never one of the project, so that every process reads its project anew. COUNT
words of a command to fork are the program; the others are its command line.
"""

from __future__ import annotations

import importlib
import sys

from synergy.cli import main
from synergy.supervisor.fork_server import serve

COMMON = (
    "synergy.cli.process",
    "synergy.compose",
    "synergy.runtime.logs",
    "synergy.runtime.workplace",
    "synergy.supervisor.ready",
)

if __name__ == "__main__":
    for module in (*COMMON, *sys.argv[2:]):
        importlib.import_module(module)
    count = int(sys.argv[1])
    sys.exit(main.main(serve()[count:]))
