"""The processes that belong to a box, and those of them that are to run now. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from synergy.model.box import Assignment
from synergy.model.process import Deployment
from synergy.model.process_control import ProcessControl
from synergy.model.switches import belongs, running_on
from synergy.supervisor.states import Slot


def assigned(deployment: Deployment, box: str) -> list[str]:
    """The processes whose `present_on_boxes` has a pattern that matches the whole box id."""
    return [name for name, process in deployment.processes.items() if belongs(process, box)]


def belonging(deployment: Deployment, box: str) -> frozenset[Slot]:
    """The slots of the box, switched on or not."""
    return _slots(deployment, assigned(deployment, box))


def desired(
    deployment: Deployment,
    box: str,
    assignments: Sequence[Assignment],
    controls: Mapping[str, ProcessControl],
) -> frozenset[Slot]:
    """The slots that are to run: assigned by the context and switched on for the box."""
    return _slots(deployment, running_on(deployment, box, assignments, controls))


def _slots(deployment: Deployment, names: Sequence[str]) -> frozenset[Slot]:
    return frozenset(
        Slot(name, instance)
        for name in names
        for instance in range(1, deployment.processes[name].instances + 1)
    )
