"""The convention between a process and its supervisor about a process that has grown too large.

It ends in good order with `EXIT_CODE`. The supervisor starts another one at once, and counts no
death unless it lived for less than `LEAST_SECONDS`.
"""

from __future__ import annotations

from typing import Final

LEAST_SECONDS: Final = 10.0
EXIT_CODE: Final = 79  # none of those that sysexits defines
