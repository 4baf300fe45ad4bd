"""What the verdict is made from: how everything stands at one moment, as frozen values."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from synergy.model.job import JobState
from synergy.queries.health.staffing import Unserved
from synergy.queries.timetable.last_audit import LastAudit
from synergy.queries.timetable.remedies import Remedy


@dataclass(frozen=True, slots=True)
class Periods:
    """Periods of a process: how many, the first and the last, and since when it is so.

    `why` says of the first what is known of the reason, "" for nothing.
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
    """A managed process. What of `closed`, `late`, `failed` and `given_up` is None is no period.

    `closed` are the periods that have closed and are neither finished nor failed; `late` those of
    them that are late and wait for no other process. `catches_up`: late periods were finished a
    moment ago.
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
    """Instances of a process that do not run on a box where they should.

    `is_backing_off`: they died, and are started again. `is_nowhere`: the process runs on no box.
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

    `box` is one that has it, if it is the boxes on which it is switched off, all of them.
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
    """Runs that failed and that nobody launched again; `schedule` is "" for those without one."""

    schedule: str
    program: str
    count: int
    run: str
    since: datetime | None
    why: str


@dataclass(frozen=True, slots=True)
class Quarantine:
    """Messages that nobody could make sense of; `since` is when the oldest was put there."""

    count: int
    since: datetime
    queue: str
    why: str


@dataclass(frozen=True, slots=True)
class Situation:
    """How everything stands.

    `has_timetable` is None where no managed process is declared. `unled` are the trees that no
    scheduler leads. `is_silent_everywhere`: no box reports, although some did or should.
    `is_new`: the deployment has begun a moment ago. `retrying` counts units that failed and are
    tried again. `is_auditing`: an audit is under way.
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
    quarantine: Quarantine | None = None
    retrying: int = 0
    audit: LastAudit | None = None
    is_auditing: bool = False
