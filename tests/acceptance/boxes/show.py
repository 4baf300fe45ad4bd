"""What happens on the three boxes: a log that grows, and what must come of it."""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from itertools import islice
from pathlib import Path

from synergy.clock import SystemClock
from synergy.insight.actions import load_timetable
from synergy.insight.audit import audit
from synergy.insight.documents import rows
from synergy.model.lease import Lease
from synergy.model.process import Deployment
from synergy.runtime import identity
from synergy.runtime.identity import Incarnation
from synergy.storage.protocol import Store
from tests.acceptance import visits
from tests.acceptance.boxes.rig import Box
from tests.acceptance.visits import SITE

IS_LONG = os.environ.get("SYNERGY_TEST_BOXES") == "long"
REST = 1800.0 if IS_LONG else 900.0  # seconds in which all must have come to rest
CLOCK = SystemClock()
FIRST_DAY = date(2015, 5, 17)  # of the log
DAYS = 4


def recent_log(log: Path, day: date, first: int, every: int) -> list[str]:
    """Every n-th of the first lines of the log, as if it had begun on `day`."""
    days = [timedelta(days=number) for number in range(DAYS)]
    names = {f"[{FIRST_DAY + n:%d/%b/%Y}:": f"[{day + n:%d/%b/%Y}:" for n in days}
    with log.open(encoding="latin-1") as lines:
        return [_renamed(line, names) for line in islice(lines, 0, first, every)]


def _renamed(line: str, names: Mapping[str, str]) -> str:
    old = next(name for name in names if name in line)
    return line.replace(old, names[old])


@dataclass
class Show:
    """The boxes at work on a log, of which more is read from time to time."""

    boxes: list[Box]
    gates: Path
    log: Path
    lines: Sequence[str]
    parts: int
    _read: int = field(default=0, init=False)

    @property
    def a(self) -> Box:
        return self.boxes[0]

    @property
    def b(self) -> Box:
        return self.boxes[1]

    @property
    def c(self) -> Box:
        return self.boxes[2]

    def read_on(self, box: Box) -> None:
        """Has a box read the log, which has grown by one part."""
        self._read = min(len(self.lines), self._read + -(-len(self.lines) // self.parts))
        self.read_again(box)

    def read_again(self, box: Box) -> None:
        """Has a box read what was read before: what got lost on the way is sent again."""
        self.log.write_text("".join(self.lines[: self._read]), encoding="latin-1")
        told = box.ask("ingest", self.log, "--site", SITE)
        assert told["problems"] == [], told

    def days(self) -> list[str]:
        """The days of all that was read so far."""
        return sorted(visits.statistics(self._visits(), "daily"))

    def _visits(self) -> list[visits.Visit]:
        return visits.visits(self.lines[: self._read])

    def assert_all_is_well(self, box: Box) -> None:
        """At rest the figures are those of the log, all is accounted for, nothing was done twice.

        Asked for on `box`; each box runs what is assigned to it, once.
        """
        self._until_at_rest(box)
        expected = self._expected()
        assert {name: visits.reported(box.report(name)) for name in expected} == expected
        assert box.audit()["unexplained"] == []
        assert box.ask("queue", "dead") == {"dead": [], "failed_runs": []}
        box.story()
        for each in self.boxes:
            assert_as_declared(each)

    def until_figures(self, box: Box, meanwhile: Callable[[], object] = lambda: None) -> None:
        """Until each hour and day has the figures of what was read; looked for on `box`."""
        expected, deployment = self._expected(), box.deployment()

        def look(store: Store) -> bool:
            meanwhile()
            return _figures(store, deployment) == expected

        box.until(look, REST)

    def _until_at_rest(self, box: Box) -> None:
        expected, deployment = self._expected(), box.deployment()

        def look(store: Store) -> bool:
            now = CLOCK.now()
            found = audit(store, load_timetable(store, deployment, now), now)
            return found.unfinished == 0 and _figures(store, deployment) == expected

        box.until(look, REST)

    def _expected(self) -> dict[str, dict[str, visits.Numbers]]:
        found = self._visits()
        sites = {f"site_{q}": visits.statistics(found, q) for q in visits.DIGITS}
        return {**sites, "client_daily": sites["site_daily"]}


def _figures(store: Store, deployment: Deployment) -> dict[str, dict[str, visits.Numbers]]:
    """What the collections say, as `launch.py report` shows it."""
    names = [*(f"site_{q}" for q in visits.DIGITS), "client_daily"]
    return {name: visits.reported(rows(store.documents, deployment, name)) for name in names}


def assert_as_declared(box: Box) -> None:
    """Each process that belongs on the box runs as often as it shall, and nothing else does."""
    leaders = box.until_all_run()
    with box.store() as store:
        assigned = {a.process for a in store.boxes.assignments(box.box) if a.is_on}
    declared = Counter(
        f"{process.name}/{instance}"
        for process in box.deployment().processes.values()
        if process.is_on and process.name in assigned
        for instance in range(1, process.instances + 1)
    )
    assert Counter(box.marked().values()) == declared
    assert set(box.marked()) == set(leaders.values())
    supervisor = {box.supervisor()}
    assert box.machine.pids() >= supervisor | set(leaders.values())


@contextmanager
def lasting(seconds: float) -> Iterator[None]:
    """A block that takes this long at least: a trouble that has to last for so long."""
    begun = CLOCK.monotonic()
    yield
    threading.Event().wait(max(0.0, begun + seconds - CLOCK.monotonic()))


def leader_of(box: Box, lease: str) -> Incarnation | None:
    """Who holds a lease, by what the store says."""
    with box.store() as store:
        found: Lease | None = store.leases.read(lease)
    return None if found is None or found.released else identity.parse(found.holder)


def days_ago(number: int) -> date:
    return (datetime.now(UTC) - timedelta(days=number)).date()
