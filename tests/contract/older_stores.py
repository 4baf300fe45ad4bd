"""Stores as written by the version before the states `failed` and `given_up`, for every engine.

Each case is a job: its newest unit, its journal entries, and its state after the upgrade.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw
import pymongo

from synergy.model.job import STALE_FLAG, JobState
from synergy.storage.mongodb import layout
from synergy.storage.sqlite import upgrade
from synergy.timeperiod import Qualifier

HOURLY, DAILY, MONTHLY, YEARLY = Qualifier
SQLITE_SCHEMA, MONGODB_LAYOUT = 3, 3
SKIPPED, GIVEN_UP = JobState.SKIPPED, JobState.GIVEN_UP

_PROCESSES = {HOURLY: "Hourly", DAILY: "Daily", MONTHLY: "Monthly", YEARLY: "Yearly"}
_BLOCK = 1024
_AT = 1_431_864_000_000_000  # microseconds


@dataclass(frozen=True, slots=True)
class Case:
    """A job of an older store.

    `reason`: of its newest unit, which is canceled; None if it has no unit. `entries`: the journal
    entries of its skip, as first timeperiod, last timeperiod, and whether the unit is named; none
    if the journal was pruned. `unit_generation`: the generation of the unit if it differs.
    """

    title: str
    timeperiod: str
    after: int
    reason: str | None
    entries: tuple[tuple[str, str, bool], ...] = ()
    before: int = SKIPPED
    generation: int = 1
    unit_generation: int | None = None
    qualifier: Qualifier = HOURLY

    @property
    def process(self) -> str:
        return _PROCESSES[self.qualifier]

    @property
    def ordinal(self) -> int:
        return self.qualifier.parse(self.timeperiod)

    @property
    def unit(self) -> str:
        return f"{self.process}-{self.timeperiod}"

    @property
    def end(self) -> str:
        return self.qualifier.timeperiod(self.ordinal + 1)


def _named(timeperiod: str) -> tuple[tuple[str, str, bool], ...]:
    return ((timeperiod, timeperiod, True),)


def _bare(first: str, last: str | None = None) -> tuple[tuple[str, str, bool], ...]:
    return ((first, last or first, False),)


_LAST_ERROR = "failed 3 times; last: OSError: disk"

CASES = (
    Case("out of attempts", "2015051700", GIVEN_UP, _LAST_ERROR, _named("2015051700")),
    Case("canceled by a person", "2015051701", GIVEN_UP, "stop", _named("2015051701")),
    Case("skipped by a person", "2015051702", SKIPPED, "source lost", _bare("2015051702")),
    Case("skipped by a person after its unit was canceled",
         "2015051703", SKIPPED, _LAST_ERROR, _bare("2015051702", "2015051705")),
    Case("never had a unit", "2015051704", SKIPPED, None, _bare("2015051702", "2015051705")),
    Case("forgotten, out of attempts", "2015051706", GIVEN_UP, _LAST_ERROR),
    Case("forgotten, one attempt", "2015051707", GIVEN_UP, "failed: exit code 3"),
    Case("forgotten, too old", "2015051708", GIVEN_UP, "not done within 172800 s"),
    Case("forgotten, worker gone", "2015051709", GIVEN_UP, "its worker is gone, 3 times"),
    Case("forgotten, worker silent", "2015051710", GIVEN_UP, "its worker's heartbeat stopped"),
    Case("forgotten, a person's words", "2015051711", SKIPPED, "source lost"),
    Case("forgotten, no words", "2015051712", SKIPPED, ""),
    Case("forgotten, the collector tidied up after a skip",
         "2015051713", SKIPPED, "its job was finished or started over without it"),
    Case("given up, started over, and skipped", "2015051714", SKIPPED, _LAST_ERROR,
         (*_named("2015051714"), *_bare("2015051714")), generation=2, unit_generation=1),
    Case("given up in generation 2, and marked as stale", "2015051715", GIVEN_UP | STALE_FLAG,
         _LAST_ERROR, _named("2015051715"), SKIPPED | STALE_FLAG, generation=2),
    Case("finished", "2015051716", JobState.PROCESSED, _LAST_ERROR, before=JobState.PROCESSED),
    Case("not finished", "2015051717", JobState.FINAL_RUN, _LAST_ERROR, before=JobState.FINAL_RUN),
    Case("of another block", "2015123123", GIVEN_UP, _LAST_ERROR),
    Case("a day", "2015051700", GIVEN_UP, _LAST_ERROR, qualifier=DAILY),
    Case("a month", "2015120000", GIVEN_UP, _LAST_ERROR, qualifier=MONTHLY),
    Case("a year", "2015000000", GIVEN_UP, "too long", _named("2015000000"), qualifier=YEARLY),
    Case("a year that a person skipped", "2016000000", SKIPPED, "so", _bare("2016000000"),
         qualifier=YEARLY),
)  # fmt: skip


DEAD = ((3, b"\xff\x00", "not JSON"), (5, b"", "\xe4"))  # in quarantine: number, body, reason


def bytes_of_jobs(runs: Iterable[Any]) -> dict[tuple[str, int], int]:
    """Returns the state byte of every case, by process and ordinal, from loaded runs of jobs."""
    found = {}
    for run in runs:
        for case in CASES:
            at = case.ordinal - run.first
            if case.process == run.process and 0 <= at < len(run.states):
                found[case.process, case.ordinal] = run.states[at]
    return found


def expected() -> dict[tuple[str, int], int]:
    """Returns the expected state bytes after the upgrade, by process and ordinal."""
    return {(case.process, case.ordinal): int(case.after) for case in CASES}


def write_sqlite(path: Path) -> None:
    """Writes a file of the older schema with all cases and the unit of a free run."""
    connection = apsw.Connection(str(path))
    for migration in upgrade.migrations()[:SQLITE_SCHEMA]:
        connection.execute(migration)
    for (process, number), states, generations in _blocks():
        text = "{" + ",".join(f'"{job}":{n}' for job, n in generations.items()) + "}"
        row = (process, number, states, text if generations else None)
        connection.execute("INSERT INTO job_block VALUES (?, ?, ?, ?)", row)
    for unit in _units():
        _insert(connection, "unit", unit | {"state": 5})
    for entry in _entries():
        _insert(connection, "journal", entry)
    for seq, body, reason in DEAD:
        row = {"seq": seq, "queue": "q", "body": body, "reason": reason, "at": _AT}
        _insert(connection, "dead_message", row)
    connection.pragma("user_version", SQLITE_SCHEMA)
    connection.close()


def _insert(connection: apsw.Connection, table: str, row: dict[str, Any]) -> None:
    fields, values = ", ".join(row), ", ".join(f":{name}" for name in row)
    connection.execute(f"INSERT INTO {table} ({fields}) VALUES ({values})", row)


def write_mongodb(database: pymongo.database.Database[Any]) -> None:
    """Writes the same, as the older version would, into a database that is a store already."""
    for (process, number), states, generations in _blocks():
        database["job_blocks"].insert_one({
            "_id": f"{process}|{number}", "process": process, "number": number, "v": 1,
            "states": states,
            "generations": [{"job": job, "generation": n} for job, n in generations.items()],
        })  # fmt: skip
    for process in _PROCESSES.values():
        head = {"_id": process, "process": process, "v": 1, "mark": "", "open": []}
        database["job_heads"].insert_one(head)
    for number, unit in enumerate(_units(), 1):
        row = {name: value for name, value in unit.items() if name not in ("id", "superseded")}
        key = f"{unit['process']}|{unit['timeperiod']}|{unit['generation']}|1|2"
        database["units"].insert_one(row | {
            "_id": unit["id"], "number": number, "key": key, "slot": unit["id"],
            "job": f"{unit['process']}|{unit['timeperiod']}", "state": "canceled",
            "is_superseded": len(str(unit["timeperiod"])) > 10, "ending": None, "v": 1, "mark": "",
            "untold": [], "is_told": True, "counts": [],
        })  # fmt: skip
    for number, entry in enumerate(_entries(), 1):
        database["journal"].insert_one(entry | {"_id": number, "origin": f"old:{number}"})
    for seq, body, reason in DEAD:
        row = {"_id": seq, "queue": "q", "body": body, "reason": reason, "at": _AT}
        database["dead_messages"].insert_one(row)
    counter = {"_id": "dead messages", "n": DEAD[-1][0]}
    database["counters"].replace_one({"_id": "dead messages"}, counter, upsert=True)
    note = {"_id": "layout", "n": MONGODB_LAYOUT}
    database["counters"].replace_one({"_id": "layout"}, note, upsert=True)
    assert layout.VERSION > MONGODB_LAYOUT


def _blocks() -> Iterator[tuple[tuple[str, int], bytes, dict[int, int]]]:
    blocks: dict[tuple[str, int], tuple[bytearray, dict[int, int]]] = {}
    for case in CASES:
        place = case.process, case.ordinal // _BLOCK
        states, generations = blocks.setdefault(place, (bytearray(_BLOCK), {}))
        states[case.ordinal % _BLOCK] = case.before
        if case.generation > 1:
            generations[case.ordinal] = case.generation
    for place, (states, generations) in blocks.items():
        yield place, bytes(states), generations


def _units() -> Iterator[dict[str, object]]:
    for case in CASES:
        if case.reason is not None:
            generation = case.unit_generation or case.generation
            yield _unit(case.unit, case.process, case.timeperiod, case.end, generation, case.reason)
    second = "20150517000001"
    yield _unit("free", "FreeRun", second, second, 1, _LAST_ERROR)


def _unit(
    id_: str, process: str, timeperiod: str, end: str, generation: int, reason: str
) -> dict[str, object]:
    return {
        "id": id_, "process": process, "timeperiod": timeperiod, "generation": generation,
        "start_timeperiod": timeperiod, "end_timeperiod": end, "start_id": 1, "end_id": 2,
        "created_at": _AT, "attempt": 3, "failures": 3, "not_before": None, "published_at": None,
        "owner": None, "heartbeat": 0, "started_at": None, "finished_at": _AT, "counts": None,
        "reason": reason, "superseded": 0,
    }  # fmt: skip


def _entries() -> Iterator[dict[str, object]]:
    yielded = set()
    for case in CASES:
        for first, last, is_named in case.entries:
            generation = case.generation
            if is_named and case.unit_generation is not None:
                generation = case.unit_generation
            key = (case.process, first, last, is_named)
            if key in yielded:
                continue
            yielded.add(key)
            yield {
                "at": _AT, "event": "job.skipped", "process": case.process, "first": first,
                "last": last, "before": "in_progress", "after": "skipped",
                "generation": generation, "why": case.reason or "so", "who": "operator",
                "unit": case.unit if is_named else None, "attempt": 0, "covered": 7,
            }  # fmt: skip
