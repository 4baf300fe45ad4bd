"""Remedies: what an operator can do, as a command and as a request of the REST API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from synergy.program import PROGRAM

API = "/api/v1"


@dataclass(frozen=True, slots=True)
class Remedy:
    """One thing to do, or with `GET` to look at; `label` is the text of a button.

    `method` and `path` are None if there is only a command.
    """

    command: str
    label: str
    method: str | None = None
    path: str | None = None
    body: Mapping[str, object] | None = None


def switch_on(process: str) -> Remedy:
    """Switches a process on, everywhere."""
    path = api_path("processes", process)
    command = f"{PROGRAM} process on {process}"
    return Remedy(command, "Switch the process on", "PATCH", path, {"is_on": True})


def trigger(process: str) -> Remedy:
    """Triggers a process now."""
    path = ("processes", process, "trigger")
    return _post(f"process trigger {process}", "Check its jobs now", path)


def start(process: str, box: str | None) -> Remedy:
    """Starts a process, on the `box` where it is switched off; None: on no particular box."""
    command, label = f"{PROGRAM} process start {process}", "Start the process"
    if box is None:
        return Remedy(command, label)
    path = api_path("boxes", box, "processes", process)
    return Remedy(command, f"{label} on {box}", "PUT", path, {"is_on": True})


def reprocess(process: str, timeperiod: str) -> Remedy:
    """Starts a job over."""
    return _jobs("reprocess", "Reprocess", process, timeperiod)


def skip(process: str, timeperiod: str) -> Remedy:
    """Skips a job."""
    return _jobs("skip", "Skip", process, timeperiod)


def retry_jobs(process: str, first: str, end: str | None = None) -> Remedy:
    """Tries the failed jobs of `[first, end)` again, with a fresh budget; by default the first."""
    return _jobs("retry", "Try again", process, first, end)


def acknowledge_jobs(process: str, first: str, end: str | None = None) -> Remedy:
    """Acknowledges the given-up jobs of `[first, end)`, by default the first; needs a reason."""
    return _jobs("acknowledge", "Acknowledge", process, first, end, " --reason '...'")


def why(process: str, timeperiod: str) -> Remedy:
    """Looks at another job."""
    path = ("jobs", process, timeperiod)
    return _look(f"timetable why {process} {timeperiod}", f"Look at {timeperiod}", path)


def extend(first_hour: str) -> Remedy:
    """Moves the first hour of the timetable to an earlier one."""
    command, path = f"timetable extend --from {first_hour}", ("timetable", "extend")
    return _post(command, f"Begin at {first_hour}", path, {"from": first_hour})


def unit_log(unit: str) -> Remedy:
    """Looks at the log of a unit."""
    return _look(f"unit log {unit}", "Look at the log", ("units", unit, "log"))


def retry(unit: str) -> Remedy:
    """Hands out a failed unit again at once."""
    return _post(f"unit retry {unit}", "Try again now", ("units", unit, "retry"))


def cancel(unit: str, timeperiod: str) -> Remedy:
    """Cancels a unit; its worker has to stop working on it."""
    label = f"Cancel the unit of {timeperiod}"
    return _post(f"unit cancel {unit}", label, ("units", unit, "cancel"))


def collect(process: str) -> Remedy:
    """Runs the collector for the units of a process now."""
    command = f"gc run --process {process}"
    return _post(command, "Run the collector", ("gc", "run"), {"process": process})


def retry_run(run: str) -> Remedy:
    """Launches a failed run again."""
    return _post(f"schedule retry {run}", "Launch it again", ("runs", run, "retry"))


def retry_runs(schedule: str) -> Remedy:
    """Launches all failed runs of a schedule again."""
    command, path = f"schedule retry --all --schedule {schedule}", ("runs", "replay")
    return _post(command, "Launch them again", path, {"schedule": schedule})


def cancel_run(run: str) -> Remedy:
    """Cancels a run that has not begun."""
    return _post(f"schedule cancel {run}", "Cancel it", ("runs", run, "cancel"))


def enable_schedule(name: str) -> Remedy:
    """Enables a schedule."""
    return _post(f"schedule enable {name}", "Enable it", ("schedules", name, "enable"))


def edit_schedule(name: str) -> Remedy:
    """Replaces the definition of a schedule."""
    return Remedy(f"{PROGRAM} schedule edit {name} FILE", "Edit it")


def look_at_run(run: str) -> Remedy:
    """Looks at a run."""
    return _look(f"schedule run {run}", "Look at the run", ("runs", run))


def _jobs(
    verb: str, label: str, process: str, first: str, end: str | None = None, options: str = ""
) -> Remedy:
    """A command on the jobs `[first, end)`, or on the first one."""
    periods, body = first, {"process": process, "from": first}
    if end is not None:
        periods, body = f"{first}..{end}", {**body, "to": end}
    return _post(f"timetable {verb} {process} {periods}{options}", label, ("jobs", verb), body)


def _post(
    command: str, label: str, path: Sequence[str], body: Mapping[str, object] | None = None
) -> Remedy:
    return Remedy(f"{PROGRAM} {command}", label, "POST", api_path(*path), body or {})


def _look(command: str, label: str, path: Sequence[str]) -> Remedy:
    return Remedy(f"{PROGRAM} {command}", label, "GET", api_path(*path))


def api_path(*parts: str) -> str:
    """The path of a resource of the REST API."""
    return "/".join([API, *(quote(part, safe="") for part in parts)])


LOOK_AT_SUPERVISORS = _look("supervisor status", "Look at the boxes", ("boxes",))
LOOK_AT_QUEUES = _look("queue list", "Look at the queues", ("queues",))
LOOK_AT_DEAD = _look("queue dead", "Look at them", ("queues", "dead"))
REPLAY_DEAD = _post("queue replay", "Send them again", ("queues", "dead", "replay"))
LOOK_AT_AUDIT = _look("timetable audit", "Look at the audit", ("audit",))
CHECK_STORE = Remedy(f"{PROGRAM} store check", "Check the store")
SUPERVISE = (
    Remedy(f"{PROGRAM} supervisor status", "Look at the supervisor"),
    Remedy(f"{PROGRAM} supervisor start", "Start the supervisor"),
)
"""For a box whose supervisor, which starts schedulers, does not run."""
