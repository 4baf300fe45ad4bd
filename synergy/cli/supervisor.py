"""`launch.py supervisor …`: start, stop and watch the processes of this box."""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import closing
from typing import TYPE_CHECKING

from synergy.cli import exits, output, supervisor_output
from synergy.cli.options import DRY_RUN, JSON, Noun, argument

if TYPE_CHECKING:
    from synergy.compose import Project
    from synergy.supervisor.start_report import SlotReport
    from synergy.supervisor.status import SupervisorStatus

NOUN = Noun(
    "supervisor", "start, stop and watch the processes of this box", "launch.py supervisor start"
)
add = NOUN.add


@NOUN.verb(
    "launch.py supervisor start",
    argument("--foreground", action="store_true", help="stay attached, until Ctrl-C"),
    JSON,
    DRY_RUN,
    records=("foreground",),
)
def run_start(arguments: argparse.Namespace) -> int:
    """Start all processes of this box, and keep them alive."""
    from synergy import compose

    project = compose.open_project(imports=True)
    if arguments.dry_run:
        return _show_plan(project, arguments, "start")
    return _start(project, arguments, foreground=arguments.foreground)


@NOUN.verb("launch.py supervisor stop", JSON, DRY_RUN, records=())
def run_stop(arguments: argparse.Namespace) -> int:
    """Stop the supervisor and all its processes."""
    from synergy import compose
    from synergy.config.loader import load_settings
    from synergy.supervisor import control

    if arguments.dry_run:
        return _show_plan(compose.open_project(), arguments, "stop")
    # A mistake in the context, or a file that others can read, does not keep anything running.
    report = control.stop(load_settings(compose.HERE, os.environ).home)
    output.show(arguments, report, supervisor_output.print_stopped)
    return exits.DONE if report.is_stopped else exits.FAILED


@NOUN.verb("launch.py supervisor restart", JSON, DRY_RUN, records=())
def run_restart(arguments: argparse.Namespace) -> int:
    """Stop everything, then start it again."""
    from synergy import compose
    from synergy.supervisor import control

    project = compose.open_project(imports=True)  # a mistake in it leaves everything running
    if arguments.dry_run:
        return _show_plan(project, arguments, "restart")
    report = control.stop(project.settings.home)
    if not report.is_stopped or not arguments.json:
        supervisor_output.print_stopped(report)
    return _start(project, arguments) if report.is_stopped else exits.FAILED


@NOUN.verb("launch.py supervisor status --json", JSON)
def run_status(arguments: argparse.Namespace) -> None:
    """Show what runs on this box."""
    from synergy import compose

    output.show(arguments, _status(compose.open_project()), supervisor_output.print_status)


def _start(project: Project, arguments: argparse.Namespace, *, foreground: bool = False) -> int:
    """Starts the supervisor and prints the outcome; the exit code."""
    from synergy import compose
    from synergy.supervisor import daemon

    for warning in project.warnings:
        output.warn(warning)
    config = compose.supervisor_config(project)
    latest: dict[tuple[str, int], SlotReport] = {}
    is_watched = foreground or sys.stderr.isatty()

    def watch(progress: SlotReport) -> None:
        if not foreground:
            latest[progress.process, progress.instance] = progress
        if is_watched:
            supervisor_output.note_progress(progress)

    start = daemon.run_foreground if foreground else daemon.start_detached
    report = start(config, watch)
    processes = [latest[slot] for slot in sorted(latest)]
    if arguments.json:
        output.print_json(supervisor_output.started_json(project, report, processes))
    else:
        supervisor_output.print_started(project, report, processes)
    return supervisor_output.exit_code(report)


def _show_plan(project: Project, arguments: argparse.Namespace, verb: str) -> int:
    """Prints what a start or stop would do; needs no store."""
    from synergy.supervisor import home_lock

    box = project.settings.box_id
    is_running = home_lock.holder(project.settings.home) is not None
    processes = _running(project) if verb == "stop" else _desired(project)
    output.show_change(
        arguments,
        {"box": box, "running": is_running, "processes": processes},
        f"the supervisor of box {box} {'runs' if is_running else 'does not run'}",
        f"would {verb}: {', '.join(processes)}" if processes else f"nothing to {verb}",
    )
    return exits.DONE


def _running(project: Project) -> list[str]:
    """The slots that run now, with a supervisor or without."""
    return [f"{p.name}/{p.instance}" for p in _status(project).processes if p.pid is not None]


def _desired(project: Project) -> list[str]:
    """The slots that a started supervisor keeps running."""
    from synergy import compose
    from synergy.model.box import Assignment
    from synergy.model.process_control import ProcessControl
    from synergy.supervisor.assignment import assigned, desired

    box = project.settings.box_id
    stored: dict[str, Assignment] = {}
    controls: dict[str, ProcessControl] = {}
    if compose.has_store(project.settings):
        with closing(compose.open_store(project.settings)) as store:
            stored = {a.process: a for a in store.boxes.assignments(box)}
            controls = store.controls.all()
    names = assigned(project.deployment, box)
    assignments = [stored.get(name, Assignment(box, name)) for name in names]
    return [str(slot) for slot in sorted(desired(project.deployment, box, assignments, controls))]


def _status(project: Project) -> SupervisorStatus:
    """What runs on this box; without a store, only the supervisor is known."""
    from synergy import compose
    from synergy.supervisor import home_lock
    from synergy.supervisor.status import SupervisorStatus, status

    settings = project.settings
    if compose.has_store(settings):
        with closing(compose.open_store(settings)) as store:
            return status(settings.home, store, settings.box_id, project.deployment)
    holder = home_lock.holder(settings.home)
    pid = None if holder is None else holder.pid
    return SupervisorStatus(settings.box_id, holder is not None, pid, ())
