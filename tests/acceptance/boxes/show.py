"""What happens on the three boxes: a log that grows, and what must come of it."""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from synergy.clock import SystemClock
from synergy.model.lease import Lease
from synergy.model.process import Deployment
from synergy.queries.timetable.audit import audit
from synergy.queries.timetable.load import load_timetable
from synergy.runtime import identity
from synergy.runtime.identity import Incarnation
from synergy.storage.protocol import Store
from tests.acceptance import visits
from tests.acceptance.boxes.rig import Box
from tests.acceptance.kit import PAUSE, until
from tests.acceptance.visits import SITE
from tests.access_log import AccessLog, access_log
from workers.commands.collections import rows

IS_LONG = os.environ.get("SYNERGY_TEST_BOXES") == "long"
REST = 1800.0 if IS_LONG else 900.0  # seconds in which all must have come to rest
CLOCK = SystemClock()


def recent_log(day: date) -> AccessLog:
    """A log that began on `day`: a small one of two days, or a whole one."""
    return access_log(day) if IS_LONG else access_log(day, days=2, lines=400)


@dataclass
class Show:
    """The boxes at work on a log, of which more is read from time to time."""

    boxes: list[Box]
    gates: Path
    file: Path
    log: AccessLog
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
        self._read = min(len(self.log.lines), self._read + -(-len(self.log.lines) // self.parts))
        self.read_again(box)

    def read_again(self, box: Box) -> None:
        """Has a box read what was read before: what got lost on the way is sent again."""
        self.file.write_bytes(self.log.content(self._read))
        told = box.ask("ingest", self.file, "--site", SITE)
        assert told["problems"] == [], told

    def days(self) -> list[str]:
        """The days of all that was read so far."""
        return sorted(visits.statistics(self.log.visits(self._read), "daily"))

    def assert_all_is_well(self, box: Box) -> None:
        """At rest the figures are those of the log, all is accounted for, nothing was done twice.

        Looked for on `box`; each box runs what is assigned to it, once.
        """
        deployment = box.deployment()

        def is_at_rest(store: Store) -> bool:
            now = CLOCK.now()
            found = audit(store, load_timetable(store, deployment, now), now)
            if found.unfinished or not self._is_told(store, deployment):
                return False
            assert found.unexplained == ()
            return True

        with box.store() as store:
            until_seldom(lambda: is_at_rest(store))
            assert store.messages.buried() == []
        for each in self.boxes:
            assert_as_declared(each)

    def assert_all_is_told(self, box: Box) -> None:
        """What the commands say on `box` is what is so."""
        expected = self._expected()
        assert {name: visits.reported(box.report(name)) for name in expected} == expected
        assert box.audit()["unexplained"] == []
        assert box.ask("queue", "dead") == {"dead": [], "failed_runs": []}

    def until_figures(self, box: Box, meanwhile: Callable[[], object] = lambda: None) -> None:
        """Until each hour and day has the figures of what was read; looked for on `box`."""
        deployment = box.deployment()

        def look(store: Store) -> bool:
            meanwhile()
            return self._is_told(store, deployment)

        with box.store() as store:
            until_seldom(lambda: look(store))

    def _is_told(self, store: Store, deployment: Deployment) -> bool:
        """Whether the figures in the store are those of what was read."""
        return all(
            visits.reported(rows(store.documents, deployment, name)) == expected
            for name, expected in self._expected().items()
        )

    def _expected(self) -> dict[str, dict[str, visits.Numbers]]:
        found = self.log.visits(self._read)
        sites = {f"site_{q}": visits.statistics(found, q) for q in visits.DIGITS}
        return {**sites, "client_daily": sites["site_daily"]}


def until_seldom(look: Callable[[], bool]) -> None:
    """Until it is so. A stand-in reads whatever is looked at as a whole: so it is seldom done."""
    until(look, REST, lambda: threading.Event().wait(PAUSE))


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


def leader_of(store: Store, lease: str) -> Incarnation | None:
    """Who holds a lease, by what the store says."""
    found: Lease | None = store.leases.read(lease)
    return None if found is None or found.released else identity.parse(found.holder)


def days_ago(number: int) -> date:
    return (datetime.now(UTC) - timedelta(days=number)).date()
