"""The name of the program, for commands in messages: `launch.py`, or `synergy` if it is installed.

The process that a person starts sets it; the processes that it starts inherit it.
"""

from __future__ import annotations

import os

VARIABLE = "SYNERGY_PROGRAM"
LAUNCHER = "launch.py"
PACKAGE = "synergy-timetable"
"""Its name for pip: on PyPI, `synergy` is another package."""

PROGRAM = os.environ.get(VARIABLE, LAUNCHER)
