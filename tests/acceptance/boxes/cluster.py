"""Three boxes that process a growing log, and the checks of their results."""

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
from synergy.queries.collections import rows
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
from workers.commands.report import reported

IS_LONG = os.environ.get("SYNERGY_TEST_BOXES") == "long"
REST = 1800.0 if IS_LONG else 900.0  # seconds within which all work must be finished
CLOCK = SystemClock()


def recent_log(day: date) -> AccessLog:
    """A log that begins on `day`: two days, or the full log with `IS_LONG`."""
    return access_log(day) if IS_LONG else access_log(day, days=2, lines=400)


@dataclass
class Cluster:
    """The three boxes; they process a log that is ingested part by part."""

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
        """Ingests the log on a box, with one more part."""
        self._read = min(len(self.log.lines), self._read + -(-len(self.log.lines) // self.parts))
        self.read_again(box)

    def read_again(self, box: Box) -> None:
        """Ingests the same lines again on a box, which sends lost messages again."""
        self.file.write_bytes(self.log.content(self._read))
        report = box.ask("ingest", self.file, "--site", SITE)
        assert report["problems"] == [], report

    def days(self) -> list[str]:
        """The days of all lines that were ingested so far."""
        return sorted(visits.statistics(self.log.visits(self._read), "daily"))

    def assert_all_is_well(self, box: Box) -> None:
        """Waits on `box` until all work is finished with the figures of the log.

        Then the audit finds nothing unexplained, no message is in quarantine, and each box runs
        each assigned process once.
        """
        deployment = box.deployment()

        def is_at_rest(store: Store) -> bool:
            now = CLOCK.now()
            found = audit(store, load_timetable(store, deployment, now), now)
            if found.unfinished or not self._has_figures(store, deployment):
                return False
            assert found.unexplained == ()
            return True

        with box.store() as store:
            until_seldom(lambda: is_at_rest(store))
            assert store.messages.buried() == []
        for each in self.boxes:
            assert_as_declared(each)

    def assert_commands_report_all(self, box: Box) -> None:
        """`report`, `audit` and `queue dead` on `box` show the results of the log."""
        expected = self._expected()
        assert {name: visits.reported(box.report(name)) for name in expected} == expected
        assert box.audit()["unexplained"] == []
        assert box.ask("queue", "dead") == {"dead": [], "failed_runs": []}

    def until_figures(self, box: Box, meanwhile: Callable[[], object] = lambda: None) -> None:
        """Waits on `box` until each hour and day has the figures of the ingested lines."""
        deployment = box.deployment()

        def look(store: Store) -> bool:
            meanwhile()
            return self._has_figures(store, deployment)

        with box.store() as store:
            until_seldom(lambda: look(store))

    def _has_figures(self, store: Store, deployment: Deployment) -> bool:
        """Whether the figures in the store are those of the ingested lines."""
        return all(
            visits.reported(reported(rows(store.documents, deployment, name))) == expected
            for name, expected in self._expected().items()
        )

    def _expected(self) -> dict[str, dict[str, visits.Numbers]]:
        found = self.log.visits(self._read)
        sites = {f"site_{q}": visits.statistics(found, q) for q in visits.DIGITS}
        return {**sites, "client_daily": sites["site_daily"]}


def until_seldom(look: Callable[[], bool]) -> None:
    """Waits until `look` is true, rarely asked: the MongoDB stand-in reads whole collections."""
    until(look, REST, lambda: threading.Event().wait(PAUSE))


def assert_as_declared(box: Box) -> None:
    """Each process that is assigned to the box runs in all its instances, and no other does."""
    leaders = box.until_all_run()
    with box.store() as store:
        assigned = {a.process for a in store.boxes.assignments(box.box) if a.is_on}
    declared = Counter(
        f"{process.name}/{instance}"
        for process in box.deployment().processes.values()
        if process.is_on and process.name in assigned
        for instance in range(1, process.instances + 1)
    )
    assert Counter(box.slotted().values()) == declared
    assert set(box.slotted()) == set(leaders.values())
    supervisor = {box.supervisor()}
    assert box.machine.pids() >= supervisor | set(leaders.values())


@contextmanager
def lasting(seconds: float) -> Iterator[None]:
    """A block that takes at least this many seconds."""
    begun = CLOCK.monotonic()
    yield
    threading.Event().wait(max(0.0, begun + seconds - CLOCK.monotonic()))


def leader_of(store: Store, lease: str) -> Incarnation | None:
    """The process that holds a lease; None if it is free."""
    found: Lease | None = store.leases.read(lease)
    return None if found is None or found.released else identity.parse(found.holder)


def days_ago(number: int) -> date:
    return (datetime.now(UTC) - timedelta(days=number)).date()
