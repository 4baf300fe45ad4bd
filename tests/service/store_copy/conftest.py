"""What the tests of copies share: a deployment to copy, and targets."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from synergy.storage.mongodb import MongoStore
from synergy.storage.protocol import LogLine
from tests.contract.operated import an_answer, an_operation
from tests.contract.scheduled import a_run, a_schedule, an_event
from tests.service.commands import BOX, NOW
from tests.service.scheduler_harness import SchedulerHarness
from tests.service.store_copy.kit import DAY, HOUR, release_leases


@pytest.fixture
def ran(deployed: SchedulerHarness) -> SchedulerHarness:
    """A stopped deployment whose store has records of every kind."""
    for hour in range(3):
        deployed.write("single_session", f"201505180{hour}", hour + 1, key=f"d{hour}")
    deployed.settle()
    deployed.write("single_session", "2015051801", 7, key="late")
    deployed.write("single_session", "2015052010", 1)
    deployed.advance(30)  # two periods are reprocessed: their units wait for workers
    (unit, *_) = deployed.units(HOUR, "2015051800")
    deployed.store.logs.append(unit.id, [LogLine(NOW, 1, "INFO", f"{n}") for n in range(3)])
    deployed.store.controls.set_trigger(HOUR, "every 60", "me", "so", NOW)
    deployed.store.boxes.assign(BOX, [HOUR, DAY])
    deployed.store.boxes.report(BOX, [], NOW - timedelta(hours=1))
    deployed.store.messages.bury(HOUR, b"\xff", "nobody knows", NOW)
    deployed.store.schedules.create([a_schedule()], "me")
    deployed.store.runs.create([a_run()], "me")
    deployed.store.events.append([an_event()])
    deployed.store.payloads.put(b"{}")
    deployed.store.operations.accept(an_operation())
    deployed.store.answers.begin(an_answer())
    release_leases(deployed.store)
    return deployed


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The path of a file that does not exist yet."""
    return tmp_path / "copies" / "copy.db"


@pytest.fixture
def mongo(mongodb_url: str) -> Iterator[MongoStore]:
    """The database that is copied into."""
    with closing(MongoStore.open(mongodb_url)) as store:
        yield store
