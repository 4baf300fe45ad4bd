"""What would help: the command for it, and the request of the REST API that does the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote

API = "/api/v1"


@dataclass(frozen=True, slots=True)
class Help:
    """One thing to do, or with `GET` to look at; `label` is what a button says.

    `method` and `path` are None for what can only be done by the command.
    """

    command: str
    label: str
    method: str | None = None
    path: str | None = None
    body: Mapping[str, object] | None = None


def switch_on(process: str) -> Help:
    """Switches a process on, everywhere."""
    return Help(
        f"launch.py process on {process}", "Switch the process on",
        "PATCH", _path("processes", process), {"is_on": True},
    )  # fmt: skip


def trigger(process: str) -> Help:
    """Has a process look now."""
    return Help(
        f"launch.py process trigger {process}", "Have it look now",
        "POST", _path("processes", process, "trigger"), {},
    )  # fmt: skip


def start(process: str, box: str | None) -> Help:
    """Starts a process, on a `box` where it is switched off; None if there is no such box."""
    command, label = f"launch.py process start {process}", "Start the process"
    if box is None:
        return Help(command, label)
    path = _path("boxes", box, "processes", process)
    return Help(command, f"{label} on {box}", "PUT", path, {"is_on": True})


def supervise() -> tuple[Help, ...]:
    """Gets the supervisor of a box going, which starts schedulers."""
    return (
        Help("launch.py supervisor status", "Look at the supervisor"),
        Help("launch.py supervisor start", "Start the supervisor"),
    )


def reprocess(process: str, timeperiod: str) -> Help:
    """Starts a job over."""
    return Help(
        f"launch.py timetable reprocess {process} {timeperiod}", "Reprocess",
        "POST", _path("jobs", "reprocess"), {"process": process, "from": timeperiod},
    )  # fmt: skip


def retry_job(process: str, timeperiod: str) -> Help:
    """Tries a failed job again, with a fresh budget of attempts."""
    return Help(
        f"launch.py timetable retry {process} {timeperiod}", "Try again",
        "POST", _path("jobs", "retry"), {"process": process, "from": timeperiod},
    )  # fmt: skip


def acknowledge(process: str, timeperiod: str) -> Help:
    """Takes note that a job was given up; it needs a reason."""
    return Help(
        f"launch.py timetable acknowledge {process} {timeperiod} --reason '...'", "Acknowledge",
        "POST", _path("jobs", "acknowledge"), {"process": process, "from": timeperiod},
    )  # fmt: skip


def skip(process: str, timeperiod: str) -> Help:
    """Skips a job."""
    return Help(
        f"launch.py timetable skip {process} {timeperiod}", "Skip",
        "POST", _path("jobs", "skip"), {"process": process, "from": timeperiod},
    )  # fmt: skip


def why(process: str, timeperiod: str) -> Help:
    """Looks at another job."""
    return Help(
        f"launch.py timetable why {process} {timeperiod}", f"Look at {timeperiod}",
        "GET", _path("jobs", process, timeperiod),
    )  # fmt: skip


def extend(first_hour: str) -> Help:
    """Moves the first hour of the timetable to an earlier one."""
    return Help(
        f"launch.py timetable extend --from {first_hour}", f"Begin at {first_hour}",
        "POST", _path("timetable", "extend"), {"from": first_hour},
    )  # fmt: skip


def unit_log(unit: str) -> Help:
    """Looks at what the workers of a unit wrote."""
    return Help(f"launch.py unit log {unit}", "Look at the log", "GET", _path("units", unit, "log"))


def retry(unit: str) -> Help:
    """Hands a unit that failed out again at once."""
    return Help(
        f"launch.py unit retry {unit}", "Try again now",
        "POST", _path("units", unit, "retry"), {},
    )  # fmt: skip


def cancel(unit: str, timeperiod: str) -> Help:
    """Takes a unit from its worker, which has to let go of it."""
    return Help(
        f"launch.py unit cancel {unit}", f"Cancel the unit of {timeperiod}",
        "POST", _path("units", unit, "cancel"), {},
    )  # fmt: skip


def queues() -> Help:
    """Looks at what waits."""
    return Help("launch.py queue list", "Look at the queues", "GET", _path("queues"))


def _path(*parts: str) -> str:
    return "/".join([API, *(quote(part, safe="") for part in parts)])
