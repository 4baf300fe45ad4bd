"""A whole deployment in one thread: store in memory, stepped clock, workers run by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Protocol

from synergy.commands.bulk import BulkRequest, BulkVerb, Range
from synergy.commands.jobs import Touched
from synergy.commands.maintenance import Maintenance
from synergy.commands.timetable import TimetableCommands
from synergy.commands.units import UnitCommands
from synergy.messaging.stored import StoredBus
from synergy.model.actor import Actor
from synergy.model.process import Deployment
from synergy.model.unit_of_work import Document, UnitState
from synergy.queries.timetable.audit import Audit, audit
from synergy.queries.timetable.causes import Cause
from synergy.queries.timetable.why import Why
from synergy.scheduler.scheduler import Scheduler
from synergy.storage.sqlite.engine import SqliteStore
from synergy.testing import Simulation
from synergy.testing.leases import seldom_renewed
from synergy.worker.outcome import Outcome, Processed
from synergy.worker.task import Task
from synergy.worker.unit_runner import UnitRunner

OPERATOR = Actor("an operator", "because")


def copy_rows(task: Task) -> Outcome:
    """A work function: one row in the sink, with the number of rows in the source."""
    rows = list(task.source)
    total = sum(int(str(row.get("n", 0))) for row in rows)
    task.sink.replace(task.timeperiod, [{"domain": "d", "n": total, "rows": len(rows)}])
    return Processed({"rows": len(rows)})


class Harness(Protocol):
    """A harness that a test made."""

    def close(self) -> None: ...


OPEN: list[Harness] = []  # what `close_systems` closes


def close_systems() -> None:
    """Closes every harness that a test made, the newest first."""
    while OPEN:
        OPEN.pop().close()


class SchedulerHarness(Simulation):
    """A simulation whose services run one by one, and whose workers do what a test says."""

    def __init__(
        self,
        deployment: Deployment,
        start: str = "2015051700",
        now: datetime = datetime(2015, 5, 20, 12, 0, tzinfo=UTC),
        store: SqliteStore | None = None,
        bus: Callable[[SqliteStore], StoredBus] = StoredBus,
    ) -> None:
        super().__init__(deployment, start=start, now=now, store=store, bus=bus)
        self.unit_commands = UnitCommands(self.store, self.bus, deployment)
        self.timetable_commands = TimetableCommands(self.store, self.bus, deployment)
        self.maintenance = Maintenance(self.store, self.bus, deployment)
        self.ended: list[int] = []  # exit codes with which workers would have ended themselves
        self._runners: dict[str, UnitRunner] = {}
        OPEN.append(self)

    def close(self) -> None:
        self.new_workers()
        super().close()

    def new_workers(self) -> None:
        """Ends the worker processes; new ones do the next work."""
        for runner in self._runners.values():
            runner.close()
        self._runners.clear()

    def a_scheduler(self, owner: str) -> Scheduler:
        return Scheduler(self.workplace("", owner))

    def runner(self, process: str, work: Callable[[Task], Outcome] = copy_rows) -> UnitRunner:
        if process not in self._runners:
            workplace = self.workplace(process, f"w-{process}")
            self._runners[process] = UnitRunner(workplace, work, ("domain",), end=self.ended.append)
        return self._runners[process]

    def round(self, process: str, work: Callable[[Task], Outcome] = copy_rows) -> bool:
        """Has a worker of the process carry out one group; False if none waits."""
        consumer = self.bus.consumer(process)
        try:
            return self.runner(process, work).round(consumer)
        finally:
            consumer.close()

    def work(self, *processes: str, work: Callable[[Task], Outcome] = copy_rows) -> int:
        """Has each process (default: all) carry out what waits; how many groups there were."""
        groups = 0
        for process in processes or tuple(self.deployment.managed()):
            while self.round(process, work):
                groups += 1
        return groups

    def settle(self) -> None:
        """Scheduler and workers in turn until neither has anything to do."""
        for _ in range(1000):
            self.schedule()
            if not self.work():
                return
        raise AssertionError("the work never ends")

    def advance(self, seconds: float) -> None:
        """Lets time pass in steps that are short enough to keep the lease."""
        self.scheduler.run_once()
        with seldom_renewed(seconds, self.scheduler._leadership.tick) as longest:
            while seconds > 0:
                step = min(seconds, longest)
                self.clock.advance(step)
                seconds -= step
                self.scheduler.run_once()
        self.schedule()

    def write(self, collection: str, timeperiod: str, n: int, key: str = "d") -> None:
        """A document, as an event consumer would write it."""
        body = {"domain": key, "timeperiod": timeperiod, "n": n}
        self.store.documents.update(collection, [(key, timeperiod)], lambda _key, _old: body)

    def rows(self, collection: str) -> dict[str, int]:
        return {
            str(row["timeperiod"]): int(str(row["n"]))
            for row in self.store.documents.read(collection, "", "")
        }

    def reprocess(
        self,
        process: str,
        periods: tuple[str, str],
        actor: Actor,
        now: datetime,
        *,
        dry_run: bool = False,
    ) -> Sequence[Touched]:
        """Reprocesses the first to the last of these timeperiods."""
        request = BulkRequest(BulkVerb.REPROCESS, (Range(process, *periods),))
        return self.bulk.preview(request).first if dry_run else self.bulk.act(request, actor, now)

    def skip(
        self, process: str, periods: tuple[str, str], actor: Actor, now: datetime
    ) -> Sequence[Touched]:
        """Skips the first to the last of these timeperiods."""
        request = BulkRequest(BulkVerb.SKIP, (Range(process, *periods),))
        return self.bulk.act(request, actor, now)

    def act(self, verb: BulkVerb, process: str, first: str, last: str = "") -> Sequence[Touched]:
        """An operator acts on the first to the last of these timeperiods, now."""
        request = BulkRequest(verb, (Range(process, first, last or first),))
        return self.bulk.act(request, OPERATOR, self.clock.now())

    def generation(self, process: str, timeperiod: str) -> int:
        place = self.timetable().place(process)
        return place.level.generation(place.level.ordinal(timeperiod))

    def unit_states(self, process: str, timeperiod: str) -> list[UnitState]:
        return [unit.state for unit in self.units(process, timeperiod)]

    def why(self, process: str, timeperiod: str) -> Cause:
        return Why(self.store, self.timetable(), self.clock.now()).ask(process, timeperiod)

    def audit(self) -> Audit:
        return audit(self.store, self.timetable(), self.clock.now())


def a_document(timeperiod: str, n: int, key: str = "d") -> Document:
    return Document(key, timeperiod, {"domain": key, "timeperiod": timeperiod, "n": n})
