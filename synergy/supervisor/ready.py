"""How a supervised process reports that it is ready.

The supervisor passes each process the writing end of a pipe, whose number is in
`SYNERGY_READY_FD`. A byte in it means that the process has started up. A program that does not
use it counts as running after `Timing.ready_after` seconds, which is more than any process of
Synergy's own needs on a busy machine.
"""

from __future__ import annotations

import os

READY_FD = "SYNERGY_READY_FD"


def report_ready() -> None:
    """Reports to the supervisor, if there is one, that this process is ready; once only."""
    number = os.environ.pop(READY_FD, "")
    if not number.isdigit():
        return
    try:
        os.write(int(number), b"1")
        os.close(int(number))
    except OSError:
        return  # the supervisor has ended, or the environment was copied without the pipe
