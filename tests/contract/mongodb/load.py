"""Eight processes that work on one MongoDB store at once, over bad connections.

Two schedulers, four workers, a writer of source documents, and an observer that follows the
journal. All but the last also add to one number in a document, and to the journal. The services are
the real ones, called in turns with random pauses; between them and the server is a proxy. Each has
a clock that moves between its turns, so that leases end and units count as lost after some turns,
and the speed of the machine does not matter. The observer alone has a good connection, by which it
sees the end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from random import Random
from threading import Event

from synergy.clock import SystemClock
from synergy.errors import StorageUnavailable
from synergy.messaging.stored import StoredBus
from synergy.model.journal import JournalEntry
from synergy.model.process import Deployment
from synergy.storage.mongodb import MongoStore
from synergy.storage.protocol import Store
from synergy.worker.unit_runner import UnitRunner
from tests.deployments import DAILY, HOURLY, a_deployment, a_process
from tests.factories import an_entry
from tests.service.interleavings import HOURS
from tests.service.scheduler_harness import SchedulerHarness, copy_rows

ROLES = ("scheduler", "scheduler", "Hour", "Hour", "Hour", "Day", "writer", "observer")
WRITES = 60
LONGEST_PAUSE = 0.02  # seconds of the machine
LONGEST_STEP = 1.0  # seconds that a clock moves between two turns
MINUTES = 8  # of the clock, in which the work comes to rest
LIMIT = 300.0  # seconds of the machine; a bound, should the work never end
NOW = datetime(2015, 5, 18, 0, 5, tzinfo=UTC)
DAY = HOURS[0]

SHARE = 0.5  # of the turns that are followed by an addition
SUM = "sum"  # the collection of the number that all add to

_WRITTEN, _OVER = "load written", "load over"  # facts

_clock = SystemClock()


@dataclass(frozen=True, slots=True)
class Load:
    """A run: what its random numbers begin with, when it began, and its URL with the proxy."""

    seed: int
    began: float
    url: str

    def elapsed(self) -> float:
        return _clock.monotonic() - self.began


@dataclass(slots=True)
class Played:
    """What a process knows afterwards: numbers of the journal, or how its additions ended."""

    seen: list[int] = field(default_factory=list)
    made: set[str] = field(default_factory=set)
    unsure: set[str] = field(default_factory=set)  # the answer was lost


def deployment() -> Deployment:
    many = 1_000  # attempts, because a worker may be taken for dead often
    hour = a_process("Hour", HOURLY, source="raw", sink="hour", max_attempts=many)
    day = a_process("Day", DAILY, source="hour", sink="day", max_attempts=many)
    return a_deployment({"site": [day, hour]})


def writes(seed: int) -> list[tuple[str, str, int]]:
    """Hour, key and number of each document that the writer of this run writes."""
    random = Random(seed)
    return [(random.choice(HOURS), f"k{number}", number) for number in range(1, WRITES + 1)]


def expected(seed: int) -> dict[str, int]:
    """The sum of each hour."""
    sums: Counter[str] = Counter()
    for hour, _, number in writes(seed):
        sums[hour] += number
    return dict(sums)


def perform(store: Store, load: Load, number: int) -> Played:
    """Plays a role to the end."""
    role = ROLES[number]
    played = Played()
    if role == "observer":
        played.seen.extend(_observe(store, load))
        return played
    random = Random(load.seed * len(ROLES) + number)
    with closing(_opened(load.url)) as own:
        system = _system(own)
        turn = _turn(system, role, f"{role}-{number}", writes(load.seed))
        while store.facts.get(_OVER) is None and load.elapsed() < LIMIT:
            system.clock.advance(random.uniform(0, LONGEST_STEP))
            with suppress(StorageUnavailable):
                turn()
            if random.random() < SHARE:
                _add(own, f"{number}-{len(played.made | played.unsure)}", played)
            Event().wait(random.uniform(0, LONGEST_PAUSE))
        system.close()
    return played


def _opened(url: str) -> MongoStore:
    while True:
        with suppress(StorageUnavailable):
            return MongoStore.open(url)


def _system(store: Store) -> SchedulerHarness:
    return SchedulerHarness(deployment(), DAY, NOW, store, StoredBus)


def _turn(
    system: SchedulerHarness, role: str, owner: str, documents: Sequence[tuple[str, str, int]]
) -> Callable[[], object]:
    if role == "scheduler":
        return partial(_schedule, system, system.a_scheduler(owner))
    if role == "writer":
        return partial(_write, system, list(documents))
    runner = UnitRunner(system.workplace(role, owner), copy_rows, ("domain",), system.ended.append)
    system._runners[role] = runner
    return partial(system.round, role)


def _add(store: Store, name: str, played: Played) -> None:
    """Adds 1 to the number that all add to, then an entry of this name to the journal."""
    played.unsure.add(name)
    with suppress(StorageUnavailable):
        store.documents.update(SUM, [("all", DAY)], lambda _, old: {"n": _n(old) + 1})
        store.journal.append([an_entry(who=name)])
        played.unsure.remove(name)
        played.made.add(name)


def _n(document: Mapping[str, object] | None) -> int:
    return int(str(document["n"])) if document else 0


def _schedule(system: SchedulerHarness, scheduler: object) -> None:
    try:
        scheduler.run_once()
    except StorageUnavailable:
        scheduler._forget()


def _write(system: SchedulerHarness, left: list[tuple[str, str, int]]) -> None:
    """Writes a document; again if the answer was lost."""
    if left:
        hour, key, number = left[0]
        system.write("raw", hour, number, key)
        left.pop(0)
    else:
        system.store.facts.set(_WRITTEN, "yes")


def _observe(store: Store, load: Load) -> Iterator[int]:
    """Yields the numbers of the journal until the work is done; says then that it is."""
    seq = 0
    system = _system(store)
    while load.elapsed() < LIMIT:
        is_last = store.facts.get(_WRITTEN) is not None and _is_done(system, load)
        for entry in store.journal.since(seq, 10_000):
            seq = entry.seq
            yield seq
        if is_last:
            break
        Event().wait(LONGEST_PAUSE)
    store.facts.set(_OVER, "yes")


def _is_done(system: SchedulerHarness, load: Load) -> bool:
    if system.rows("day").get(DAY) != sum(expected(load.seed).values()):
        return False
    found = system.audit()
    return found.is_clean and not found.unfinished


def check(store: Store, seed: int, played: Sequence[Played]) -> None:
    """Checks the end state, which does not depend on the order of events."""
    for _ in range(2):  # completes what the last cut interrupted, as the collector would
        store.recover()
    system = _system(store)
    for _ in range(MINUTES):  # what a recovery announced late, or a process had when it ended
        system.advance(60)
        system.settle()
    sums = expected(seed)
    assert system.rows("day") == {DAY: sum(sums.values())}
    assert {hour: n for hour, n in system.rows("hour").items() if n} == sums
    audit = system.audit()
    assert (audit.unfinished, audit.unexplained, audit.failed, audit.given_up) == (0, (), 0, 0)
    for collection, count in store.documents.collections().items():
        assert count == len(list(store.documents.read(collection, "", "")))
    entries = store.journal.since(0, 100_000)
    _check_additions(store, entries, played)
    _check_journal(store, entries, played[-1].seen)
    system.close()


def _check_additions(
    store: Store, entries: Sequence[JournalEntry], played: Sequence[Played]
) -> None:
    made = {name for one in played for name in one.made}
    unsure = {name for one in played for name in one.unsure}
    (number,) = map(_n, store.documents.read(SUM, "", ""))
    assert len(made) <= number <= len(made) + len(unsure)
    times = Counter(entry.who for entry in entries if entry.who in made | unsure)
    assert set(times.values()) == {1}
    assert made <= set(times)


def _check_journal(store: Store, entries: Sequence[JournalEntry], seen: Sequence[int]) -> None:
    """Checks that no change is missing or journaled twice, and that followers see each once."""
    numbers = [entry.seq for entry in entries]
    assert numbers == list(range(1, len(entries) + 1))
    assert list(seen) == numbers[: len(seen)]
    claims = Counter((e.unit, e.attempt) for e in entries if e.event == "unit.in_progress")
    assert set(claims.values()) == {1}
    finished = ("job.processed", "job.noop")
    ends = Counter((e.process, e.first, e.generation) for e in entries if e.event in finished)
    assert set(ends.values()) == {1}
    chains: dict[str, list[JournalEntry]] = {}
    for entry in entries:
        if entry.unit and entry.event.startswith("unit."):
            chains.setdefault(entry.unit, []).append(entry)
    for unit in store.units.get(list(chains)):
        chain = chains[unit.id]
        assert (chain[0].before, chain[-1].after) == ("", unit.state.value)
        assert [one.after for one in chain[:-1]] == [one.before for one in chain[1:]]
        assert [one.after for one in chain].count("processed") <= 1
