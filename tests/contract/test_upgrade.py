"""Stores of the version without states for failures: which state their skipped jobs get."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import apsw
import mongomock
import pymongo
import pytest

from synergy.clock import SystemClock
from synergy.commands.store_copy import StoreCopy
from synergy.errors import StorageUnavailable
from synergy.model.job import JobChange, JobState
from synergy.storage.mongodb import MongoStore, engine, layout, upgrade
from synergy.storage.mongodb.database import Database
from synergy.storage.mongodb.jobs import MongoJobs
from synergy.storage.protocol import QuarantineContents, QuarantineLimits, Store
from synergy.storage.sqlite import SqliteStore, migration_steps
from synergy.storage.sqlite.upgrade import VERSION
from synergy.timeperiod import Qualifier
from tests.contract.concurrency import in_processes
from tests.contract.documents import SESSIONS, put
from tests.contract.engines import SERVERS
from tests.contract.older_stores import (
    CASES,
    MONGODB_LAYOUT,
    SQLITE_SCHEMA,
    bytes_of_jobs,
    expected,
    write_mongodb,
    write_sqlite,
)
from tests.factories import HOUR, NOW


class OlderStore:
    """A store of the older version; `open` opens it with this version."""

    schema: int

    def open(self) -> Store:
        raise NotImplementedError

    def version(self) -> int:
        raise NotImplementedError


class OlderFile(OlderStore):
    schema = VERSION

    def __init__(self, path: Path) -> None:
        self.path = path
        write_sqlite(path)

    def open(self) -> SqliteStore:
        return SqliteStore.open(self.path)

    def version(self) -> int:
        with closing(apsw.Connection(str(self.path))) as connection:
            return int(str(connection.pragma("user_version")))


class OlderDatabase(OlderStore):
    schema = layout.VERSION

    def __init__(self, client: Any, name: str, url: str | None = None) -> None:
        self.client, self.name, self.url = client, name, url
        self.open().close()
        write_mongodb(client[name])

    def open(self) -> MongoStore:
        if self.url is not None:
            return MongoStore.open(self.url)
        return MongoStore.over(Database(_Kept(self.client), self.name, "mongomock"))

    def version(self) -> int:
        found = self.client[self.name]["counters"].find_one({"_id": "layout"})
        return int(found["n"])


class _Kept:
    """A client in memory that outlives the stores over it."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def __getitem__(self, name: str) -> Any:
        return self._client[name]

    def close(self) -> None:
        pass


@pytest.fixture
def database() -> OlderDatabase:
    return OlderDatabase(mongomock.MongoClient(), "synergy")


@contextmanager
def server(url: str) -> Iterator[OlderDatabase]:
    with pymongo.MongoClient(url) as client:
        yield OlderDatabase(client, client.get_default_database().name, url)


@pytest.fixture(params=["sqlite-file", "mongomock", *SERVERS])
def older(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OlderStore]:
    """A store of the older version, of every engine."""
    match request.param:
        case "sqlite-file":
            yield OlderFile(tmp_path / "synergy.db")
        case "mongomock":
            yield OlderDatabase(mongomock.MongoClient(), "synergy")
        case _:
            with server(request.getfixturevalue(f"{request.param}_url")) as found:
                yield found


def jobs(older: OlderStore) -> dict[tuple[str, int], int]:
    with closing(older.open()) as store:
        return bytes_of_jobs(store.jobs.load())


def named(jobs: dict[tuple[str, int], int]) -> dict[str, int]:
    """Returns state bytes by the titles of the cases, so that a failure names them."""
    return {case.title: jobs[case.process, case.ordinal] for case in CASES}


# Quarantine


def test_messages_in_quarantine_are_counted_and_measured(older: OlderStore) -> None:
    with closing(older.open()) as store:
        assert store.messages.quarantine() == QuarantineContents(2, 12, 0)
        assert store.messages.bury("q", b"x", "", NOW, QuarantineLimits(10, 3)) == 1
        assert [(dead.seq, dead.body) for dead in store.messages.buried()][1:] == [(5, b"")]


# Documents


def test_documents_of_an_older_database_are_counted_on(database: OlderDatabase) -> None:
    documents = database.client[database.name]
    with closing(database.open()) as store:
        put(store, ("a", HOUR), ("b", HOUR))
    documents["pages"].update_many({}, {"$unset": {"rows": ""}})
    documents["counters"].update_one({"_id": "layout"}, {"$set": {"n": 5}})
    with closing(database.open()) as store:
        put(store, ("c", HOUR))
        assert store.documents.collections() == {SESSIONS: 3}


# States and journal


def test_skipped_jobs_whose_unit_was_given_up_are_given_up(older: OlderStore) -> None:
    assert named(jobs(older)) == named(expected())
    assert older.version() == older.schema


def test_a_second_upgrade_changes_nothing(older: OlderStore) -> None:
    first = jobs(older)
    with closing(older.open()) as store:
        entries = store.journal.find(limit=1000)
    assert jobs(older) == first
    with closing(older.open()) as store:
        assert store.journal.find(limit=1000) == entries


def test_an_upgrade_keeps_generations_and_units(older: OlderStore) -> None:
    with closing(older.open()) as store:
        generations = {job: n for run in store.jobs.load() for job, n in run.generations.items()}
        units = store.units.of_jobs("Hourly", "2015051700", "2015123123")
    assert generations == {case.ordinal: 2 for case in CASES if case.generation == 2}
    with_units = [case for case in CASES if case.process == "Hourly" and case.reason is not None]
    assert {unit.reason for unit in units} == {case.reason for case in with_units}
    assert len(units) == len(with_units)


def test_the_upgrade_renames_journal_entries_in_place(older: OlderStore) -> None:
    """Entries keep their number, time and reason; none is added."""
    with closing(older.open()) as store:
        found = [(e.seq, e.event, e.after, e.covered) for e in store.journal.find(limit=1000)]
        gave_up = store.journal.of_job("Hourly", "2015051700")
        skipped = store.journal.of_job("Hourly", "2015051703")
    assert sorted(seq for seq, *_ in found) == list(range(1, len(found) + 1))
    assert set(found) <= {
        (seq, *rest)
        for seq in range(1, len(found) + 1)
        for rest in (("job.given_up", "given_up", 7), ("job.skipped", "skipped", 7))
    }
    assert [(e.event, e.unit, e.why) for e in gave_up] == [
        ("job.given_up", "Hourly-2015051700", "failed 3 times; last: OSError: disk")
    ]
    assert [(e.event, e.unit) for e in skipped] == [("job.skipped", None)]


def test_an_upgraded_job_can_be_acknowledged(older: OlderStore) -> None:
    with closing(older.open()) as store:
        hour = Qualifier.HOURLY.parse("2015051706")
        move = JobChange(
            "Hourly", Qualifier.HOURLY, hour, hour, JobState.GIVEN_UP, JobState.SKIPPED, 1,
            "we know", "me", acknowledged=True,
        )  # fmt: skip
        assert store.jobs.move([move], NOW) == []
    assert jobs(older)["Hourly", hour] == 0x15  # acknowledged; opening the store again keeps it


# Copies and backups


@pytest.mark.parametrize("engine_name", ["sqlite-file", *SERVERS])
def test_a_copy_of_an_older_store_is_upgraded(
    request: pytest.FixtureRequest, tmp_path: Path, engine_name: str
) -> None:
    """Opening upgrades the source, so the copy has the new states."""
    older = OlderFile(tmp_path / "synergy.db")
    if engine_name in SERVERS:
        target: Store = MongoStore.open(request.getfixturevalue(f"{engine_name}_url"))
    else:
        target = SqliteStore.open(tmp_path / "copy.db")
    with closing(older.open()) as source, closing(target):
        with StoreCopy(source, target, ("old", "new"), SystemClock()) as copying:
            copying.copy(lambda *_: None)
        assert named(bytes_of_jobs(target.jobs.load())) == named(expected())
        assert target.journal.find(limit=1000) == source.journal.find(limit=1000)


def test_a_backup_of_an_older_file_is_upgraded(tmp_path: Path) -> None:
    older = OlderFile(tmp_path / "synergy.db")
    with closing(older.open()) as store:
        store.backup(tmp_path / "backup.db")
    with closing(SqliteStore.open(tmp_path / "backup.db")) as backup:
        assert bytes_of_jobs(backup.jobs.load()) == expected()


# Interruptions and concurrency


def test_a_failed_migration_step_leaves_the_file_unchanged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    older = OlderFile(tmp_path / "synergy.db")

    def fail(connection: apsw.Connection) -> None:
        migration_steps.mark_given_up(connection)
        raise OSError("the power is gone")

    with monkeypatch.context() as patch:
        patch.setattr(migration_steps, "STEPS", {"mark_given_up": fail})
        with pytest.raises(OSError, match="power"):
            older.open()
    assert older.version() == SQLITE_SCHEMA
    with closing(apsw.Connection(str(older.path))) as connection:
        query = "SELECT count(*) FROM journal WHERE event = 'job.given_up'"
        assert connection.execute(query).fetchall() == [(0,)]
    assert jobs(older) == expected()


@pytest.mark.parametrize("place", ["_heads", "_documents", "_write"])
@pytest.mark.parametrize("call", [1, 2])
def test_an_interrupted_upgrade_of_a_database_is_resumed(
    database: OlderDatabase, monkeypatch: pytest.MonkeyPatch, place: str, call: int
) -> None:
    original, calls = getattr(MongoJobs, place), []

    def cut_off(*arguments: Any) -> Any:
        calls.append(arguments)
        if len(calls) == call:
            raise StorageUnavailable("the server is gone")
        return original(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(MongoJobs, place, cut_off)
        with pytest.raises(StorageUnavailable):
            database.open()
    assert database.version() == MONGODB_LAYOUT
    assert jobs(database) == expected()


def test_an_upgrade_interrupted_before_its_version_is_written_is_repeated(
    database: OlderDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:

        def cut_off(*_: object) -> None:
            raise StorageUnavailable("the server is gone")

        patch.setattr(layout, "_note", cut_off)
        with pytest.raises(StorageUnavailable):
            database.open()
    assert database.version() == MONGODB_LAYOUT
    assert jobs(database) == expected()


def test_a_job_move_during_the_upgrade_is_not_lost(
    database: OlderDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another scheduler moves a job after the upgrade has read it and before it writes."""
    hour = Qualifier.HOURLY.parse("2015051717")
    original, moved = MongoJobs._documents, []

    def documents(self: MongoJobs, places: Any) -> Any:
        found = original(self, list(places))
        if not moved:
            moved.append(True)
            with closing(Database(_Kept(database.client), "synergy", "mongomock")) as second:
                store = MongoStore(second)
                move = JobChange(
                    "Hourly", Qualifier.HOURLY, hour, hour, JobState.FINAL_RUN, JobState.PROCESSED,
                    1, "", "scheduler",
                )  # fmt: skip
                assert store.jobs.move([move], NOW) == []
        return found

    monkeypatch.setattr(MongoJobs, "_documents", documents)
    assert jobs(database) == expected() | {("Hourly", hour): int(JobState.PROCESSED)}


def test_unfinished_moves_are_completed_before_the_upgrade(database: OlderDatabase) -> None:
    """An older scheduler died after writing a head, before its block and journal entry."""
    case = next(case for case in CASES if case.title == "not finished")
    entry = {
        "at": 1, "event": "job.skipped", "process": "Hourly", "first": case.timeperiod,
        "last": case.timeperiod, "before": "final_run", "after": "skipped", "generation": 1,
        "why": "", "who": "scheduler", "unit": case.unit, "attempt": 0, "covered": 7,
    }  # fmt: skip
    move = {
        "first": case.ordinal, "last": case.ordinal, "byte": 5, "generation": None, "entry": entry,
    }  # fmt: skip
    change = {"$set": {"v": 2, "open": [move]}}
    database.client["synergy"]["job_heads"].update_one({"_id": "Hourly"}, change)
    assert jobs(database) == expected() | {("Hourly", case.ordinal): int(JobState.GIVEN_UP)}
    with closing(database.open()) as store:
        (entry,) = store.journal.of_job("Hourly", case.timeperiod)
    assert (entry.event, entry.unit) == ("job.given_up", case.unit)


def _found(store: Store) -> dict[tuple[str, int], int]:
    return bytes_of_jobs(store.jobs.load())


@pytest.mark.parametrize("engine_name", ["sqlite-file", *SERVERS])
def test_each_of_several_starting_processes_finds_the_store_upgraded(
    request: pytest.FixtureRequest, tmp_path: Path, engine_name: str
) -> None:
    if engine_name == "sqlite-file":
        address = f"sqlite:{OlderFile(tmp_path / 'synergy.db').path}"
        assert in_processes(address, _found, [(), (), ()]) == [expected()] * 3
    else:
        url = request.getfixturevalue(f"{engine_name}_url")
        with server(url) as older:
            assert in_processes(url, _found, [(), (), ()]) == [expected()] * 3
            assert older.version() == layout.VERSION


def test_creating_missing_indexes_also_upgrades(mongodb_url: str) -> None:
    """`store init` must do so: a database that lacks an index cannot be opened."""
    with server(mongodb_url) as older:
        older.client[older.name]["units"].drop_index("state")
        assert [name.partition(" ")[0] for name in engine.prepare(mongodb_url)] == ["units.state"]
        assert older.version() == layout.VERSION
        assert jobs(older) == expected()


def test_a_store_of_this_version_is_not_upgraded_again(
    database: OlderDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    database.open().close()

    def fail(*_: object) -> None:
        raise AssertionError("upgraded again")

    monkeypatch.setattr(upgrade, "mark_given_up", fail)
    database.open().close()
