"""Random simulation of schedulers, workers and an operator, with a check of invariants."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime

from synergy.errors import Refused
from synergy.messaging.message import UnitMessage
from synergy.model.job import JobState
from synergy.model.process import Blocking, Deployment, StateMachine
from synergy.model.unit_of_work import (
    Conclusion,
    Document,
    Hint,
    SinkWrite,
    UnitOfWork,
    UnitState,
)
from synergy.names import TIMETABLE_START
from tests.deployments import DAILY, HOURLY, a_deployment, a_process
from tests.service.scheduler_harness import OPERATOR, SchedulerHarness, close_systems

HOURS = [f"20150517{hour:02}" for hour in range(24)]
BUSY = HOURS[3:5]  # the hours that receive data
SINKS = {"Hour": "hour", "Day": "day", "Client": "client"}
REST = 25  # turns between two checks for completion: a job may wait a minute after a failure


class Broken(AssertionError):
    """An invariant does not hold."""


@dataclass(eq=False)
class StepWorker:
    """A worker that can be stopped between any two steps: take, read, conclude."""

    system: SchedulerHarness
    process: str
    owner: str
    units: list[UnitOfWork] = field(default_factory=list)
    ready: list[Conclusion] = field(default_factory=list)

    def step(self) -> None:
        store, now = self.system.store, self.system.clock.now()
        if self.ready:
            self._conclude(self.ready.pop(0), now)
        elif self.units:
            self.ready.append(self._compute(self.units.pop(0)))
        else:
            with (
                closing(self.system.bus.consumer(self.process)) as consumer,
                store.batch() as batch,
            ):
                taken = [d.message for d in consumer.take(2, batch)]
                hints = [Hint(m.unit, m.attempt) for m in taken if isinstance(m, UnitMessage)]
                self.units = store.units.claim(hints, self.owner, now) if hints else []

    def _conclude(self, conclusion: Conclusion, now: datetime) -> None:
        """Only the newest attempt's owner may conclude."""
        units = self.system.store.units
        (row,) = units.get([conclusion.unit])
        if not units.conclude([conclusion], now) and (row.attempt, row.owner) != (
            conclusion.attempt,
            self.owner,
        ):
            raise Broken(f"{conclusion} was accepted although the unit was {row}")

    def die(self) -> None:
        self.units, self.ready = [], []

    def _compute(self, unit: UnitOfWork) -> Conclusion:
        process = self.system.deployment.managed()[self.process]
        rows = list(
            self.system.store.documents.read(
                process.source, unit.start_timeperiod, unit.end_timeperiod
            )
        )
        documents = (
            Document("d", unit.timeperiod, {"timeperiod": unit.timeperiod, "n": _total(rows)}),
        )
        write = SinkWrite(
            SINKS[self.process],
            unit.start_timeperiod,
            unit.end_timeperiod,
            documents if rows else (),
        )
        return Conclusion(unit.id, unit.attempt, self.owner, UnitState.PROCESSED, writes=(write,))


def _total(rows) -> int:
    return sum(int(str(row["n"])) for row in rows)


class Simulation:
    """One random simulation on the real code, step by step."""

    steps = 250

    def __init__(
        self, seed: int, mutate: Callable[[SchedulerHarness], None] = lambda _: None
    ) -> None:
        self.random = random.Random(seed)
        processes = [
            a_process("Day", DAILY, source="hour", sink="day", max_attempts=1000,
                      state_machine=self.random.choice(list(StateMachine))),
            a_process("Hour", HOURLY, source="raw", sink="hour", max_attempts=1000,
                      state_machine=self.random.choice(list(StateMachine))),
        ]  # fmt: skip
        client = a_process(
            "Client", DAILY, source="day", sink="client", blocking=Blocking.DEPENDENCIES,
            max_attempts=1000,
        )  # fmt: skip
        self.system = self._system(
            a_deployment({"site": processes, "client": [client]}, {"client": ("site",)}),
            datetime(2015, 5, 18, 0, 30, tzinfo=UTC),
        )
        mutate(self.system)
        self.schedulers = [self.system.scheduler, self.system.a_scheduler("scheduler-2")]
        self.workers = [
            StepWorker(self.system, process, f"worker-{process}-{n}")
            for n in range(3)
            for process in SINKS
        ]
        self.raw: Counter[str] = Counter()
        self.written = 0
        self.frozen: dict[tuple[str, str], tuple[int, object]] = {}
        self.seq = 0
        self.claims: Counter[tuple[str, int]] = Counter()
        self.finishes: Counter[tuple[str, str, int]] = Counter()

    def _system(self, deployment: Deployment, now: datetime) -> SchedulerHarness:
        return SchedulerHarness(deployment, now=now)

    def run(self) -> None:
        try:
            self._run()
        finally:
            close_systems()

    def _run(self) -> None:
        for _ in range(self.steps):
            self._step()
            self._check()
        self._come_to_rest()
        self._check()
        self._compare()

    def _step(self) -> None:
        roll = self.random.random()
        if roll < 0.33:
            self.random.choice(self.workers).step()
        elif roll < 0.60:
            self.random.choice(self.schedulers).run_once()
        elif roll < 0.74:
            self.system.clock.advance(self.random.choice([0.1, 1, 4, 4, 12, 20, 70]))
        elif roll < 0.88:
            self._data()
        elif roll < 0.92:
            self._operator()
        elif roll < 0.95:
            self.random.choice(self.workers).die()
        else:
            self._mishandle_messages()

    def _data(self) -> None:
        hour = self.random.choice(BUSY)
        self.written += 1
        self.raw[hour] += self.written
        self.system.write("raw", hour, self.written, key=f"k{self.written}")

    def _operator(self) -> None:
        process = self.random.choice(list(SINKS))
        timeperiod = self.random.choice(BUSY) if process == "Hour" else "2015051700"
        with suppress(Refused):  # the timetable has no start before a scheduler has led
            self.system.reprocess(
                process, (timeperiod, timeperiod), OPERATOR, self.system.clock.now()
            )

    def _mishandle_messages(self) -> None:
        process = self.random.choice(list(SINKS))
        messages = self.system.store.messages
        bodies = [message.body for message in messages.take(process, 100)]
        self.random.shuffle(bodies)
        if bodies and self.random.random() < 0.5:
            bodies.pop()
        if bodies and self.random.random() < 0.5:
            bodies.append(bodies[0])
        messages.put(process, bodies)

    def _check(self) -> None:
        for entry in self.system.store.journal.since(self.seq, 10_000):
            self.seq = entry.seq
            if entry.event == "unit.in_progress":
                self.claims[(str(entry.unit), entry.attempt)] += 1
                if self.claims[(str(entry.unit), entry.attempt)] > 1:
                    raise Broken(f"claimed twice: {entry}")
            if entry.event in ("job.processed", "job.noop"):
                self._finished(entry)
        if self.system.store.facts.get(TIMETABLE_START) is not None:
            self._check_tree(self.system.timetable())

    def _finished(self, entry) -> None:
        name = (entry.process, entry.first, entry.generation)
        self.finishes[name] += 1
        if self.finishes[name] > 1:
            raise Broken(f"finished twice: {entry}")

    def _check_tree(self, timetable) -> None:
        day = timetable.place("Day")
        ordinal = day.level.ordinal("2015051700")
        if day.level.state(ordinal).is_finished and not timetable.place("Hour").level.all_finished(
            *day.children(ordinal)
        ):
            raise Broken("a finished day has unfinished hours")
        for process, sink in SINKS.items():
            level = timetable.place(process).level
            rows = self.system.rows(sink)
            for timeperiod in BUSY if process == "Hour" else ["2015051700"]:
                at = level.ordinal(timeperiod)
                name = (process, timeperiod)
                if level.state(at) not in (JobState.PROCESSED, JobState.NOOP):
                    self.frozen.pop(name, None)
                    continue
                now = (level.generation(at), rows.get(timeperiod))
                before = self.frozen.setdefault(name, now)
                if before != now and before[0] == now[0]:
                    raise Broken(f"{name} is finished and changed from {before} to {now}")
                self.frozen[name] = now

    def _come_to_rest(self) -> None:
        for worker in self.workers:
            if self.random.random() < 0.5:
                worker.die()
        for turn in range(1, 401):
            for scheduler in self.schedulers:
                scheduler.run_once()
            for worker in self.workers:
                worker.step()
            self.system.clock.advance(4)
            self._check()
            if turn % REST == 0 and self._is_done():
                break
        for scheduler in self.schedulers:
            scheduler.run_once()

    def _is_done(self) -> bool:
        with suppress(Broken):
            self._compare()
            return True
        return False

    def _compare(self) -> None:
        expected = {hour: total for hour, total in self.raw.items() if total}
        if self.system.rows("hour") != expected:
            raise Broken(f"hours are {self.system.rows('hour')}, expected {expected}")
        total = sum(expected.values())
        for sink in ("day", "client"):
            rows = {k: v for k, v in self.system.rows(sink).items() if v}
            if rows != ({"2015051700": total} if total else {}):
                raise Broken(f"{sink} is {rows}, expected {total}")
        found = self.system.audit()
        if found.unfinished or found.unexplained:
            raise Broken(f"not complete: {found}")
