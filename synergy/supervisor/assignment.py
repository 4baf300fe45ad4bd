"""Which processes belong to a box, and which of them shall run now. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from synergy.model.box import Assignment
from synergy.model.control import ProcessControl
from synergy.model.process import DaemonProcess, Deployment, Process
from synergy.supervisor.states import Slot


def assigned(deployment: Deployment, box: str) -> list[str]:
    """The processes whose `present_on_boxes` has a pattern that matches the whole box id."""
    return [
        name
        for name, process in deployment.processes.items()
        if any(re.fullmatch(pattern, box) for pattern in process.present_on_boxes)
    ]


def belonging(deployment: Deployment, box: str) -> frozenset[Slot]:
    """The slots of the box, switched on or not."""
    return _slots(deployment, assigned(deployment, box))


def desired(
    deployment: Deployment,
    box: str,
    assignments: Sequence[Assignment],
    controls: Mapping[str, ProcessControl],
) -> frozenset[Slot]:
    """The slots that shall run: assigned by the context and switched on for the box.

    `is_on` of a managed process concerns its timetable, that of a free-run process its runs, so
    the workers of both run all the same; a daemon that is off does not run.
    """
    on_here = {a.process for a in assignments if a.box == box and a.is_on}
    names = [
        name
        for name in assigned(deployment, box)
        if name in on_here and _shall_run(deployment.processes[name], controls.get(name))
    ]
    return _slots(deployment, names)


def _shall_run(process: Process, control: ProcessControl | None) -> bool:
    if not isinstance(process, DaemonProcess):
        return True
    if control is not None and control.is_on is not None:
        return control.is_on
    return process.is_on


def _slots(deployment: Deployment, names: Sequence[str]) -> frozenset[Slot]:
    return frozenset(
        Slot(name, instance)
        for name in names
        for instance in range(1, deployment.processes[name].instances + 1)
    )
