"""Jobs: one byte each, in blocks of 1,024 neighbours."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

import apsw
import orjson

from synergy.model.job import STALE_FLAG, JobMove, JobRun
from synergy.storage.sqlite.database import Database
from synergy.storage.sqlite.journal import record_jobs
from synergy.storage.sqlite.queries import queries
from synergy.storage.sqlite.rows import Row, array, fetch, fetch_one, micros

BLOCK = 1024  # jobs

_SQL = queries("jobs")
_WITHOUT_FLAG = bytes(byte & ~STALE_FLAG for byte in range(256))


class SqliteJobs:
    """See `synergy.storage.protocol.Jobs`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def load(self, processes: Sequence[str] | None = None) -> Iterator[JobRun]:
        with self._database.reading() as connection:
            if processes is None:
                rows = fetch(connection, _SQL["load"])
            else:
                rows = fetch(connection, _SQL["load_some"], (array(processes),))
        return (_run(row) for row in rows)

    def move(self, moves: Sequence[JobMove], now: datetime) -> list[JobMove]:
        refused = []
        entries = []
        at = micros(now)
        with self._database.writing() as connection:
            blocks = _Blocks(connection)
            for move in moves:
                if blocks.apply(move):
                    entries.append(_entry(move, at))
                else:
                    refused.append(move)
            blocks.save()
            record_jobs(connection, entries)
        return refused


class _Block:
    """The states of up to 1,024 neighbours from ordinal `first` on."""

    __slots__ = ("first", "generations", "states")

    def __init__(self, number: int, states: bytes, generations: str | None) -> None:
        self.first = number * BLOCK
        self.states = bytearray(states)
        self.generations = _generations(generations)

    def is_as(self, move: JobMove, first: int, last: int) -> bool:
        """Whether the jobs `first` to `last` are all as the move expects."""
        states = self.states[first - self.first : last - self.first + 1]
        if states.translate(_WITHOUT_FLAG).strip(bytes((move.before,))):
            return False
        if not self.generations:
            return move.generation == 1
        jobs = range(first, last + 1)
        return all(self.generations.get(job, 1) == move.generation for job in jobs)

    def apply(self, move: JobMove, first: int, last: int) -> None:
        after = move.after | STALE_FLAG if move.stale else int(move.after)
        count = last - first + 1
        self.states[first - self.first : last - self.first + 1] = bytes((after,)) * count
        if move.start_over:
            self.generations.update(dict.fromkeys(range(first, last + 1), move.generation + 1))


class _Blocks:
    """The blocks that a group of moves touches; each is read and written once."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._blocks: dict[tuple[str, int], _Block] = {}
        self._changed: set[tuple[str, int]] = set()

    def apply(self, move: JobMove) -> bool:
        """Applies the move to all of its jobs, or to none; False if to none."""
        parts = list(_parts(move))
        if not all(self._block(place).is_as(move, *jobs) for place, jobs in parts):
            return False
        for place, jobs in parts:
            self._block(place).apply(move, *jobs)
            self._changed.add(place)
        return True

    def save(self) -> None:
        self._connection.executemany(_SQL["save"], map(self._row, self._changed))

    def _block(self, place: tuple[str, int]) -> _Block:
        block = self._blocks.get(place)
        if block is None:
            row = fetch_one(self._connection, _SQL["block"], place) or (bytes(BLOCK), None)
            block = self._blocks[place] = _Block(place[1], *row)
        return block

    def _row(self, place: tuple[str, int]) -> Row:
        block = self._blocks[place]
        generations = None
        if block.generations:
            generations = orjson.dumps(block.generations, option=orjson.OPT_NON_STR_KEYS).decode()
        return *place, bytes(block.states), generations


def _parts(move: JobMove) -> Iterable[tuple[tuple[str, int], tuple[int, int]]]:
    """The move by blocks: (process, block) and the first and last job within it."""
    for number in range(move.first // BLOCK, move.last // BLOCK + 1):
        begin = number * BLOCK
        jobs = max(move.first, begin), min(move.last, begin + BLOCK - 1)
        yield (move.process, number), jobs


def _entry(move: JobMove, at: int) -> Row:
    if move.start_over:
        event = "job.started_over"
    elif move.before == move.after:
        event = "job.stale"
    else:
        event = f"job.{move.after.word}"
    return (
        at,
        event,
        move.process,
        move.qualifier.timeperiod(move.first),
        move.qualifier.timeperiod(move.last),
        move.before.word,
        move.after.word,
        move.generation + move.start_over,
        move.why,
        move.who,
        move.unit,
        0,
        move.covered,
    )


def _run(row: Row) -> JobRun:
    """The moved jobs of a block: those at its ends that never were are left out."""
    process, number, states, text = row
    generations = _generations(text)
    begin = len(states) - len(states.lstrip(b"\0"))
    end = len(states.rstrip(b"\0"))
    for ordinal in generations:
        begin = min(begin, ordinal - number * BLOCK)
        end = max(end, ordinal - number * BLOCK + 1)
    return JobRun(process, number * BLOCK + begin, states[begin:end], generations)


def _generations(text: str | None) -> dict[int, int]:
    return {int(job): number for job, number in orjson.loads(text).items()} if text else {}
