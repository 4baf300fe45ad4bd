"""A whole deployment in one thread: store in memory, stepped clock, services stepped by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any, Self
from weakref import finalize

from synergy.clock import SteppedClock
from synergy.commands.bulk import Bulk, BulkRequest, BulkVerb
from synergy.commands.events import record_events
from synergy.commands.jobs import Touched
from synergy.commands.processes import ProcessCommands
from synergy.delivery.request import Request
from synergy.messaging.protocol import Bus
from synergy.messaging.stored import StoredBus
from synergy.model.actor import Actor
from synergy.model.job import JobState
from synergy.model.process import Deployment
from synergy.model.schedule import Run
from synergy.model.unit_of_work import UnitOfWork
from synergy.names import TIMETABLE_START
from synergy.queries.timetable.load import load_timetable
from synergy.queries.timetable.why import Why
from synergy.runtime.stop import Stop
from synergy.runtime.workplace import Workplace
from synergy.scheduler.scheduler import Scheduler
from synergy.storage.protocol import LogLine, Store
from synergy.storage.sqlite import SqliteStore
from synergy.testing.agents import RecordingSender, SteppedAgent
from synergy.testing.deployments import from_entries, from_project
from synergy.testing.leases import seldom_renewed
from synergy.testing.workers import SteppedWorkers
from synergy.timeperiod import Qualifier, parse_hour, parse_named, parse_period
from synergy.timetable.timetable import Timetable
from synergy.worker.base import Worker
from synergy.worker.source_rows import SourceRows

DIGITS = 10  # of a timeperiod
TESTER = Actor("a test", "in a test")


class Simulation:
    """A deployment that runs only when a test calls it. A context manager.

    Periods are given as people write them: `2015-05-17T09`, `2015-05-17`, or ten digits.
    """

    def __init__(
        self,
        deployment: Deployment,
        *,
        start: str,
        now: datetime,
        workers: Mapping[str, type[Worker]] | None = None,
        store: Any = None,
        bus: Callable[[Any], Any] = StoredBus,
    ) -> None:
        """A timetable that begins with the period `start`.

        `workers` are classes that take the place of those that the deployment names, by process.
        `store` and `bus` are for tests of engines; by default everything is in memory.
        """
        self.deployment = deployment
        self.start = _hour(start)
        self.clock = SteppedClock(now if now.tzinfo else now.replace(tzinfo=UTC))
        self.store: Store = store or SqliteStore.open(":memory:")
        self.bus: Bus = bus(self.store)
        self.stop = Stop()
        self._remove_home: finalize[..., Any] | None = None
        self.scheduler = Scheduler(self.workplace("", "scheduler-1"))
        self.bulk = Bulk(self.store, self.bus, deployment, self.timetable)
        self.process_commands = ProcessCommands(self.store, self.bus, deployment)
        self._source_rows = SourceRows(self.store.documents)
        self._workers = SteppedWorkers(self.workplace, workers or {})

    @classmethod
    def of_entries(
        cls,
        process_context: Mapping[str, object],
        timetable_context: Mapping[str, object] | None = None,
        schedule_context: Mapping[str, object] | None = None,
        *,
        start: str,
        now: datetime,
        workers: Mapping[str, type[Worker]] | None = None,
    ) -> Self:
        """A deployment of entries as in `context.py`; raises ConfigurationError for mistakes."""
        deployment = from_entries(process_context, timetable_context, schedule_context)
        return cls(deployment, start=start, now=now, workers=workers)._begun()

    @classmethod
    def of_project(
        cls,
        folder: Path | None = None,
        *,
        start: str,
        now: datetime,
        workers: Mapping[str, type[Worker]] | None = None,
    ) -> Self:
        """The deployment of the `context.py` in a folder, by default that of this project."""
        return cls(from_project(folder), start=start, now=now, workers=workers)._begun()

    def _begun(self) -> Self:
        """The same simulation, whose timetable has a start before the scheduler's first turn."""
        self.store.facts.set_default(TIMETABLE_START, self.start)
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends everything; nothing is left behind."""
        self._workers.close()
        if self._agent is not None:
            self._agent.consumer.close()
        self.bus.close()
        self.store.close()
        if self._remove_home is not None:
            self._remove_home()

    # What happens

    def put(self, collection: str, timeperiod: str, rows: Iterable[Mapping[str, object]]) -> int:
        """Adds rows to a collection, as somebody outside would; returns how many."""
        return self._source_rows.put(collection, rows, _canonical(timeperiod))

    def event(self, type_: str, resource: str) -> None:
        """An event that schedules react to, of now."""
        at = self.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
        event = {"eventType": type_, "eventResourceId": resource, "eventTimestamp": at}
        record_events(self.store, self.bus, [event], TESTER, self.clock.now())

    def act(
        self, verb: BulkVerb | str, process: str, first: str, end: str | None = None
    ) -> Sequence[Touched]:
        """An operator acts on the periods from `first` to before `end`, or on one period.

        `verb` is "reprocess", "skip", "retry" or "acknowledge".
        """
        request = BulkRequest.of_range(self.deployment, BulkVerb(verb), process, first, end)
        return self.bulk.act(request, TESTER, self.clock.now())

    def trigger(self, process: str) -> str | None:
        """An operator runs a free-run process now; returns the id of the run."""
        return self.process_commands.trigger(process, TESTER, self.clock.now()).run

    def advance(
        self, *, days: float = 0, hours: float = 0, minutes: float = 0, seconds: float = 0
    ) -> None:
        """Turns the clock; everything that becomes due meanwhile is done at its time."""
        given = timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)
        left = given.total_seconds()
        due = self.settle()
        renewals = [self.scheduler._leadership.tick]
        if self._agent is not None:
            renewals.append(self._agent.renew)
        with seldom_renewed(left, *renewals):
            while left > 0:
                step = min(left, max(due, 0.001))
                self.clock.advance(step)
                left -= step
                due = self.settle()

    def settle(self) -> float:
        """Does everything that is due now; returns the seconds until something is due again."""
        for _ in range(1000):
            due = self.schedule()
            if self._agent is not None:
                due = min(due, self._agent.rest())
            if not self.work():
                return due
        raise AssertionError("the work never ends")

    def work(self) -> bool:
        """Has each worker carry out one group of what waits for it; False if nothing waits."""
        return self._workers.carry_out()

    def schedule(self) -> float:
        """Runs the scheduler until nothing is due; returns the seconds until something is."""
        for _ in range(10_000):
            if (due := self.scheduler.run_once()) > 0:
                return due
        raise AssertionError("the scheduler never comes to rest")

    # What can be seen

    def state(self, process: str, timeperiod: str) -> JobState:
        """The state of a job."""
        place = self.timetable().place(process)
        return place.level.state(place.level.ordinal(self._period(process, timeperiod)))

    def why(self, process: str, timeperiod: str) -> str:
        """Why a job is not done, as `launch.py timetable why` says it."""
        period = self._period(process, timeperiod)
        return Why(self.store, self.timetable(), self.clock.now()).ask(process, period).text

    def rows(self, collection: str, first: str = "", end: str = "") -> list[dict[str, object]]:
        """The rows of a collection, from the period `first` to before `end`; by default all."""
        start, stop = (_canonical(period) if period else "" for period in (first, end))
        return list(self.store.documents.read(collection, start, stop))

    def units(self, process: str, timeperiod: str) -> list[UnitOfWork]:
        """The units of a job (of runs, by their second), oldest first."""
        period = self._period(process, timeperiod)
        return self.store.units.of_jobs(process, period, period)[::-1]

    def runs(self, schedule: str) -> list[Run]:
        """The runs of a schedule or free-run process, newest first."""
        return list(self.store.runs.find(schedule)[0])

    def log(self, unit: str) -> list[LogLine]:
        """The lines that were logged for a unit or a run, by its id."""
        return self.store.logs.of_unit(unit)

    @property
    def errors(self) -> list[BaseException]:
        """The exceptions that work has raised, oldest first."""
        return self._workers.errors

    @property
    def requests(self) -> list[Request]:
        """The requests that schedules have sent; each was answered with 200."""
        return [] if self._agent is None else self._agent.sender.requests

    def timetable(self) -> Timetable:
        """The timetable as it is now."""
        return load_timetable(self.store, self.deployment, self.clock.now())

    # How it is made

    @cached_property
    def _agent(self) -> SteppedAgent | None:
        """The agent; None for a deployment without schedules and free-run processes."""
        if not self.deployment.schedules and not self.deployment.freerun():
            return None
        return SteppedAgent(self.workplace("", "agent-1"), RecordingSender())

    def _period(self, process: str, text: str) -> str:
        if process in self.deployment.freerun():
            return text
        qualifier = self.timetable().place(process).process.qualifier
        return qualifier.timeperiod(parse_period(qualifier, text))

    @cached_property
    def home(self) -> Path:
        """A folder for workers, which goes with the simulation."""
        path = Path(mkdtemp(prefix="synergy-home-"))
        self._remove_home = finalize(self, rmtree, path)
        return path

    def workplace(self, process: str, owner: str) -> Workplace:
        """What a service, or a worker of a process, works with."""
        return Workplace(
            self.deployment.processes.get(process),  # type: ignore[arg-type]
            self.store,
            self.bus,
            self.clock,
            owner,
            self.stop,
            deployment=self.deployment,
            home=self.home,
            box="box",
            start_timeperiod=self.start,
        )


def _hour(text: str) -> str:
    """The hourly timeperiod with which a period begins."""
    return Qualifier.HOURLY.timeperiod(parse_hour(text))


def _canonical(text: str) -> str:
    """The timeperiod that a text names; ten digits stay as they are."""
    if text.isdigit() and len(text) == DIGITS:
        return text
    qualifier, ordinal = parse_named(text)
    return qualifier.timeperiod(ordinal)
