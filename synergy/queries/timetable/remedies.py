"""Remedies: what an operator can do, as a command and as a request of the REST API."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote

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
    return Remedy(
        f"launch.py process on {process}", "Switch the process on",
        "PATCH", _path("processes", process), {"is_on": True},
    )  # fmt: skip


def trigger(process: str) -> Remedy:
    """Triggers a process now."""
    return Remedy(
        f"launch.py process trigger {process}", "Have it look now",
        "POST", _path("processes", process, "trigger"), {},
    )  # fmt: skip


def start(process: str, box: str | None) -> Remedy:
    """Starts a process, on the `box` where it is switched off; None: on no particular box."""
    command, label = f"launch.py process start {process}", "Start the process"
    if box is None:
        return Remedy(command, label)
    path = _path("boxes", box, "processes", process)
    return Remedy(command, f"{label} on {box}", "PUT", path, {"is_on": True})


def supervise() -> tuple[Remedy, ...]:
    """Starts the supervisor of a box, which starts schedulers."""
    return (
        Remedy("launch.py supervisor status", "Look at the supervisor"),
        Remedy("launch.py supervisor start", "Start the supervisor"),
    )


def reprocess(process: str, timeperiod: str) -> Remedy:
    """Starts a job over."""
    return Remedy(
        f"launch.py timetable reprocess {process} {timeperiod}", "Reprocess",
        "POST", _path("jobs", "reprocess"), {"process": process, "from": timeperiod},
    )  # fmt: skip


def retry_job(process: str, timeperiod: str) -> Remedy:
    """Tries a failed job again, with a fresh budget of attempts."""
    return Remedy(
        f"launch.py timetable retry {process} {timeperiod}", "Try again",
        "POST", _path("jobs", "retry"), {"process": process, "from": timeperiod},
    )  # fmt: skip


def acknowledge(process: str, timeperiod: str) -> Remedy:
    """Acknowledges that a job was given up; a reason is required."""
    return Remedy(
        f"launch.py timetable acknowledge {process} {timeperiod} --reason '...'", "Acknowledge",
        "POST", _path("jobs", "acknowledge"), {"process": process, "from": timeperiod},
    )  # fmt: skip


def retry_jobs(process: str, first: str, end: str | None) -> Remedy:
    """Tries the failed jobs of `[first, end)` again; `end` None: the first job only."""
    return _range("retry", "Try again", process, first, end)


def acknowledge_jobs(process: str, first: str, end: str | None) -> Remedy:
    """Acknowledges the given-up jobs of `[first, end)`; a reason is required."""
    return _range("acknowledge", "Acknowledge", process, first, end, " --reason '...'")


def skip(process: str, timeperiod: str) -> Remedy:
    """Skips a job."""
    return Remedy(
        f"launch.py timetable skip {process} {timeperiod}", "Skip",
        "POST", _path("jobs", "skip"), {"process": process, "from": timeperiod},
    )  # fmt: skip


def why(process: str, timeperiod: str) -> Remedy:
    """Looks at another job."""
    return Remedy(
        f"launch.py timetable why {process} {timeperiod}", f"Look at {timeperiod}",
        "GET", _path("jobs", process, timeperiod),
    )  # fmt: skip


def extend(first_hour: str) -> Remedy:
    """Moves the first hour of the timetable to an earlier one."""
    return Remedy(
        f"launch.py timetable extend --from {first_hour}", f"Begin at {first_hour}",
        "POST", _path("timetable", "extend"), {"from": first_hour},
    )  # fmt: skip


def unit_log(unit: str) -> Remedy:
    """Looks at the log of a unit."""
    return Remedy(
        f"launch.py unit log {unit}", "Look at the log", "GET", _path("units", unit, "log")
    )


def retry(unit: str) -> Remedy:
    """Hands a failed unit out again at once."""
    return Remedy(
        f"launch.py unit retry {unit}", "Try again now",
        "POST", _path("units", unit, "retry"), {},
    )  # fmt: skip


def cancel(unit: str, timeperiod: str) -> Remedy:
    """Cancels a unit; its worker has to stop working on it."""
    return Remedy(
        f"launch.py unit cancel {unit}", f"Cancel the unit of {timeperiod}",
        "POST", _path("units", unit, "cancel"), {},
    )  # fmt: skip


def queues() -> Remedy:
    """Looks at the queues."""
    return Remedy("launch.py queue list", "Look at the queues", "GET", _path("queues"))


def boxes() -> Remedy:
    """Looks at all boxes and their processes."""
    return Remedy("launch.py box list", "Look at the boxes", "GET", _path("boxes"))


def collect(process: str) -> Remedy:
    """Runs the collector for the units of a process now."""
    return Remedy(
        f"launch.py gc run --process {process}", "Run the collector",
        "POST", _path("gc", "run"), {"process": process},
    )  # fmt: skip


def retry_run(run: str) -> Remedy:
    """Launches a failed run again."""
    return Remedy(
        f"launch.py schedule retry {run}", "Launch it again",
        "POST", _path("runs", run, "retry"), {},
    )  # fmt: skip


def retry_runs(schedule: str) -> Remedy:
    """Launches all failed runs of a schedule again."""
    return Remedy(
        f"launch.py schedule retry --all --schedule {schedule}", "Launch them again",
        "POST", _path("runs", "replay"), {"schedule": schedule},
    )  # fmt: skip


def look_at_run(run: str) -> Remedy:
    """Looks at a run."""
    return Remedy(f"launch.py schedule run {run}", "Look at the run", "GET", _path("runs", run))


def look_at_dead() -> Remedy:
    """Looks at the messages in quarantine."""
    return Remedy("launch.py queue dead", "Look at them", "GET", _path("queues", "dead"))


def replay_dead() -> Remedy:
    """Sends all messages in quarantine to their queues again."""
    return Remedy(
        "launch.py queue replay", "Send them again",
        "POST", _path("queues", "dead", "replay"), {},
    )  # fmt: skip


def audit() -> Remedy:
    """Looks at the audit of all closed periods."""
    return Remedy("launch.py timetable audit", "Look at the audit", "GET", _path("audit"))


def _range(
    verb: str, label: str, process: str, first: str, end: str | None, more: str = ""
) -> Remedy:
    """An action on the jobs `[first, end)`, or on the first one."""
    periods, body = first, {"process": process, "from": first}
    if end is not None:
        periods, body = f"{first}..{end}", {**body, "to": end}
    command = f"launch.py timetable {verb} {process} {periods}{more}"
    return Remedy(command, label, "POST", _path("jobs", verb), body)


def _path(*parts: str) -> str:
    return "/".join([API, *(quote(part, safe="") for part in parts)])
