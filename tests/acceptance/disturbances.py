"""What can happen to a system at work: each disturbance is a block, after which it has ended.

Random choices come from the generator that is passed in, so that a seed repeats them.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass
from random import Random

import apsw

from synergy.errors import SynergyError
from tests.acceptance.boxes.cluster import lasting
from tests.acceptance.disks import LoopDisk
from tests.acceptance.kit import Home, kill, pause, resume, until
from tests.malformed_rows import spoiled
from tests.servers.rabbitmq_node import Node
from tests.servers.wire import Wire

LONGEST = 7.0  # seconds: longer than leases and heartbeats of the disturbed deployment
GARBAGE = (
    b"\xff\xfe",
    b"[]",
    b'{"v": 99}',
    b'{"v": 1, "type": "unit", "unit": ["x"]}',
    b"[" * 9999,
)


@dataclass(frozen=True, slots=True)
class Disturbed:
    """A home, and what can be done to its surroundings."""

    home: Home
    random: Random
    disk: LoopDisk | None = None
    store: Wire | None = None
    bus: Wire | None = None
    broker: Node | None = None

    def some_pids(self) -> list[int]:
        """One to three processes of the home, or all of them with the supervisor."""
        supervisor, workers = self.home.supervisor(), sorted(self.home.marked())
        everything = [pid for pid in (supervisor, *workers) if pid]
        if self.random.random() < 0.2:
            return everything
        return self.random.sample(everything, min(len(everything), self.random.randint(1, 3)))

    def lasting(self) -> AbstractContextManager[None]:
        return lasting(self.random.uniform(0.2, LONGEST))


Disturbance = Callable[[Disturbed], AbstractContextManager[None]]


@contextmanager
def killed(it: Disturbed) -> Iterator[None]:
    """`kill -9` of processes, all at once or one after another."""
    for pid in it.some_pids():
        kill(pid)
    yield


@contextmanager
def paused(it: Disturbed) -> Iterator[None]:
    """SIGSTOP of processes; they continue at the end."""
    pids = [pid for pid in it.some_pids() if pid != it.home.supervisor()]
    for pid in pids:
        with suppress(ProcessLookupError, FileNotFoundError):
            pause(it.home, pid)
    try:
        with it.lasting():
            yield
    finally:
        for pid in pids:
            resume(pid)


@contextmanager
def full_disk(it: Disturbed) -> Iterator[None]:
    assert it.disk is not None
    with it.disk.full(), it.lasting():
        yield


@contextmanager
def power_loss(it: Disturbed) -> Iterator[None]:
    """Everything ends at once, and what was not synced is lost."""
    assert it.disk is not None
    pids = [it.home.supervisor(), *it.home.marked()]
    it.disk.lose_power()
    for pid in filter(None, pids):
        kill(pid)
    it.disk.unmount()
    it.disk.mount()
    yield


@contextmanager
def locked(it: Disturbed) -> Iterator[None]:
    """Another program holds the write lock of the store."""
    with closing(apsw.Connection(str(it.home.path / "synergy.db"))) as connection:
        connection.set_busy_timeout(30_000)
        connection.execute("BEGIN IMMEDIATE")
        with it.lasting():
            yield
        connection.execute("ROLLBACK")


@contextmanager
def deleted_files(it: Disturbed) -> Iterator[None]:
    """Files beside the store are deleted: sockets, logs, locks, records of processes."""
    for name in it.random.sample(("bells", "logs", "run", "audit-log"), 2):
        shutil.rmtree(it.home.path / name, ignore_errors=True)
    with it.lasting():
        yield


@contextmanager
def garbage(it: Disturbed) -> Iterator[None]:
    """Malformed messages in the queues of workers."""
    with it.home.store() as store, store.batch():
        for queue in ("SumHourly", "SumDaily"):
            store.messages.put(queue, it.random.sample(GARBAGE, 2))
    yield


@contextmanager
def malformed_row(it: Disturbed) -> Iterator[None]:
    """A row that cannot be read, which is repaired at the end."""
    kind = it.random.choice(("unit", "journal", "job_block"))
    with it.home.store() as store, spoiled(store, it.random, kind) as done, it.lasting():
        sys.stdout.write(f"  {done}\n")
        yield


@contextmanager
def cut(it: Disturbed) -> Iterator[None]:
    """Connections break, several times."""
    for wire in filter(None, (it.store, it.bus)):
        wire.cut()
    with it.lasting():
        yield
    for wire in filter(None, (it.store, it.bus)):
        wire.cut()


def silent(name: str) -> Disturbance:
    """One of the servers does not answer."""

    @contextmanager
    def block(it: Disturbed) -> Iterator[None]:
        wire: Wire = getattr(it, name)
        wire.go_dead()
        try:
            with it.lasting():
                yield
        finally:
            wire.revive()

    return block


@contextmanager
def broker_restarted(it: Disturbed) -> Iterator[None]:
    """`kill -9` of the broker, which starts again after a while."""
    assert it.broker is not None
    it.broker.kill()
    with it.lasting():
        yield
    it.broker.start()


OF_ALL: Mapping[str, Disturbance] = {"killed": killed, "paused": paused}
OF_FILES: Mapping[str, Disturbance] = {
    "locked": locked,
    "deleted files": deleted_files,
    "garbage": garbage,
    "malformed row": malformed_row,
}
OF_DISKS: Mapping[str, Disturbance] = {"full disk": full_disk, "power loss": power_loss}
OF_SERVERS: Mapping[str, Disturbance] = {
    "cut": cut,
    "silent store": silent("store"),
    "silent bus": silent("bus"),
}
OF_BROKERS: Mapping[str, Disturbance] = {"broker restarted": broker_restarted}


def started_again(home: Home) -> None:
    """Starts the supervisor if it has ended; it may still be about to end."""

    def is_up() -> bool:
        try:
            home.launch("supervisor", "start", code=None)
            return home.supervisor() != 0
        except (SynergyError, OSError):
            return False

    until(is_up)
