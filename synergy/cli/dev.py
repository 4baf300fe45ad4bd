"""`launch.py dev`: the whole system in this terminal, restarted by what is saved."""

from __future__ import annotations

import argparse
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from synergy.cli import exits, output, supervisor_output
from synergy.cli.options import JSON, Verbs, argument
from synergy.errors import Refused
from synergy.program import PROGRAM

if TYPE_CHECKING:
    from synergy.cli.dev_files import Effect
    from synergy.compose import Project
    from synergy.supervisor.config import SupervisorConfig
    from synergy.supervisor.start_report import SlotReport

VERBS = Verbs()
add = VERBS.add_to


@VERBS.verb(
    "launch.py dev --debug-log",
    argument("--debug-log", action="store_true", help="what processes log at level debug, too"),
    JSON,
    records=("debug_log",),
)
def run_dev(arguments: argparse.Namespace) -> int:
    """Run everything in this terminal, and restart what is saved, until Ctrl-C.

    The lines of all logs are printed as they come. A saved context, crontab or settings file is
    taken over as by a reload, and the workers are restarted when a module of the project is saved.
    While there are mistakes in it, they are printed, and everything runs on as it is.
    """
    from synergy import compose
    from synergy.supervisor import daemon, home_lock
    from synergy.supervisor.start_report import Outcome

    if arguments.debug_log:
        os.environ["SYNERGY_LOG_LEVEL"] = "debug"  # also that of the processes
    project = compose.open_project(imports=True)
    running = home_lock.holder(project.settings.home)
    if running is not None:
        raise _running(running.pid)
    for warning in project.warnings:
        output.warn(warning)
    config = compose.supervisor_config(project)
    with _followed(project, config, is_json=arguments.json):
        report = daemon.run_foreground(config, _Announcer(project))
    if report.outcome is Outcome.ALREADY_RUNNING:  # it was started a moment before
        raise _running(report.pid)
    if report.reason:
        output.error(report.reason)
    return supervisor_output.exit_code(report)


def _running(pid: int | None) -> Refused:
    return Refused(f"a supervisor runs already (pid {pid}): {PROGRAM} supervisor stop")


@contextmanager
def _followed(project: Project, config: SupervisorConfig, *, is_json: bool) -> Iterator[None]:
    """Prints logs and watches files while the block runs; afterwards the rest of the logs."""
    from synergy.cli.dev_files import FileWatcher
    from synergy.cli.dev_log import LogFollower, show_json, show_line
    from synergy.clock import SystemClock

    settings, clock = project.settings, SystemClock()
    context = project.path.joinpath(*settings.context.split(".")).with_suffix(".py")
    show = show_json if is_json else show_line
    log = LogFollower(settings.home / "logs", clock, show)
    reload = _reloading(config)
    files = FileWatcher(project.path, context, settings.home, clock, reload)
    log.start()
    files.start()
    try:
        yield
    finally:
        files.stop()
        log.finish()


def _reloading(config: SupervisorConfig) -> Callable[[Effect], bool]:
    """A function that has this supervisor take over what was saved; returns whether it did.

    A process of its own does it, because it imports all modules of the project anew.
    """
    from synergy.cli.dev_files import Effect

    program = config.command("", 1)
    prefix = program[: program.index("process")]
    options = {
        Effect.CONTEXT: (),
        Effect.WORKERS: ("--restart", "workers"),
        Effect.ALL: ("--restart", "all"),
    }

    def reload(effect: Effect) -> bool:
        done = subprocess.run(
            (*prefix, "reload", *options[effect]),
            cwd=config.directory,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            start_new_session=True,  # Ctrl-C is for this process: the reload ends with it
            check=False,
        )
        for line in (done.stderr + done.stdout).decode(errors="replace").splitlines():
            output.note(f"reload: {line}")
        return done.returncode == exits.DONE

    return reload


class _Announcer:
    """Says where the dashboard is, once a process serves it."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._is_said = False

    def __call__(self, progress: SlotReport) -> None:
        url = supervisor_output.dashboard(self._project, [progress])
        if url is not None and not self._is_said:
            self._is_said = True
            output.note(f"dashboard: {url} (Ctrl-C stops everything)")
