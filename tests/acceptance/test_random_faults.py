"""Random disturbances while sources change: nothing is lost, doubled or left undone.

`SYNERGY_TEST_SEED` chooses the disturbances, `SYNERGY_TEST_ROUNDS` how many there are. The seed and
the round stand in each failure.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import pytest

from synergy.errors import SynergyError
from tests.acceptance import disturbances
from tests.acceptance.conftest import homes_in
from tests.acceptance.disks import loop_disk
from tests.acceptance.disturbances import Disturbance, Disturbed, started_again
from tests.acceptance.kit import Home, until
from tests.servers import rabbitmq as rabbitmq_servers
from tests.servers.wire import wire

SEED = int(os.environ.get("SYNERGY_TEST_SEED", "20150517"))
ROUNDS = int(os.environ.get("SYNERGY_TEST_ROUNDS", "4"))
DAY = f"{datetime.now(UTC) - timedelta(days=1):%Y%m%d}"
HOURS = tuple(f"{DAY}{hour:02}" for hour in range(24))
CONTEXT = {
    "start_timeperiod": HOURS[0],
    "context": "tests.acceptance.deployments.disturbed",
    "test_short_limits": "1",
    "test_gates": "/nowhere",  # no unit waits
}


def test_files_and_processes(tmp_path: Path) -> None:
    with loop_disk(tmp_path / "disk") as disk, homes_in(tmp_path / "disk") as make:
        it = Disturbed(make(**CONTEXT), Random(SEED), disk)
        more = disturbances.OF_DISKS if disk is not None else {}
        survive(it, {**disturbances.OF_ALL, **disturbances.OF_FILES, **more})


def test_servers_and_processes(
    mongodb_url: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    shared = request.getfixturevalue("rabbitmq")
    with (
        rabbitmq_servers.ill_treated(shared, tmp_path / "broker") as broker,
        wire(mongodb_url) as (to_store, store),
        wire(broker.url) as (to_bus, bus),
        homes_in(tmp_path) as make,
    ):
        home = make(**CONTEXT, store=store, bus=bus)
        it = Disturbed(home, Random(SEED), None, to_store, to_bus, broker.node)
        more = disturbances.OF_BROKERS if broker.node is not None else {}
        survive(it, {**disturbances.OF_ALL, **disturbances.OF_SERVERS, **more})


def survive(it: Disturbed, disturb: Mapping[str, Disturbance]) -> None:
    """Disturbs the system in rounds; after each one everything is as the sources say."""
    it.home.start()
    expected = {HOURS[0]: 1}
    write(it.home, expected)
    assert_settled(it.home, expected)
    for number in range(ROUNDS):
        name = it.random.choice(sorted(disturb))
        changes = {hour: it.random.randint(1, 999) for hour in it.random.sample(HOURS, 3)}
        with told(f"seed {SEED}, round {number}: {name}"):
            disturbed_round(it, disturb[name], changes)
            expected |= changes
            assert_settled(it.home, expected)


@contextmanager
def told(title: str) -> Iterator[None]:
    """Adds the title to a failure, and prints it for those who look on."""
    sys.stdout.write(f"{title}\n")
    try:
        yield
    except BaseException as error:
        error.add_note(title)
        raise


def disturbed_round(it: Disturbed, disturb: Disturbance, changes: Mapping[str, int]) -> None:
    early = dict(list(changes.items())[: it.random.randint(0, len(changes))])
    write(it.home, early)
    with disturb(it):
        pass
    started_again(it.home)
    write(it.home, changes)


def write(home: Home, changes: Mapping[str, int]) -> None:
    """Writes rows of the source, as often as needed; to write them again changes nothing."""

    def is_written() -> bool:
        try:
            with home.store() as store:
                store.documents.update(
                    "raw",
                    [(hour, hour) for hour in changes],
                    lambda hour, _: {"domain": "d", "timeperiod": hour, "n": changes[hour]},
                )
        except SynergyError:
            return False
        return True

    if changes:
        until(is_written, home.limit)


def assert_settled(home: Home, expected: Mapping[str, int]) -> None:
    """Waits until rows are as expected, and finds nothing unexplained, illegal or left over."""
    home.until(lambda _: values(home, "hours") == expected, home.limit)
    home.until(lambda _: values(home, "days") == {f"{DAY}00": sum(expected.values())}, home.limit)
    assert home.audit()["unexplained"] == []
    home.check_journal()
    home.until_all_run()


def values(home: Home, collection: str) -> dict[str, int]:
    with home.store() as store:
        rows = store.documents.read(collection, "", "")
        return {str(row["timeperiod"]): int(str(row["n"])) for row in rows}
