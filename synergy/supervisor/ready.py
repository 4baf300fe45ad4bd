"""How a supervised process says that it is ready.

The supervisor hands each process the writing end of a pipe, whose number stands in
`SYNERGY_READY_FD`. A byte in it means: started up, at work. A program that knows nothing of
this counts as running after some seconds of life, which are more than any of Synergy's own
needs on a busy machine: who starts the system is told where the dashboard is when it is there.
"""

from __future__ import annotations

import os

READY_FD = "SYNERGY_READY_FD"


def tell_ready() -> None:
    """Tells the supervisor, if there is one, that this process is at work; once only."""
    number = os.environ.pop(READY_FD, "")
    if not number.isdigit():
        return
    try:
        os.write(int(number), b"1")
        os.close(int(number))
    except OSError:
        return  # the supervisor is gone, or this is a copy of the environment without the pipe
