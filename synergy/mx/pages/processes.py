"""The pages of processes: declaration, switches and state."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

from fastapi import Request
from fastapi.responses import HTMLResponse

from synergy.errors import Refused
from synergy.model.process import (
    Deployment,
    FreerunProcess,
    ManagedProcess,
    OnFailure,
    Process,
    StateMachine,
    WorkingProcess,
)
from synergy.mx.access import Viewer
from synergy.mx.pages.journal_rows import journal_rows
from synergy.mx.pages.render import page
from synergy.mx.routing import Router
from synergy.mx.services import Services, ServicesDep
from synergy.queries.views import BoxProcess, BoxView, LevelView, ProcessView
from synergy.runtime.masking import mask
from synergy.schedule.format.literals import readable_duration

router = Router()

ENTRIES = 12  # journal entries that are shown with a process
_ON_FAILURE = {
    OnFailure.BLOCK: "blocks what is made from it (on_failure: block)",
    OnFailure.SKIP: "is given up; what is made from it continues (on_failure: skip)",
}


@dataclass(frozen=True, slots=True)
class Group:
    """A group of processes: a tree, or a kind."""

    title: str
    tree: str | None
    processes: tuple[ProcessView, ...]


@router.get("/processes")
def show_processes(
    request: Request, services: ServicesDep, _: Viewer, part: bool = False
) -> HTMLResponse:
    """All processes; `part`: only the list, to update a page."""
    template = "_processes.html" if part else "processes.html"
    return page(request, template, groups=grouped(services.reads.processes(), services.deployment))


@router.get("/processes/{name}")
def show_process(
    request: Request, services: ServicesDep, _: Viewer, name: str, part: bool = False
) -> HTMLResponse:
    """The page of a process."""
    view = services.reads.process(name)
    declared = services.deployment.processes[name]
    return page(
        request,
        "_process_part.html" if part else "process.html",
        is_part=part,
        has_log=not part and any(log.name == name for log in services.logs.all()),
        process=view,
        command=_command(declared),
        facts=facts(declared),
        level=_level(services, view),
        boxes=_placed(services.reads.boxes(), name),
        rows=journal_rows(services.reads.journal(name, limit=ENTRIES).items, services.deployment),
    )


def grouped(views: Iterable[ProcessView], deployment: Deployment) -> list[Group]:
    """Processes by tree, from coarse to fine; then free-run processes, then daemons."""
    named = {view.name: view for view in views}
    groups = [
        Group(tree.mx_name or tree.name, tree.name, tuple(named[name] for name in tree.processes))
        for tree in deployment.trees.values()
    ]
    for kind, title in (("freerun", "By schedule or on request"), ("daemon", "Always running")):
        some = tuple(view for view in named.values() if view.kind == kind)
        groups.append(Group(title, None, some))
    return [group for group in groups if group.processes]


def facts(process: Process) -> list[tuple[str, str]]:
    """The declaration of a process in `context.py`, in words."""
    found = [("Instances on a box", _instances(process))]
    if process.classname:
        found.append(("Program", process.classname))
    if isinstance(process, ManagedProcess):
        found += _managed_facts(process)
    if isinstance(process, ManagedProcess | FreerunProcess):
        found += [
            ("Attempts", str(process.max_attempts)),
            ("Life support", _duration(process.life_support)),
            ("Timeout", "none" if process.timeout is None else _duration(process.timeout)),
        ]
    return [*found, ("Runs on boxes", ", ".join(process.present_on_boxes))]


def _instances(process: Process) -> str:
    if isinstance(process, WorkingProcess) and process.is_pooled:
        return f"in the pool, at most {process.max_active} at once"
    return str(process.instances)


def _managed_facts(process: ManagedProcess) -> list[tuple[str, str]]:
    return [
        ("Reads", process.source or "nothing"),
        ("Writes", process.sink or "nothing"),
        ("Works", f"{process.state_machine.value}, {process.max_active} periods at once"),
        ("Waits for", f"{process.blocking.value} dependencies"),
        ("Settles", _duration(process.settle)),
        ("Is late after", _duration(process.settle + process.resubmit_after)),
        ("Late data", process.late_data.value),
        ("A failed period", _ON_FAILURE[process.on_failure]),
        ("Is tried again", _retried(process)),
        ("Interim runs", _refreshed(process)),
    ]


def _retried(process: ManagedProcess) -> str:
    if process.on_failure is OnFailure.SKIP:
        return "when it is reprocessed"
    if process.retry_failed is None:
        return "on request, or when its source grows"
    return f"automatically after {_duration(process.retry_failed)}"


def _refreshed(process: ManagedProcess) -> str:
    if process.state_machine is not StateMachine.CONTINUOUS:
        return "none"
    if process.refresh is None:
        return "when it is triggered, while the period is open"
    return f"at least {_duration(process.refresh)} apart, while the period is open"


def _command(process: Process) -> str:
    """The command of its units, quoted for a shell; "" for a Python worker."""
    return mask(shlex.join(process.command or ())) if isinstance(process, WorkingProcess) else ""


def _duration(seconds: float) -> str:
    return readable_duration(timedelta(seconds=seconds))


def _level(services: Services, view: ProcessView) -> LevelView | None:
    """The jobs of a managed process; None for others, and while there is no timetable."""
    if view.tree is None:
        return None
    try:
        trees = services.reads.trees(view.tree)
    except Refused:
        return None
    return next(level for tree in trees for level in tree.processes if level.name == view.name)


def _placed(boxes: Iterable[BoxView], name: str) -> list[tuple[BoxView, BoxProcess]]:
    return [(box, one) for box in boxes for one in box.processes if one.process == name]
