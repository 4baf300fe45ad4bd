"""What the fork server imports before it forks: nothing of the project, and no threads."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from synergy.storage import sqlite

PROJECT = Path(__file__).resolve().parents[2]
SEES = """
import importlib, json, os, sys
from synergy.cli.preloaded import COMMON
for module in (*COMMON, *sys.argv[1:]):
    importlib.import_module(module)
files = {name: getattr(module, "__file__", None) for name, module in sys.modules.items()}
print(json.dumps([files, len(os.listdir("/proc/self/task"))]))
"""


def test_no_module_of_the_project_is_imported_before_a_fork():
    command = [sys.executable, "-c", SEES, sqlite.__name__, "synergy.messaging.stored"]
    seen = subprocess.run(command, cwd=PROJECT, check=True, capture_output=True, text=True)

    files, threads = json.loads(seen.stdout)
    ours = {
        name.partition(".")[0]
        for name, file in files.items()
        if file and Path(file).is_relative_to(PROJECT) and "site-packages" not in file
    }
    assert ours == {"synergy"}
    assert threads == 1
