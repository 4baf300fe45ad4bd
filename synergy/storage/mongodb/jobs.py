"""Jobs: one byte each, in blocks of 1,024 neighbours, and one head for each process.

A move may touch several blocks and must apply to all of its jobs or to none. So moves are committed
by one compare-and-set on the head of their process, which lists the newest moves (`open`). After
that they are written into their blocks and into the journal. The next move, or `recover`, first
completes the open moves, so that only the newest moves can be incomplete. The `v` of a block is the
version of the head whose moves it contains.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from pymongo import UpdateOne

from synergy.model.job import JobChange, JobSpan
from synergy.storage.blocks import (
    Block,
    Blocks,
    Place,
    byte_after,
    generation_after,
    parts_of,
    places_of,
    unreadable,
)
from synergy.storage.journal_entries import job_moved
from synergy.storage.malformed import READ_ERRORS
from synergy.storage.mongodb.collection_rows import within
from synergy.storage.mongodb.compare_and_set import Swap, in_parts, insert_new, swap
from synergy.storage.mongodb.database import Database, Doc
from synergy.storage.mongodb.journal import MongoJournal, document_of, entry_from
from synergy.storage.plain_rows import BLOCK_ROW
from synergy.storage.upgrade_given_up import Jobs

read_block = BLOCK_ROW.reads_document(block="number")

Numbered = tuple[int, JobChange]
"""A move with its index among the given moves."""

Bytes = Mapping[int, int]
"""The bytes of jobs, by ordinal."""


class MongoJobs:
    """See `synergy.storage.protocol.Jobs`."""

    def __init__(self, database: Database, journal: MongoJournal) -> None:
        self._database = database
        self._journal = journal
        self._done: dict[str, int] = {}  # versions of heads whose moves are complete

    def load(self, processes: Sequence[str] | None = None) -> Iterator[JobSpan]:
        """Reads blocks before heads: the newest moves of a process are read from its head."""
        with self._database.calling():
            wanted = {} if processes is None else {"_id": {"$in": list(processes)}}
            begin = [""] if processes is None else [f"{process}|" for process in processes]
            ranges = [{"_id": {"$gte": name, "$lt": f"{name}~"}} for name in begin]
            found = within(self._database["job_blocks"], ranges)
            blocks = {_place(document): document for document in found}
            heads = list(self._database["job_heads"].find(wanted))
        for head in heads:
            try:
                blocks |= _written(head, blocks)
            except READ_ERRORS as error:
                self._database.malformed.note("job_heads", head["_id"], error)
                blocks |= {place: {} for place in blocks if place[0] == head["_id"]}
        yield from (self._span(place, blocks[place]) for place in sorted(blocks))

    def _span(self, place: Place, document: Doc) -> JobSpan:
        try:
            return _block(place[1], document).span(place[0])
        except READ_ERRORS as error:
            self._database.malformed.note("job_blocks", block_id(place), error)
            return unreadable(*place)

    def move(self, moves: Sequence[JobChange], now: datetime) -> list[JobChange]:
        refused: list[int] = []
        left = list(enumerate(moves))
        with self._database.calling():
            while left:
                processes = list(dict.fromkeys(move.process for _, move in left))
                heads = self._heads(processes)
                self._finish([head for head in heads.values() if self._is_open(head)])
                made, not_made = self._take(left, heads, now)
                refused += not_made
                left = [numbered for numbered in left if numbered[1].process not in made]
        return [moves[at] for at in sorted(refused)]

    def recover(self) -> int:
        """Completes moves whose writers were interrupted; returns the number of processes."""
        with self._database.calling():
            heads = [head for head in self._database["job_heads"].find() if head["open"]]
            left = [head for head in heads if self._is_open(head)]
            self._finish(left)
            cleared = [
                UpdateOne({"_id": head["_id"], "v": head["v"]}, {"$set": {"open": []}})
                for head in heads
            ]
            if cleared:
                self._database["job_heads"].bulk_write(cleared, ordered=False)
        return len(left)

    def rewrite(self, jobs: Jobs, change: Callable[[Block, Mapping[int, int]], Bytes]) -> None:
        """Changes bytes of jobs without a move; safe beside writers, and when repeated.

        `change` returns the new bytes, by ordinal, for jobs of a block.
        """
        left = dict(jobs)
        with self._database.calling():
            while left:
                heads = self._heads(list(dict.fromkeys(process for process, _ in left)))
                self._finish([head for head in heads.values() if self._is_open(head)])
                documents = self._documents(left)
                items: dict[str, list[Doc]] = {process: [] for process in heads}
                for place, some in left.items():
                    block = _block(place[1], documents.get(place))
                    items[place[0]] += map(_unjournaled_item, change(block, some).items())
                swaps = [
                    Swap(process, heads[process]["v"], {"open": some})
                    for process, some in items.items()
                    if some
                ]
                made = swap(self._database["job_heads"], swaps)
                still = {process for process, some in items.items() if not some}
                self._finish([head for head in self._heads(list(made)).values() if head["open"]])
                left = {place: j for place, j in left.items() if place[0] not in made | still}

    def _is_open(self, head: Doc) -> bool:
        return bool(head["open"]) and self._done.get(head["_id"]) != head["v"]

    def _heads(self, processes: Sequence[str]) -> dict[str, Doc]:
        heads = self._database["job_heads"]
        found = {head["_id"]: head for head in heads.find({"_id": {"$in": list(processes)}})}
        new = [
            {"_id": process, "process": process, "v": 0, "mark": "", "open": []}
            for process in processes
            if process not in found
        ]
        if not new:
            return found
        insert_new(heads, new)
        return self._heads(processes)

    def _take(
        self, moves: Sequence[Numbered], heads: dict[str, Doc], now: datetime
    ) -> tuple[set[str], list[int]]:
        """Tries to commit moves; returns the processes that succeeded and their refused moves."""
        documents = self._documents(places_of([move for _, move in moves]))
        blocks = Blocks(lambda place: _block(place[1], documents.get(place)))
        items: dict[str, list[Doc]] = {process: [] for process in heads}
        refused, taken = list[Numbered](), list[tuple[str, Doc]]()
        for at, move in moves:
            if not blocks.apply(move):
                refused.append((at, move))
                continue
            items[move.process].append(_item(move, now))
            taken.append((move.process, items[move.process][-1]))
        swaps = [
            Swap(process, heads[process]["v"], {"open": some})
            for process, some in items.items()
            if some
        ]
        still = {process for process, some in items.items() if not some}
        made = swap(self._database["job_heads"], swaps)
        self._write(
            [
                (place, block, heads[place[0]]["v"] + 1)
                for place, block in blocks.changed()
                if place[0] in made
            ],
            documents,
        )
        self._journal.add(
            (
                f"job:{process}:{heads[process]['v'] + 1}:{items[process].index(item)}",
                entry_from(item["entry"]),
            )
            for process, item in taken
            if process in made
        )
        self._done |= {process: heads[process]["v"] + 1 for process in made}
        made |= still
        return made, [at for at, move in refused if move.process in made]

    def _documents(self, places: Iterable[Place]) -> dict[Place, Doc]:
        ids = [block_id(place) for place in places]
        found = self._database["job_blocks"].find({"_id": {"$in": ids}})
        return {_place(document): document for document in found}

    def _finish(self, heads: Sequence[Doc]) -> None:
        """Writes the open moves of heads into their blocks and into the journal."""
        if not heads:
            return
        documents = self._documents({place for head in heads for place in _touched(head)})
        for head in heads:
            self._write(
                [
                    (place, _block(place[1], document), head["v"])
                    for place, document in _written(head, documents).items()
                ],
                documents,
            )
        entries = [
            (f"job:{head['_id']}:{head['v']}:{at}", entry_from(item["entry"]))
            for head in heads
            for at, item in enumerate(head["open"])
            if item["entry"] is not None
        ]
        known = self._journal.known(origin for origin, _ in entries)
        self._journal.add(entry for entry in entries if entry[0] not in known)
        self._done |= {head["_id"]: head["v"] for head in heads}

    def _write(self, blocks: Sequence[tuple[Place, Block, int]], known: Container[Place]) -> None:
        """Writes blocks with their versions, unless a newer version is stored.

        Blocks that are not `known` are inserted, unless another writer has made them meanwhile.
        """
        documents = [(block[0], _block_document(*block)) for block in blocks]
        collection = self._database["job_blocks"]
        made = insert_new(collection, [block for place, block in documents if place not in known])
        older = [
            UpdateOne({"_id": block["_id"], "v": {"$lt": block["v"]}}, {"$set": block})
            for _, block in documents
            if block["_id"] not in made
        ]
        in_parts(collection, older)


def _item(move: JobChange, now: datetime) -> Doc:
    return {
        "first": move.first,
        "last": move.last,
        "byte": byte_after(move),
        "generation": generation_after(move),
        "entry": document_of(job_moved(move, now)),
    }


def _unjournaled_item(change: tuple[int, int]) -> Doc:
    """A change of a job's byte that is not journaled."""
    ordinal, byte = change
    return {"first": ordinal, "last": ordinal, "byte": byte, "generation": None, "entry": None}


def _touched(head: Doc) -> set[Place]:
    """The blocks that the open moves of a head change."""
    return {
        place
        for item in head["open"]
        for place, _ in parts_of(head["_id"], item["first"], item["last"])
    }


def _written(head: Doc, documents: dict[Place, Doc]) -> dict[Place, Doc]:
    """The blocks that lack the open moves of a head, with these moves applied."""
    blocks = {
        place: _block(place[1], document)
        for place in _touched(head)
        if (document := documents.get(place)) is None or document["v"] < head["v"]
    }
    for item in head["open"]:
        for place, jobs in parts_of(head["_id"], item["first"], item["last"]):
            if place in blocks:
                blocks[place].apply(*jobs, item["byte"], item["generation"])
    return {place: _block_document(place, block, head["v"]) for place, block in blocks.items()}


def block_id(place: Place) -> str:
    """The id of a block's document."""
    return f"{place[0]}|{place[1]}"


def _place(document: Doc) -> Place:
    """The place that the id of a block names."""
    process, _, number = document["_id"].rpartition("|")
    return process, int(number)


def _block(number: int, document: Doc | None) -> Block:
    if document is None:
        return Block.empty(number)
    return Block(number, *read_block(document)[2:])


def _block_document(place: Place, block: Block, v: int) -> Doc:
    """The document of a block that contains the moves of its head's version `v`."""
    process, number = place
    return {
        "_id": block_id(place),
        "process": process,
        "number": number,
        "states": bytes(block.states),
        "generations": [
            {"job": job, "generation": generation} for job, generation in block.generations.items()
        ],
        "v": v,
    }
