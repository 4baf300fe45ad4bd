"""A followed timetable during random simulations, and under many readers."""

from __future__ import annotations

import random
import threading
from datetime import timedelta

import pytest

from synergy.errors import StorageUnavailable
from synergy.model.job import JobChange, JobState
from synergy.names import TIMETABLE_START
from synergy.queries.timetable import follower as module
from synergy.queries.timetable.follower import TimetableFollower
from synergy.storage.sqlite.engine import SqliteStore
from synergy.timeperiod import Qualifier
from tests.deployments import HOURLY, a_deployment, a_process
from tests.service.follower.kit import DAY, FIRST, HOUR, ReadCounter, content, following_of, move
from tests.service.interleavings import HOURS, Simulation
from tests.service.scheduler_harness import OPERATOR, SchedulerHarness


class WatchedSimulation(Simulation):
    """A random simulation with followers that are compared with the store."""

    steps = 120

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.watchers = [
            TimetableFollower(self.system.store, self.system.deployment, self.system.clock)
            for _ in range(3)
        ]

    def _check(self) -> None:
        super()._check()
        if self.system.store.facts.get(TIMETABLE_START) is None:
            return
        if self.random.random() < 0.05:
            self.system.store.journal.prune(self.system.clock.now(), self.random.choice([1, 50]))
            self.seq = max(self.seq, self.system.store.journal.last_seq())
        if self.random.random() < 0.03:
            self._skip()
        for number, watcher in enumerate(self.watchers):
            if self.random.random() < 1 / (1 + 3 * number):
                found, expected = watcher.timetable(), self.system.timetable()
                assert content(found) == content(expected)

    def _skip(self) -> None:
        hour = self.random.choice(HOURS)
        self.system.skip("Hour", (hour, hour), OPERATOR, self.system.clock.now())

    def _come_to_rest(self) -> None:
        """The end is not tested here."""

    def _compare(self) -> None:
        """Completeness is not tested here."""


@pytest.mark.parametrize("seed", range(12))
def test_followers_equal_the_store_throughout_random_simulations(seed):
    WatchedSimulation(seed).run()


@pytest.mark.parametrize("seed", range(40))
def test_a_follower_equals_the_store_after_random_moves(system, seed):
    """Ranges, generations, stale marks, clock steps in both directions, pages of any length."""
    dice = random.Random(seed)
    following = following_of(system)
    module_page, module.PAGE = module.PAGE, dice.choice([1, 3, 5000])
    try:
        for _ in range(60):
            _any_step(system, dice)
            if dice.random() < 0.5:
                assert content(following.timetable()) == content(system.timetable())
    finally:
        module.PAGE = module_page


def _any_step(system: SchedulerHarness, dice: random.Random) -> None:
    roll = dice.random()
    if roll < 0.1:
        system.clock.advance(dice.choice([600, 3600, 86400, -1800, -7200]))
    elif roll < 0.13:
        system.store.journal.prune(system.clock.now() + timedelta(days=9), dice.choice([1, 1000]))
    elif roll < 0.16:
        start = system.timetable().start
        earlier = HOURLY.timeperiod(HOURLY.parse(start) - dice.randint(1, 30))
        system.timetable_commands.extend(earlier, OPERATOR, system.clock.now())
    else:
        _any_move(system, dice)


def _any_move(system: SchedulerHarness, dice: random.Random) -> None:
    place = system.timetable().place(dice.choice([HOUR, DAY]))
    level = place.level
    first = dice.randrange(level.start, level.end + 2)
    last = first + dice.choice([0, 0, 1, 7])
    before = level.state(first) if level.holds(first) else JobState.EMBRYO
    is_over = before.is_finished and dice.random() < 0.6
    is_stale = not is_over and before.is_finished
    others = [state for state in JobState if state not in (JobState.EMBRYO, before)]
    after = JobState.EMBRYO if is_over else before if is_stale else dice.choice(others)
    system.store.jobs.move(
        [
            JobChange(
                place.process.name, place.process.qualifier, first, last, before, after,
                level.generation(first), "", "test", start_over=is_over, stale=is_stale,
            )
        ],
        system.clock.now(),
    )  # fmt: skip


def test_one_of_many_concurrent_readers_reads_the_rows(system):
    following, counter, start = following_of(system), ReadCounter(system), threading.Barrier(6)

    def look() -> None:
        start.wait()
        following.timetable()

    threads = [threading.Thread(target=look) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counter.reads == [None]


class ObservedLock:
    """A lock that shows when a thread is about to acquire it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.arrivals = threading.Semaphore(0)

    def __enter__(self) -> None:
        self.arrivals.release()
        self.lock.acquire()

    def __exit__(self, *_: object) -> None:
        self.lock.release()


def test_readers_that_wait_for_a_hanging_read_share_its_failure(system):
    following, lock, is_away, asked = following_of(system), ObservedLock(), threading.Event(), []
    following._flight._lock = lock
    load, failures = system.store.jobs.load, []

    def hangs(*_: object) -> None:
        asked.append(None)
        is_away.wait()
        raise StorageUnavailable("away")

    def look() -> None:
        try:
            following.timetable()
        except StorageUnavailable as error:
            failures.append(str(error))

    system.store.jobs.load = hangs
    threads = [threading.Thread(target=look) for _ in range(5)]
    for thread in threads:
        thread.start()
        lock.arrivals.acquire()
    is_away.set()
    for thread in threads:
        thread.join()
    assert (len(asked), failures) == (1, ["away"] * 5)
    system.store.jobs.load = load
    assert content(following.timetable()) == content(system.timetable())


def test_concurrent_readers_never_see_older_states(tmp_path):
    """Each look of a thread shows at least as many processed jobs as its previous look."""
    hours = 400
    deployment = a_deployment({"site": [a_process(HOUR, HOURLY)]})
    now = Qualifier.HOURLY.start(FIRST + hours)
    system = SchedulerHarness(deployment, now=now, store=SqliteStore.open(tmp_path / "synergy.db"))
    system.store.facts.set(TIMETABLE_START, "2015051700")
    following = following_of(system)
    is_over = threading.Event()
    shrunk: list[int] = []

    def look() -> None:
        seen = 0
        while not is_over.is_set():
            counts = following.timetable().place(HOUR).level.counts
            shrunk.extend([seen] * (counts[JobState.PROCESSED] < seen))
            shrunk.extend([seen] * (sum(counts) != hours + 1))
            seen = counts[JobState.PROCESSED]

    threads = [threading.Thread(target=look) for _ in range(6)]
    for thread in threads:
        thread.start()
    for at in range(hours):
        move(system, at, at, JobState.PROCESSED)
    is_over.set()
    for thread in threads:
        thread.join()
    assert shrunk == []
    assert following.timetable().place(HOUR).level.counts[JobState.PROCESSED] == hours
    assert content(following.timetable()) == content(system.timetable())
