"""Output of `launch.py supervisor …`: starts, stops, and the status of a box."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing, suppress
from typing import TYPE_CHECKING

from synergy.cli import exits, output
from synergy.cli.services import START
from synergy.model.process import BuiltIn
from synergy.names import local_token

if TYPE_CHECKING:
    from synergy.compose import Project
    from synergy.supervisor.control import StopReport
    from synergy.supervisor.start_report import SlotReport, StartReport
    from synergy.supervisor.status import SupervisorStatus


def note_progress(progress: SlotReport) -> None:
    """Prints a change of a process, for people who watch a start."""
    pid = "" if progress.pid is None else f" (pid {progress.pid})"
    output.note(f"{_slot(progress.process, progress.instance)}: {progress.state}{pid}")


def _slot(process: str, instance: int) -> str:
    return process if instance == 1 else f"{process}/{instance}"


def started_json(
    project: Project, report: StartReport, processes: Sequence[SlotReport]
) -> dict[str, object]:
    """The outcome of a start, for programs."""
    return {
        "box": project.settings.box_id,
        "outcome": report.outcome.value,
        "pid": report.pid,
        "reason": report.reason,
        "dashboard": dashboard(project, processes),
        "processes": processes,
    }


def print_started(project: Project, report: StartReport, processes: Sequence[SlotReport]) -> None:
    """Prints the outcome of a start."""
    from synergy.supervisor.start_report import Outcome

    match report.outcome:
        case Outcome.STARTED | Outcome.INCOMPLETE:
            _print_running(project, report, processes)
        case Outcome.ALREADY_RUNNING:
            output.say(f"the supervisor already runs (pid {report.pid}): nothing was changed")
        case Outcome.STOPPED:
            output.say("the supervisor and all its processes have stopped")
        case _:
            output.error("the supervisor is not running")
            output.note(report.reason)


def _print_running(project: Project, report: StartReport, processes: Sequence[SlotReport]) -> None:
    logs = project.settings.home / "logs"
    output.table(
        ["process", "state", "pid"],
        [[_slot(p.process, p.instance), p.state, p.pid] for p in processes],
    )
    output.say(f"the supervisor of box {project.settings.box_id} runs (pid {report.pid})")
    if url := dashboard(project, processes):
        output.say(f"dashboard: {url}")
        _print_token(project)
    output.say(f"logs: {logs}/<process>.log")
    output.say("look: launch.py supervisor status, launch.py timetable show")
    output.say("stop: launch.py supervisor stop")
    for slot in report.missing:
        output.error(
            f"{_slot(slot.process, slot.instance)} does not run: it is {slot.state}; "
            f"see {logs}/{slot.process}.log and .out"
        )
    if report.reason:
        output.note(report.reason)
    _print_store_warnings(project)


def dashboard(project: Project, processes: Sequence[SlotReport]) -> str | None:
    """The URL of the dashboard; None if no started process serves it."""
    is_served = any(
        project.process(progress.process).classname == BuiltIn.MX and progress.state == "running"
        for progress in processes
    )
    return project.settings.mx_url if is_served else None


def _print_token(project: Project) -> None:
    """Prints how other users of this machine get access to an MX without users."""
    if project.settings.mx_users_file is None:
        token = local_token(project.settings.home)
        with suppress(OSError):
            output.say(f"token for other users of this machine: {token.read_text().strip()}")
            output.say(f"  (kept in {token})")


def _print_store_warnings(project: Project) -> None:
    from synergy import compose

    with closing(compose.open_store(project.settings)) as store:
        for warning in store.warnings():
            output.warn(warning)


def exit_code(report: StartReport) -> int:
    """The exit code of a command that started a supervisor."""
    from synergy.supervisor.start_report import Outcome

    codes = {
        Outcome.UNREACHABLE: exits.UNREACHABLE,
        Outcome.INCOMPLETE: exits.FAILED,
        Outcome.FAILED: exits.FAILED,
        Outcome.REFUSED: exits.REFUSED,
        Outcome.MISCONFIGURED: exits.CONFIGURATION,
    }
    return codes.get(report.outcome, exits.DONE)


def print_stopped(report: StopReport) -> None:
    """Prints the outcome of a stop."""
    if not report.is_stopped:
        left = ", ".join(map(str, report.left)) or "see launch.py supervisor status"
        output.error(f"not everything has stopped: {left}")
    elif report.was_running:
        output.say("the supervisor and all its processes have stopped")
    elif report.ended:
        output.say(f"no supervisor was running; {report.ended} processes left by one were ended")
    else:
        output.say("no supervisor is running: nothing to stop")


def print_status(status: SupervisorStatus) -> None:
    """Prints the processes of the box and the leaders of the trees."""
    if status.processes:
        output.table(
            ["process", "state", "pid", "since", "restarts", "memory"],
            [
                [
                    _slot(p.name, p.instance),
                    p.state,
                    p.pid,
                    output.instant(p.since),
                    p.restarts,
                    output.size(p.rss) if p.rss else None,
                ]
                for p in status.processes
            ],
        )
    if status.leaders:
        output.table(
            ["scheduled", "by host", "pid", "term"],
            [[p.part, p.host or "no leader", p.pid, p.term] for p in status.leaders],
        )
    if status.running:
        output.say(f"the supervisor of box {status.box} runs (pid {status.pid})")
    else:
        output.say(f"no supervisor runs on box {status.box}: {START}")
