"""Jobs: one byte each, in blocks of 1,024 neighbours."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

import apsw
import orjson

from synergy.model.job import JobChange, JobSpan
from synergy.storage.blocks import Block, Blocks, Place, unreadable
from synergy.storage.journal_entries import job_moved
from synergy.storage.plain_rows import BLOCK_ROW, BlockRow
from synergy.storage.sqlite.columns import Row, array, fetch_one
from synergy.storage.sqlite.database import Database
from synergy.storage.sqlite.journal import record
from synergy.storage.sqlite.queries import queries

_SQL = queries("jobs")
_read = BLOCK_ROW.reads_row("process block states generations")


class SqliteJobs:
    """See `synergy.storage.protocol.Jobs`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def load(self, processes: Sequence[str] | None = None) -> Iterator[JobSpan]:
        if processes is None:
            rows = self._database.fetch(_SQL["load"])
        else:
            rows = self._database.fetch(_SQL["load_some"], (array(processes),))
        return (self._span(row) for row in rows)

    def move(self, moves: Sequence[JobChange], now: datetime) -> list[JobChange]:
        refused = []
        entries = []
        with self._database.writing() as connection:
            blocks = Blocks(lambda place: read_block(connection, place))
            for move in moves:
                if blocks.apply(move):
                    entries.append(job_moved(move, now))
                else:
                    refused.append(move)
            save_blocks(connection, blocks.changed())
            record(connection, entries)
        return refused

    def _span(self, row: Row) -> JobSpan:
        found = _read.each([row], self._database.malformed)
        return _block(found[0]).span(row[0]) if found else unreadable(row[0], row[1])


def read_block(connection: apsw.Connection, place: Place) -> Block:
    """The stored block; an empty one if none of its jobs was ever moved. Raises Malformed."""
    row = fetch_one(connection, _SQL["block"], place)
    return Block.empty(place[1]) if row is None else _block(_read((*place, *row)))


def save_blocks(connection: apsw.Connection, blocks: Iterable[tuple[Place, Block]]) -> None:
    """Stores blocks in place of their earlier versions."""
    connection.executemany(_SQL["save"], [_row(*block) for block in blocks])


def _block(row: BlockRow) -> Block:
    return Block(row.block, row.states, row.generations)


def _row(place: Place, block: Block) -> Row:
    generations = None
    if block.generations:
        generations = orjson.dumps(block.generations, option=orjson.OPT_NON_STR_KEYS).decode()
    return *place, bytes(block.states), generations
