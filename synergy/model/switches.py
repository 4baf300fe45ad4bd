"""Whether processes are switched on, and shall run on a box."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from synergy.model.box import Assignment
from synergy.model.process import DaemonProcess, Deployment, Process
from synergy.model.process_control import ProcessControl


def is_switched_on(process: Process, control: ProcessControl | None) -> bool:
    """Whether a process is switched on: as set by an operator, or else as declared."""
    return process.is_on if control is None or control.is_on is None else control.is_on


def belongs(process: Process, box: str) -> bool:
    """Whether a process has a pattern that matches the whole box id."""
    return matches(process.present_on_boxes, box)


def matches(patterns: Collection[str], box: str) -> bool:
    """Whether one of the patterns matches the whole box id."""
    return any(re.fullmatch(pattern, box) for pattern in patterns)


def shall_run(process: Process, box: str, control: ProcessControl | None) -> bool:
    """Whether a process that is switched on for a box shall run there.

    `is_on` of a managed process concerns its jobs, that of a free-run process its runs: their
    workers run in any case. A daemon that is off does not run.
    """
    is_off = isinstance(process, DaemonProcess) and not is_switched_on(process, control)
    return belongs(process, box) and not is_off


def running_on(
    deployment: Deployment,
    box: str,
    assignments: Sequence[Assignment],
    controls: Mapping[str, ProcessControl],
) -> list[str]:
    """The processes that are to run on a box: assigned by the context and switched on for it."""
    on_here = {a.process for a in assignments if a.box == box and a.is_on}
    return [
        name
        for name, process in deployment.processes.items()
        if name in on_here and shall_run(process, box, controls.get(name))
    ]
