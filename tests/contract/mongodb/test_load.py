"""Real services of many processes at once, over connections that are slow and break."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from random import Random
from threading import Event

import pytest

from synergy.clock import SystemClock
from tests.contract.concurrency import in_processes
from tests.contract.mongodb.kit import opened
from tests.contract.mongodb.load import ROLES, Load, check, perform
from tests.seeds import seeds
from tests.servers.mongodb import Server
from tests.servers.wire import Filter, Wire, wire

DELAYS = (0, 0, 0, 0, 0, 0.002, 0.01, 0.05)  # seconds before an answer
CALM = (0.3, 1.5)  # seconds between two cuts
CUTS = 12


@pytest.mark.parametrize("seed", seeds(1))
def test_all_work_is_done_once(mongo_java: Server, seed: int) -> None:
    numbers = count(seed * 1_000)
    with (
        mongo_java.fresh_database() as url,
        opened(url) as store,
        wire(url, lambda: _delaying(Random(next(numbers)))) as (line, through),
        _cutting(line, Random(seed)),
    ):
        load = Load(seed, SystemClock().monotonic(), through)
        played = in_processes(url, perform, [(load, number) for number in range(len(ROLES))])
        check(store, seed, played)


def _delaying(random: Random) -> Filter:
    def delayed(some: bytes) -> bytes:
        Event().wait(random.choice(DELAYS))
        return some

    return delayed


@contextmanager
def _cutting(line: Wire, random: Random) -> Iterator[None]:
    """Cuts all connections some times."""
    done = Event()

    def cut() -> None:
        for _ in range(CUTS):
            if done.wait(random.uniform(*CALM)):
                break
            line.cut()

    thread = threading.Thread(target=cut)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
