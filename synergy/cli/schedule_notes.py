"""Notes of commands about schedules: what keeps their runs from being launched."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from synergy.cli import output
from synergy.cli.services import START, Services
from synergy.program import PROGRAM

if TYPE_CHECKING:
    from synergy.model.schedule import Schedule

NO_AGENT = "no agent is at work, so nothing is triggered or sent"


def note_if_no_agent(at: Services) -> None:
    """Prints a note if no agent is at work, as far as this machine can tell."""
    from synergy.runtime.shared_parts import DECIDER, is_lease_led

    if not is_lease_led(at.store, DECIDER):
        output.note(f"{NO_AGENT}: {START}, or {PROGRAM} box start Agent")


def note_if_run_nowhere(at: Services, schedules: Sequence[Schedule]) -> None:
    """Names the processes of these schedules that run on no known box."""
    from synergy.commands.store_usage import run_nowhere

    programs = {one.process for one in schedules if one.process is not None}
    for process in run_nowhere(at.store, programs) if programs else ():
        output.note(
            f"no box that ever reported runs {process}, so its runs will wait: {PROGRAM} process "
            f"show {process}; {PROGRAM} reload has a box read context.py again"
        )
