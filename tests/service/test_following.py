"""The timetable that is kept in step with the journal is the one that the rows hold."""

from __future__ import annotations

import gc
import random
import threading
from datetime import UTC, datetime, timedelta

import pytest

from synergy.errors import Refused, StorageUnavailable
from synergy.model.job import JobMove, JobState
from synergy.names import TIMETABLE_START
from synergy.queries.timetable import follower as module
from synergy.queries.timetable.follower import TimetableFollower
from synergy.storage.sqlite.engine import SqliteStore
from synergy.timeperiod import Qualifier
from synergy.timetable.level import Level
from synergy.timetable.timetable import Timetable
from tests.deployments import DAILY, HOURLY, a_deployment, a_process
from tests.factories import an_entry
from tests.service.faults import FaultyStore
from tests.service.scheduler_harness import OPERATOR, SchedulerHarness
from tests.service.test_interleavings import HOURS, Play

HOUR, DAY = "SiteHourly", "SiteDaily"
EIGHT = "2015051708"
FIRST = Qualifier.HOURLY.parse("2015051700")


@pytest.fixture
def system():
    """A tree of hours and days that begins on 17 May; now is noon of the 18th."""
    day, hour = a_process(DAY, DAILY), a_process(HOUR, HOURLY)
    system = SchedulerHarness(
        a_deployment({"site": [day, hour]}), now=datetime(2015, 5, 18, 12, 0, tzinfo=UTC)
    )
    system.store.facts.set(TIMETABLE_START, "2015051700")
    return system


def following_of(system: SchedulerHarness, store=None) -> TimetableFollower:
    return TimetableFollower(store or system.store, system.deployment, system.clock)


def move(system, first, last, after, *, before=JobState.EMBRYO, generation=1, **fields) -> None:
    """Moves hours, numbered from the timetable's start."""
    refused = system.store.jobs.move(
        [
            JobMove(
                HOUR, HOURLY, FIRST + first, FIRST + last, before, after, generation, "", "test",
                **fields,
            )
        ],
        system.clock.now(),
    )  # fmt: skip
    assert not refused


def content(timetable: Timetable):
    """All that a timetable says of jobs."""
    return timetable.start, {
        name: (
            place.level.start,
            bytes(place.level.states),
            {at: n for at, n in place.level.generations.items() if place.level.holds(at)},
            place.level.frontier,
            list(place.level.counts),
        )
        for name, place in timetable.places.items()
    }


def words(timetable: Timetable, first: int, end: int) -> list[str]:
    level = timetable.place(HOUR).level
    return [level.state(FIRST + at).word for at in range(first, end)]


class Counting:
    """A store that counts how often rows of jobs are read, and of which processes."""

    def __init__(self, system: SchedulerHarness) -> None:
        self.reads: list[list[str] | None] = []
        load = system.store.jobs.load

        def counted(processes=None):
            self.reads.append(processes)
            return load(processes)

        system.store.jobs.load = counted


def test_a_look_shows_what_the_store_holds_by_now(system):
    following = following_of(system)
    assert words(following.timetable(), 0, 3) == ["embryo", "embryo", "embryo"]
    move(system, 0, 1, JobState.PROCESSED)
    assert words(following.timetable(), 0, 3) == ["processed", "processed", "embryo"]


def test_what_was_handed_out_never_changes(system):
    following = following_of(system)
    before = following.timetable()
    move(system, 0, 1, JobState.PROCESSED)
    following.timetable()
    assert words(before, 0, 2) == ["embryo", "embryo"]
    assert before.place(HOUR).level.frontier == FIRST


def test_processes_without_news_are_shared_and_so_is_a_timetable_without_any(system):
    following = following_of(system)
    before = following.timetable()
    move(system, 0, 0, JobState.PROCESSED)
    after = following.timetable()
    assert after.place(DAY).level is before.place(DAY).level
    assert after.place(HOUR).level is not before.place(HOUR).level
    assert following.timetable() is after


def test_the_places_of_a_new_timetable_know_one_another_and_none_of_the_old(system):
    following = following_of(system)
    before = following.timetable()
    move(system, 0, 0, JobState.PROCESSED)
    after = following.timetable()
    assert after.place(HOUR).parent is after.place(DAY)
    assert after.place(DAY).child is after.place(HOUR)
    assert before.place(DAY).child is before.place(HOUR)


def test_snapshots_that_nobody_looks_at_any_more_do_not_pile_up(system, monkeypatch):
    following = following_of(system)
    monkeypatch.setattr(module, "LEFT", 10 * following.timetable().place(HOUR).level.memory)
    gc.collect()
    before = _levels()
    gc.disable()  # as good as: it counts objects, and waits for as many as there are in MX
    gc.freeze()  # what is there already is not looked at again
    try:
        seen = [_levels_after_a_move(system, following, hour) for hour in range(36)]
    finally:
        gc.unfreeze()
        gc.enable()
    assert before + max(seen) < 20


def _levels_after_a_move(system, following, hour) -> int:
    move(system, hour, hour, JobState.PROCESSED)
    following.timetable()
    return _levels()


def _levels() -> int:
    return sum(type(each) is Level for each in gc.get_objects())


def test_news_that_follow_cost_no_reading_of_rows(system):
    following = following_of(system)
    following.timetable()
    counting = Counting(system)
    move(system, 0, 5, JobState.PROCESSED)
    move(system, 3, 3, JobState.PROCESSED, before=JobState.PROCESSED, stale=True)
    move(system, 4, 4, JobState.EMBRYO, before=JobState.PROCESSED, start_over=True)
    timetable = following.timetable()
    level = timetable.place(HOUR).level
    assert words(timetable, 2, 6) == ["processed", "processed", "embryo", "processed"]
    assert [level.is_stale(FIRST + at) for at in (2, 3, 4)] == [False, True, False]
    assert [level.generation(FIRST + at) for at in (3, 4)] == [1, 2]
    assert level.frontier == FIRST + 4
    assert counting.reads == []


def test_news_that_do_not_follow_have_that_process_read(system):
    following = following_of(system)
    following.timetable()
    move(system, 0, 0, JobState.PROCESSED)
    system.store.journal.append(
        [an_entry("job.processed", process=HOUR, first=EIGHT, last=EIGHT, before="final_run",
                  after="processed", generation=1)]
    )  # fmt: skip
    counting = Counting(system)
    assert words(following.timetable(), 0, 9) == ["processed"] + ["embryo"] * 8
    assert counting.reads == [[HOUR]]


def test_news_of_what_is_not_in_the_timetable_are_passed_over(system):
    following = following_of(system)
    before = following.timetable()
    job = {"before": "embryo", "after": "processed", "generation": 1}
    system.store.journal.append(
        [
            an_entry("job.processed", process="Gone", first=EIGHT, last=EIGHT, **job),
            an_entry("job.processed", process=DAY, first=EIGHT, last=EIGHT, **job),
            an_entry("job.processed", process=HOUR, first="2014010100", last="2014010100", **job),
            an_entry("unit.processed", process=HOUR, first=EIGHT, last=EIGHT, **job),
        ]
    )
    assert following.timetable() is before


def test_periods_that_begin_are_added(system):
    following = following_of(system)
    assert following.timetable().place(HOUR).level.end == FIRST + 37
    system.clock.advance(3600)
    timetable = following.timetable()
    assert timetable.place(HOUR).level.end == FIRST + 38
    assert timetable.place(HOUR).level.counts[JobState.EMBRYO] == 38
    assert timetable.place(DAY).level.end == timetable.place(DAY).level.start + 2


def test_what_another_clock_did_to_a_period_is_seen_when_it_begins_here(system):
    following = following_of(system)
    following.timetable()
    move(system, 36, 37, JobState.PROCESSED)
    following.timetable()
    system.clock.advance(3600)
    assert words(following.timetable(), 36, 38) == ["processed", "processed"]


def test_a_clock_that_is_set_back_takes_periods_away(system):
    following = following_of(system)
    move(system, 36, 36, JobState.PROCESSED)
    following.timetable()
    system.clock.advance(-2 * 3600)
    assert following.timetable().place(HOUR).level.end == FIRST + 35
    system.clock.advance(2 * 3600)
    assert words(following.timetable(), 36, 37) == ["processed"]


def test_an_earlier_first_hour_is_taken_over(system):
    following = following_of(system)
    move(system, 0, 0, JobState.PROCESSED)
    following.timetable()
    system.timetable_commands.extend("2015051600", OPERATOR, system.clock.now())
    timetable = following.timetable()
    assert timetable.start == "2015051600"
    assert words(timetable, -24, 1) == ["embryo"] * 24 + ["processed"]


def test_a_timetable_without_a_start_is_refused_until_there_is_one():
    system = SchedulerHarness(a_deployment({"site": [a_process(HOUR, HOURLY)]}))
    following = following_of(system)
    with pytest.raises(Refused):
        following.timetable()
    system.store.facts.set(TIMETABLE_START, "2015051700")
    assert following.timetable().start == "2015051700"


def test_entries_that_were_forgotten_unread_have_all_rows_read(system):
    following = following_of(system)
    following.timetable()
    move(system, 0, 0, JobState.PROCESSED)
    system.clock.advance(86400)
    system.store.journal.prune(system.clock.now() - timedelta(hours=1), 1000)
    move(system, 1, 1, JobState.PROCESSED)
    assert words(following.timetable(), 0, 2) == ["processed", "processed"]


def test_all_entries_may_be_forgotten_unread(system):
    following = following_of(system)
    following.timetable()
    move(system, 0, 0, JobState.PROCESSED)
    system.store.journal.prune(system.clock.now() + timedelta(hours=1), 1000)
    assert words(following.timetable(), 0, 2) == ["processed", "embryo"]


def test_entries_that_were_taken_in_may_be_forgotten(system):
    following = following_of(system)
    move(system, 0, 0, JobState.PROCESSED)
    following.timetable()
    system.store.journal.prune(system.clock.now() + timedelta(hours=1), 1000)
    counting = Counting(system)
    before = following.timetable()
    move(system, 1, 1, JobState.NOOP)
    assert words(following.timetable(), 0, 3) == ["processed", "noop", "embryo"]
    assert words(before, 0, 3) == ["processed", "embryo", "embryo"]
    assert counting.reads == []


@pytest.mark.parametrize("entries", [1, 2, 3, 4])
def test_another_store_is_read_anew(system, entries):
    """Its journal is shorter than the one before, as long, or longer."""
    following = following_of(system)
    for at in range(3):
        move(system, at, at, JobState.PROCESSED)
    following.timetable()
    other = SchedulerHarness(system.deployment, now=system.clock.now())
    other.store.facts.set(TIMETABLE_START, "2015051700")
    for at in range(10, 10 + entries):
        move(other, at, at, JobState.NOOP)
    following._store = other.store
    expected = ["embryo"] * 10 + ["noop"] * entries + ["embryo"]
    assert words(following.timetable(), 0, 11 + entries) == expected


def test_who_is_far_behind_reads_the_rows(system, monkeypatch):
    monkeypatch.setattr(module, "PAGE", 2)
    monkeypatch.setattr(module, "FAR", 4)
    following = following_of(system)
    following.timetable()
    counting = Counting(system)
    for at in range(6):
        move(system, at, at, JobState.PROCESSED)
    assert words(following.timetable(), 0, 7) == ["processed"] * 6 + ["embryo"]
    assert counting.reads == []  # 4 behind after the first page
    for at in range(6, 13):
        move(system, at, at, JobState.PROCESSED)
    assert words(following.timetable(), 0, 14) == ["processed"] * 13 + ["embryo"]
    assert counting.reads == [None]  # 5 behind


def test_a_store_that_does_not_answer_is_asked_again_by_the_next_look(system):
    """Whatever call it is that fails."""
    faulty = FaultyStore(system.store, 0, StorageUnavailable)
    following = following_of(system, faulty)
    following.timetable()
    failed = 0
    for at in range(8):
        move(system, at, at, JobState.PROCESSED)
        system.clock.advance(3600)
        faulty.fails_at = faulty.calls + at + 1
        try:
            timetable = following.timetable()
        except StorageUnavailable:
            failed += 1
            timetable = following.timetable()
        assert content(timetable) == content(system.timetable())
    assert failed >= 3


class Look(Play):
    """A course of events that is watched by some who look now and then."""

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
        """It is not the end that is of interest here."""

    def _compare(self) -> None:
        """Nor that all is done."""


@pytest.mark.parametrize("seed", range(12))
def test_after_any_course_of_events_it_is_what_the_rows_hold(seed):
    Look(seed).run()


@pytest.mark.parametrize("seed", range(40))
def test_after_any_moves_it_is_what_the_rows_hold(system, seed):
    """Ranges, generations, stale marks, time forth and back, pages of any length."""
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
            JobMove(
                place.process.name, place.process.qualifier, first, last, before, after,
                level.generation(first), "", "test", start_over=is_over, stale=is_stale,
            )
        ],
        system.clock.now(),
    )  # fmt: skip


def test_of_many_who_look_at_once_one_reads_the_rows(system):
    following, counting, start = following_of(system), Counting(system), threading.Barrier(6)

    def look() -> None:
        start.wait()
        following.timetable()

    threads = [threading.Thread(target=look) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counting.reads == [None]


class Door:
    """A lock that tells when somebody comes to it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.came = threading.Semaphore(0)

    def __enter__(self) -> None:
        self.came.release()
        self.lock.acquire()

    def __exit__(self, *_: object) -> None:
        self.lock.release()


def test_who_waits_while_a_store_hangs_does_not_wait_for_it_once_more(system):
    following, door, is_away, asked = following_of(system), Door(), threading.Event(), []
    following._turns._lock = door
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
        door.came.acquire()
    is_away.set()
    for thread in threads:
        thread.join()
    assert (len(asked), failures) == (1, ["away"] * 5)
    system.store.jobs.load = load
    assert content(following.timetable()) == content(system.timetable())


def test_many_may_look_while_others_write(tmp_path):
    """Each look of a thread shows at least as much as its look before, and in the end all."""
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
