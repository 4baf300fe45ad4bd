"""The situation of a deployment at one moment, from which the verdict is made."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from synergy.model.job import JobState
from synergy.queries.health.staffing import Unserved
from synergy.queries.timetable.last_audit import LastAudit
from synergy.queries.timetable.remedies import Remedy
from synergy.storage.malformed import MalformedRow


@dataclass(frozen=True, slots=True)
class Periods:
    """Periods of a process in one condition: their number, the first and last, and since when.

    `why` is the reason of the first one, "" if unknown.
    """

    count: int
    first: str
    last: str
    since: datetime | None = None
    why: str = ""
    helps: tuple[Remedy, ...] = ()


@dataclass(frozen=True, slots=True)
class Held:
    """Closed periods that are not done and wait for jobs of other processes.

    `late` of them are late, from the timeperiod `first` on. `root` is the process of the job that
    the oldest of them waits for in the end, `period` and `state` that job; the state is None if
    the job can never be.
    """

    count: int
    late: int
    first: str
    root: str
    period: str
    state: JobState | None


@dataclass(frozen=True, slots=True)
class ProcessPeriods:
    """The periods of a managed process; None stands for no period.

    `closed` counts the closed periods that are neither finished nor failed; `late` are those of
    them that are late and wait for no other process. `catches_up`: late periods were finished
    recently.
    """

    process: str
    tree: str
    closed: int = 0
    late: Periods | None = None
    held: Held | None = None
    failed: Periods | None = None
    given_up: Periods | None = None
    acknowledged: int = 0
    unseen: int = 0
    catches_up: bool = False


@dataclass(frozen=True, slots=True)
class SilentBox:
    """A box whose supervisor does not report; `seen_at` is None if it never did."""

    id: str
    seen_at: datetime | None


@dataclass(frozen=True, slots=True)
class Down:
    """Instances of a process that should run on a box, but do not.

    `is_backing_off`: they died, and are being restarted. `is_nowhere`: the process runs on no box.
    """

    process: str
    box: str
    missing: int
    wanted: int
    since: datetime | None = None
    restarts: int = 0
    is_backing_off: bool = False
    is_nowhere: bool = True


@dataclass(frozen=True, slots=True)
class SwitchedOff:
    """A process that is switched off although `count` of `what` wait for it.

    `box` is one of its boxes if the process is switched off on each box, and "" if everywhere.
    """

    process: str
    count: int
    what: str
    since: datetime | None = None
    box: str = ""


@dataclass(frozen=True, slots=True)
class Stuck:
    """Units of a process that should have been handed out again, and were not."""

    process: str
    count: int
    since: datetime
    unit: str
    why: str


@dataclass(frozen=True, slots=True)
class FailedRuns:
    """Failed runs that were not launched again; `schedule` is "" for those without one."""

    schedule: str
    program: str
    count: int
    run: str
    since: datetime | None
    why: str


@dataclass(frozen=True, slots=True)
class Paused:
    """A schedule that is disabled because its runs failed."""

    schedule: str
    since: datetime
    why: str


@dataclass(frozen=True, slots=True)
class Quarantine:
    """Messages in quarantine; `since` is when the oldest was put there."""

    count: int
    since: datetime
    queue: str
    why: str


@dataclass(frozen=True, slots=True)
class Situation:
    """The situation of a deployment.

    `has_timetable` is None where no managed process is declared. `unled` are the trees that no
    scheduler leads. `is_silent_everywhere`: no box reports, although some did or should.
    `is_new`: the deployment was started recently. `retrying` counts failed units that are tried
    again. `malformed` are the malformed rows that are known. `is_auditing`: an audit is under way.
    """

    has_timetable: bool | None = True
    is_new: bool = False
    unled: tuple[str, ...] = ()
    is_collected: bool = True
    is_decided: bool = True
    silent: tuple[SilentBox, ...] = ()
    is_silent_everywhere: bool = False
    down: tuple[Down, ...] = ()
    off: tuple[SwitchedOff, ...] = ()
    unserved: tuple[Unserved, ...] = ()
    stuck: tuple[Stuck, ...] = ()
    processes: tuple[ProcessPeriods, ...] = ()
    runs: tuple[FailedRuns, ...] = ()
    paused: tuple[Paused, ...] = ()
    quarantine: Quarantine | None = None
    retrying: int = 0
    malformed: tuple[MalformedRow, ...] = ()
    audit: LastAudit | None = None
    is_auditing: bool = False
