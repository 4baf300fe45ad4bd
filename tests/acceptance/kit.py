"""A home of a test, and `launch.py` at work in it, as a user has it.

All processes are real. A test waits by reading the store, woken by the bus, or by asking
`launch.py`; each wait has a limit.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any

import apsw

from synergy import compose
from synergy.clock import SystemClock
from synergy.compose import Project
from synergy.lifecycle.legal_moves import JOB_MOVES, UNIT_MOVES
from synergy.messaging.protocol import Bus
from synergy.model.journal import JournalEntry
from synergy.model.process import Deployment
from synergy.model.unit_of_work import UnitOfWork, UnitState
from synergy.runtime.identity import start_time
from synergy.storage.protocol import Store
from synergy.supervisor import home_lock, proctable
from synergy.supervisor.host import ProcessHost
from synergy.supervisor.proctable import marker_of
from tests.acceptance import forked
from tests.servers.ports import free_port
from tests.servers.standing_still import stand_still

PROJECT = Path(__file__).parents[2]
BOX = "dev-test"
LIMIT = 180.0  # seconds after which a wait is given up
LONG_TIMEOUTS = "timeoutMS=120000&connectTimeoutMS=60000"  # options of a MongoDB URL
STEP = 0.1  # seconds between two checks without a notification
PAUSE = 2.0  # seconds between two checks that read whole collections

Condition = Callable[[], Any]


@dataclass(frozen=True, slots=True)
class CommandResult:
    """The exit code and output of a command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Home:
    """One home. `variables` are settings without their prefix: `start_timeperiod="..."`."""

    def __init__(self, path: Path, **variables: str) -> None:
        self.path = path
        self.variables = {"box_id": BOX, "mx_port": str(free_port()), **variables}
        self.before_commands: Callable[[], None] | None = None  # called in their own process
        self.limit = LIMIT  # seconds; more with the stand-in for MongoDB
        self._begun: list[subprocess.Popen[str]] = []

    @property
    def box(self) -> str:
        return self.variables["box_id"]

    # launch.py

    def environment(self, **more: str) -> dict[str, str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith("SYNERGY_")}
        settings = {
            "home": str(self.path),
            "project": str(PROJECT),
            "demo_stream": "off",
            **self.variables,
        }
        given = {f"SYNERGY_{name.upper()}": value for name, value in {**settings, **more}.items()}
        return {**kept, "SYNERGY_NO_VENV": "1", "COLUMNS": "100", **given}

    def begin(self, *argv: object, **more: str) -> subprocess.Popen[str]:
        """Starts a command and does not wait for it; `end` kills it."""
        process = subprocess.Popen(
            [sys.executable, str(PROJECT / "launch.py"), *map(str, argv)],
            cwd="/",
            env=self.environment(**more),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=self.before_commands,  # noqa: PLW1509 - tests have one thread
        )
        self._begun.append(process)
        return process

    def launch(self, *argv: object, code: int | None = 0, **more: str) -> CommandResult:
        """Runs a command to its end, and expects this exit code (None: any)."""
        done = end_of(self.begin(*argv, **more), 2 * self.limit)
        assert code is None or done.code == code, (argv, done)
        return done

    def run(self, *argv: object, code: int | None = 0, **more: str) -> CommandResult:
        """Like `launch`, for commands that start no process: in a fork, which is faster."""
        if self.before_commands is not None or not forked.can_fork():
            return self.launch(*argv, code=code, **more)
        words, environment = [str(word) for word in argv], self.environment(**more)
        limit = 2 * self.limit
        done = CommandResult(*forked.run(words, environment, limit))
        assert code is None or done.code == code, (argv, done)
        return done

    def ask(self, *argv: object, code: int | None = 0, **more: str) -> Any:
        """The `--json` output of a command, with long timeouts for a MongoDB store."""
        if argv[0] == "supervisor":  # whose processes are to notice that it does not answer
            return self.launch(*argv, "--json", code=code, **more).json
        return self.run(*argv, "--json", code=code, **{**self.tolerant_store, **more}).json

    def start(self) -> Any:
        """Starts the supervisor; all processes are up when it returns."""
        return self.ask("supervisor", "start")

    def stop(self) -> None:
        self.launch("supervisor", "stop")

    def end(self) -> None:
        """Stops everything that the test has started; fails if a process is left."""
        for pid in self.marked():  # a stopped process could not end
            _signal(pid, signal.SIGCONT)
        if self.path.exists():
            self.run("supervisor", "stop")
        for process in self._begun:
            if process.poll() is None:
                process.kill()
            process.communicate()
        assert self.marked() == {}

    def ingest_at_rest(self, log: Path, site: str) -> None:
        """Ingests a log with one session worker, while nothing else runs."""
        worker = self.begin("process", "start", "SingleSessionWorker", "--console")
        assert self.ask("ingest", log, "--site", site, "--wait")["waiting"] == 0
        worker.terminate()
        assert end_of(worker).code == 0

    def wait_for(self, process: str, timeperiod: str) -> None:
        """Waits until the job is done, late data included."""
        self.run("timetable", "wait", process, timeperiod, "--timeout", self.limit)

    def audit(self, **more: str) -> Any:
        """The audit once nothing is unfinished; a period may have closed just now.

        The audit is repeated if it fails: the stand-in for MongoDB may be too slow for it.
        """

        def look() -> Any:
            done = self.run("timetable", "audit", "--json", code=None, **more)
            return done.code in (0, 1) and done.json["unfinished"] == 0 and done.json

        return until(look, self.limit, lambda: Event().wait(PAUSE))

    def report(self, collection: str) -> list[dict[str, Any]]:
        return self.ask("report", collection)

    def generations(self) -> dict[tuple[str, str], int]:
        """The generation of every job of the whole timetable that ever changed."""
        with self.store() as store:
            return {
                (run.process, ordinal): run.generations.get(ordinal, 1)
                for run in store.jobs.load()
                for ordinal in range(run.first, run.first + len(run.states))
            }

    def started_over(self, before: dict[tuple[str, str], int]) -> set[tuple[str, str]]:
        """The jobs whose generation has changed; periods that closed since do not count."""
        after = self.generations()
        assert before.keys() <= after.keys()
        return {key for key in after if after[key] != before.get(key, 1)}

    def project(self) -> Project:
        return compose.open_project(PROJECT, self.environment(**self.tolerant_store))

    @property
    def tolerant_store(self) -> dict[str, str]:
        """The store setting with long timeouts, for a slow stand-in for MongoDB."""
        store = self.variables.get("store", "")
        return {"store": f"{store}?{LONG_TIMEOUTS}"} if store.startswith("mongodb:") else {}

    def deployment(self) -> Deployment:
        return self.project().deployment

    def check_journal(self) -> None:
        """Fails unless the journal so far is legal."""
        with self.store() as store:
            JournalCheck(store, self.deployment())

    # The store and the bus

    @contextmanager
    def store(self) -> Iterator[Store]:
        settings = self.project().settings
        assert compose.has_store(settings), settings.store
        with closing(compose.open_store(settings)) as store:
            yield store

    def bus(self, store: Store) -> closing[Bus]:
        return closing(compose.open_bus(self.project(), store))

    def dump(self) -> dict[str, list[tuple[Any, ...]]]:
        """The content of the store, by table."""
        with self.store(), closing(apsw.Connection(str(self.path / "synergy.db"))) as connection:
            tables = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").get
            return {table: list(connection.execute(f'SELECT * FROM "{table}"')) for table in tables}

    def until(self, look: Callable[[Store], Any], limit: float = LIMIT) -> Any:
        """The first true result of `look`, which is called after each notification."""
        with self.store() as store, self.bus(store) as bus:
            listener = bus.listener("scheduler")  # notified by workers, operators and ingests
            try:
                return until(lambda: look(store), limit, lambda: listener.wait(STEP))
            finally:
                listener.close()

    def until_unit(
        self, process: str, state: UnitState, timeperiod: str = "", attempt: int = 0
    ) -> UnitOfWork:
        """Waits for a unit of the process in this state (and of this timeperiod and attempt)."""

        def look(store: Store) -> UnitOfWork | None:
            found, _ = store.units.find(process, state)
            return next(
                (
                    unit
                    for unit in found
                    if timeperiod in ("", unit.timeperiod) and attempt in (0, unit.attempt)
                ),
                None,
            )

        return self.until(look)

    # Processes

    def marked(self) -> dict[int, str]:
        """All live processes that carry a marker of this home: pid and slot."""
        if not self.path.exists():
            return {}
        leftovers = ProcessHost(self.path, PROJECT).leftovers()
        return {entry.pid: _slot(marker_of(entry.pid), self.box) for entry in leftovers}

    def slotted(self) -> dict[int, str]:
        """Like `marked`, without the fork server, which is of no slot."""
        return {pid: slot for pid, slot in self.marked().items() if slot != "fork-server"}

    def leaders(self) -> dict[str, int]:
        """The pid of each slot (`Process/instance`) that the supervisor reports and that lives."""
        with self.store() as store:
            return self.leaders_in(store)

    def leaders_in(self, store: Store) -> dict[str, int]:
        """Like `leaders`, with an open store."""
        return {
            f"{seen.process}/{seen.instance}": seen.pid
            for seen in store.boxes.observed(self.box)
            if seen.pid is not None and start_time(seen.pid) == seen.started
        }

    def supervisor(self) -> int:
        """The pid of the supervisor; 0 if there is none."""
        holder = home_lock.holder(self.path)
        return 0 if holder is None else holder.pid

    def until_all_run(self, *slots: str) -> dict[str, int]:
        """Waits until all slots run (default: all that are not stopped); returns `leaders`."""

        def look(store: Store) -> dict[str, int] | None:
            wanted = slots or [
                f"{seen.process}/{seen.instance}"
                for seen in store.boxes.observed(self.box)
                if seen.state != "stopped"
            ]
            found = self.leaders_in(store)
            running = {
                f"{seen.process}/{seen.instance}"
                for seen in store.boxes.observed(self.box)
                if seen.state == "running"
            }
            return found if set(wanted) <= set(found) & running else None

        return self.until(look)


def _step() -> None:
    Event().wait(STEP)


def until(look: Condition, limit: float = LIMIT, pause: Callable[[], object] = _step) -> Any:
    """The first true result of `look`; fails after `limit` seconds."""
    clock = SystemClock()
    deadline = clock.monotonic() + limit
    while not (found := look()):
        assert clock.monotonic() < deadline, f"not within {limit:g} s"
        pause()
    return found


def end_of(process: subprocess.Popen[str], limit: float = 2 * LIMIT) -> CommandResult:
    out, err = process.communicate(timeout=limit)
    return CommandResult(process.returncode, out, err)


def kill(pid: int) -> None:
    """kill -9, and waits until the process is gone."""
    try:
        pidfd = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        _signal(pid, signal.SIGKILL)
        assert proctable.has_ended(pidfd, 20)
    finally:
        os.close(pidfd)


def _signal(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def pause(home: Home, pid: int) -> None:
    """Stops the process with SIGSTOP at a moment when it holds no lock of the store."""

    def is_free() -> bool:
        stand_still(pid)
        if not _holds_a_lock(pid, home.path):
            return True
        resume(pid)
        return False

    until(is_free)


def resume(pid: int) -> None:
    """Continues the process with SIGCONT."""
    _signal(pid, signal.SIGCONT)


def _holds_a_lock(pid: int, home: Path) -> bool:
    """Whether the process holds an exclusive lock on a file of the store."""
    files = {os.stat(path).st_ino for path in home.glob("synergy.db*")}
    for line in Path("/proc/locks").read_text().splitlines():
        fields = line.split()
        if "WRITE" in fields and int(fields[-3].rpartition(":")[2]) in files:
            return True
    return False


def _slot(marker: str, box: str) -> str:
    return marker.rpartition("/")[0].partition("/")[2].removeprefix(f"{box}/")


# What must hold of every journal

_JOB_MOVES = {
    (before.word, (before if after is None else after).word)
    for befores, after in JOB_MOVES.values()
    for before in befores
}
_UNIT_MOVES = {
    (before.value, after.value) for befores, after in UNIT_MOVES.values() for before in befores
}


class JournalCheck:
    """Reads the journal from its beginning and checks each entry.

    Each move must be one of the tables, from the state and generation that the moves before it
    left. So a job is finished once in each generation, a unit is finished once, and an attempt of
    a unit is claimed once.
    """

    def __init__(self, store: Store, deployment: Deployment) -> None:
        self._qualifiers = {name: p.qualifier for name, p in deployment.managed().items()}
        self.jobs: dict[tuple[str, str], tuple[str, int]] = {}
        self.units: dict[str, tuple[str, int]] = {}
        self.claims: Counter[tuple[str, int]] = Counter()
        self.finished: Counter[tuple[str, str, int]] = Counter()
        seq = 0
        while entries := store.journal.since(seq, 5000):
            seq = entries[-1].seq
            for entry in entries:
                self._read(entry)
        assert set(self.claims.values()) <= {1}
        assert set(self.finished.values()) <= {1}

    def _read(self, entry: JournalEntry) -> None:
        noun, _, event = entry.event.partition(".")
        if noun == "unit":
            self._unit(entry, event)
        elif noun == "job":
            qualifier = self._qualifiers[entry.process]
            for ordinal in range(qualifier.parse(entry.first), qualifier.parse(entry.last) + 1):
                self._job(entry, event, qualifier.timeperiod(ordinal))

    def _unit(self, entry: JournalEntry, event: str) -> None:
        before, attempt = self.units.get(entry.unit, ("", 1))
        assert before == entry.before, entry
        if event == "extended" or not before:
            assert entry.after == (before or "requested"), entry
        else:
            assert (before, entry.after) in _UNIT_MOVES, entry
        assert entry.attempt - attempt in (0, 1), entry
        self.units[entry.unit] = (entry.after, entry.attempt)
        if event == "in_progress":
            self.claims[entry.unit, entry.attempt] += 1

    def _job(self, entry: JournalEntry, event: str, timeperiod: str) -> None:
        before, generation = self.jobs.get((entry.process, timeperiod), ("embryo", 1))
        assert before == entry.before, (timeperiod, entry)
        assert (before, entry.after) in _JOB_MOVES, (timeperiod, entry)
        assert entry.generation == generation + (event == "started_over"), (timeperiod, entry)
        self.jobs[entry.process, timeperiod] = (entry.after, entry.generation)
        if event in ("processed", "noop", "skipped"):
            self.finished[entry.process, timeperiod, entry.generation] += 1
