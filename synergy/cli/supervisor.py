"""`launch.py supervisor …`: start, stop and watch the processes of this box."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from synergy.cli import exits, options

if TYPE_CHECKING:
    from pathlib import Path

    from synergy.compose import Project
    from synergy.supervisor.control import StopReport
    from synergy.supervisor.start_report import Progress, StartReport
    from synergy.supervisor.status import SupervisorStatus

MX = "synergy.mx.server.MX.start"


def add(subparsers: Any) -> None:
    """Adds the noun to the parser."""
    verbs = options.noun(
        subparsers,
        "supervisor",
        "start, stop and watch the processes of this box",
        "launch.py supervisor start",
    )
    start = options.verb(
        verbs, "start", run_start, "start all processes of this box, and keep them alive",
        "launch.py supervisor start",
    )  # fmt: skip
    start.add_argument("--foreground", action="store_true", help="stay attached, until Ctrl-C")
    stop = options.verb(
        verbs, "stop", run_stop, "stop the supervisor and all its processes",
        "launch.py supervisor stop",
    )  # fmt: skip
    restart = options.verb(
        verbs, "restart", run_restart, "stop everything, then start it again",
        "launch.py supervisor restart",
    )  # fmt: skip
    for parser in (start, stop, restart):
        options.json_option(parser)
        options.dry_run_option(parser)
    status = options.verb(
        verbs, "status", run_status, "show what runs on this box",
        "launch.py supervisor status --json",
    )  # fmt: skip
    options.json_option(status)


def run_start(arguments: argparse.Namespace) -> int:
    """Starts the supervisor, unless it runs."""
    from synergy import compose

    project = compose.open_project(imports=True)
    if arguments.dry_run:
        return _plan(project, arguments, "start")
    return _start(project, arguments)


def _start(project: Project, arguments: argparse.Namespace) -> int:
    from synergy import compose
    from synergy.supervisor import daemon

    config = compose.supervisor_config(project)
    seen: dict[tuple[str, int], Progress] = {}
    if getattr(arguments, "foreground", False):
        return _tell(project, daemon.run_foreground(config, _teller(arguments)), seen, arguments)
    show = _teller(arguments)

    def watch(progress: Progress) -> None:
        seen[progress.process, progress.instance] = progress
        show(progress)

    return _tell(project, daemon.start_detached(config, watch), seen, arguments)


def _teller(arguments: argparse.Namespace) -> Callable[[Progress], None]:
    """Tells of each change: to people who stay attached, or watch a terminal."""
    import sys

    from synergy.cli import output

    is_told = getattr(arguments, "foreground", False) or sys.stderr.isatty()

    def tell(progress: Progress) -> None:
        if is_told:
            pid = "" if progress.pid is None else f" (pid {progress.pid})"
            output.note(f"{_name(progress)}: {progress.state}{pid}")

    return tell


def _name(progress: Progress) -> str:
    return progress.process if progress.instance == 1 else f"{progress.process}/{progress.instance}"


def _tell(
    project: Project,
    report: StartReport,
    seen: dict[tuple[str, int], Progress],
    arguments: argparse.Namespace,
) -> int:
    """How the start ended, for people or programs; the exit code."""
    from synergy.cli import output
    from synergy.supervisor.start_report import Outcome

    codes = {Outcome.UNREACHABLE: exits.UNREACHABLE, Outcome.INCOMPLETE: exits.FAILED,
             Outcome.FAILED: exits.FAILED, Outcome.REFUSED: exits.REFUSED,
             Outcome.MISCONFIGURED: exits.CONFIGURATION}  # fmt: skip
    code = codes.get(report.outcome, exits.DONE)
    processes = [seen[slot] for slot in sorted(seen)]
    if arguments.json:
        output.print_json(
            {
                "box": project.settings.box_id,
                "outcome": report.outcome.value,
                "pid": report.pid,
                "reason": report.reason,
                "dashboard": _dashboard(project, processes),
                "processes": processes,
            }
        )
        return code
    match report.outcome:
        case Outcome.STARTED | Outcome.INCOMPLETE:
            _print_started(project, report, processes)
        case Outcome.ALREADY_RUNNING:
            output.say(f"the supervisor already runs (pid {report.pid}): nothing was changed")
        case Outcome.STOPPED:
            output.say("the supervisor and all its processes have stopped")
        case _:
            output.note(f"{output.colour('error', 'red')}: the supervisor is not running")
            output.note(report.reason)
    return code


def _print_started(project: Project, report: StartReport, processes: list[Progress]) -> None:
    from synergy.cli import output

    output.table(
        ["process", "state", "pid"],
        [[_name(progress), progress.state, progress.pid] for progress in processes],
    )
    output.say(f"the supervisor of box {project.settings.box_id} runs (pid {report.pid})")
    if dashboard := _dashboard(project, processes):
        output.say(f"dashboard: {dashboard}")
    output.say(f"logs: {_logs(project)}/<process>.log")
    output.say("look: launch.py supervisor status, launch.py timetable show")
    output.say("stop: launch.py supervisor stop")
    for slot in report.missing:
        output.note(
            f"{output.colour('error', 'red')}: {_name(slot)} does not run: it is {slot.state}; "
            f"see {_logs(project)}/{slot.process}.log and .out"
        )
    if report.reason:
        output.note(report.reason)
    _print_warnings(project)


def _dashboard(project: Project, processes: list[Progress]) -> str | None:
    """Where the dashboard is; None if nothing that was started serves it."""
    is_there = any(
        project.process(progress.process).classname == MX and progress.state == "running"
        for progress in processes
    )
    return project.settings.mx_url if is_there else None


def _print_warnings(project: Project) -> None:
    """What the store cannot promise as it is set up."""
    from synergy import compose
    from synergy.cli import output

    store = compose.open_store(project.settings)
    try:
        for warning in store.warnings():
            output.note(f"{output.colour('warning', 'yellow')}: {warning}")
    finally:
        store.close()


def _logs(project: Project) -> Path:
    return project.settings.home / "logs"


def run_stop(arguments: argparse.Namespace) -> int:
    """Stops the supervisor and all it has started."""
    from synergy import compose

    project = compose.open_project()
    if arguments.dry_run:
        return _plan(project, arguments, "stop")
    return _stop(project, arguments)


def _stop(project: Project, arguments: argparse.Namespace) -> int:
    from synergy.cli import output
    from synergy.supervisor import control

    report = control.stop(project.settings.home)
    if arguments.json:
        output.print_json(report)
    else:
        _print_stopped(report)
    return exits.DONE if report.is_stopped else exits.FAILED


def _print_stopped(report: StopReport) -> None:
    from synergy.cli import output

    if not report.is_stopped:
        left = ", ".join(map(str, report.left)) or "see launch.py supervisor status"
        output.note(f"{output.colour('error', 'red')}: not everything has stopped: {left}")
    elif report.was_running:
        output.say("the supervisor and all its processes have stopped")
    elif report.ended:
        output.say(f"no supervisor was running; {report.ended} processes left by one were ended")
    else:
        output.say("no supervisor is running: nothing to stop")


def run_restart(arguments: argparse.Namespace) -> int:
    """Stops and starts; stops nothing if the configuration would not start."""
    from synergy import compose
    from synergy.supervisor import control

    project = compose.open_project(imports=True)
    if arguments.dry_run:
        return _plan(project, arguments, "restart")
    report = control.stop(project.settings.home)
    if report.is_stopped and arguments.json:
        return _start(project, arguments)
    _print_stopped(report)
    return _start(project, arguments) if report.is_stopped else exits.FAILED


def _plan(project: Project, arguments: argparse.Namespace, verb: str) -> int:
    """What a start or stop would do, without a store if there is none."""
    from synergy.cli import output
    from synergy.supervisor import lock

    running = lock.holder(project.settings.home)
    processes = _alive(project) if verb == "stop" else _desired(project)
    if arguments.json:
        output.print_json(
            {
                "box": project.settings.box_id,
                "running": running is not None,
                "processes": processes,
                "dry_run": True,
            }
        )
        return exits.DONE
    state = "runs" if running is not None else "does not run"
    output.say(f"the supervisor of box {project.settings.box_id} {state}")
    output.say(f"would {verb}: {', '.join(processes)}" if processes else f"nothing to {verb}")
    return exits.DONE


def _alive(project: Project) -> list[str]:
    """The slots that run now, with a supervisor or without."""
    return [f"{p.name}/{p.instance}" for p in _status(project).processes if p.pid is not None]


def _desired(project: Project) -> list[str]:
    """The slots that run, or would run, as far as is written down by now."""
    from synergy import compose
    from synergy.model.box import Assignment
    from synergy.model.control import ProcessControl
    from synergy.supervisor.assignment import assigned, desired

    box = project.settings.box_id
    stored: dict[str, Assignment] = {}
    controls: dict[str, ProcessControl] = {}
    if compose.has_store(project.settings):
        store = compose.open_store(project.settings)
        try:
            stored = {a.process: a for a in store.boxes.assignments(box)}
            controls = store.controls.all()
        finally:
            store.close()
    names = assigned(project.deployment, box)
    assignments = [stored.get(name, Assignment(box, name)) for name in names]
    return [str(slot) for slot in sorted(desired(project.deployment, box, assignments, controls))]


def run_status(arguments: argparse.Namespace) -> None:
    """What runs on this box."""
    from synergy import compose
    from synergy.cli import output

    found = _status(compose.open_project())
    if arguments.json:
        output.print_json(found)
    else:
        _print_status(found)


def _status(project: Project) -> SupervisorStatus:
    """What runs; where there is no store yet, at most a supervisor does."""
    from synergy import compose
    from synergy.supervisor import lock
    from synergy.supervisor.status import SupervisorStatus, status

    settings = project.settings
    if compose.has_store(settings):
        store = compose.open_store(settings)
        try:
            return status(settings.home, store, settings.box_id, project.deployment)
        finally:
            store.close()
    holder = lock.holder(settings.home)
    pid = None if holder is None else holder.pid
    return SupervisorStatus(settings.box_id, holder is not None, pid, ())


def _print_status(found: SupervisorStatus) -> None:
    from synergy.cli import output
    from synergy.cli.services import START

    if found.processes:
        output.table(
            ["process", "state", "pid", "since", "restarts", "memory"],
            [
                [
                    p.name if p.instance == 1 else f"{p.name}/{p.instance}",
                    p.state,
                    p.pid,
                    output.instant(p.since),
                    p.restarts,
                    output.size(p.rss) if p.rss else None,
                ]
                for p in found.processes
            ],
        )
    if found.leaders:
        output.table(
            ["scheduled", "by host", "pid", "term"],
            [[p.part, p.host or "nobody", p.pid, p.term] for p in found.leaders],
        )
    if found.running:
        output.say(f"the supervisor of box {found.box} runs (pid {found.pid})")
    else:
        output.say(f"no supervisor runs on box {found.box}: {START}")
