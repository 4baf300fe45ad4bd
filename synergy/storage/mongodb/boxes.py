"""Boxes: assignments, and observed processes, which are stored in the document of their box."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from pymongo.errors import BulkWriteError

from synergy.model.box import Assignment, Box, ObservedProcess
from synergy.storage.instants import micros
from synergy.storage.journal_entries import box_switched
from synergy.storage.mongodb.compare_and_set import is_duplicate
from synergy.storage.mongodb.counters import upsert
from synergy.storage.mongodb.database import Database, Doc
from synergy.storage.mongodb.journal import MongoJournal
from synergy.storage.stored_fields import ASSIGNMENT, BOX, OBSERVED

assignment_of = ASSIGNMENT.reads_document()
box_of = BOX.reads_document(id="_id")
observed_of = OBSERVED.reads_document()
_observed_fields_of = OBSERVED.writes_document(
    "process instance state marker pid started boot_id since restarts"
)


class MongoBoxes:
    """See `synergy.storage.protocol.Boxes`."""

    def __init__(self, database: Database, journal: MongoJournal) -> None:
        self._database = database
        self._journal = journal
        self._boxes = database["boxes"]
        self._assignments = database["assignments"]

    def assign(self, box: str, processes: Sequence[str]) -> list[str]:
        with self._database.calling():
            upsert(self._boxes, box, {"$setOnInsert": {"seen_at": None}})
            if not processes:
                return []
            try:
                self._assignments.insert_many(
                    [
                        {
                            "_id": assignment_id(box, process),
                            "box": box,
                            "process": process,
                            "is_on": True,
                        }
                        for process in processes
                    ],
                    ordered=False,
                )
            except BulkWriteError as error:
                if not is_duplicate(error):
                    raise
                there = {fault["index"] for fault in error.details["writeErrors"]}
                return [process for n, process in enumerate(processes) if n not in there]
        return list(processes)

    def assignments(self, box: str | None = None) -> list[Assignment]:
        wanted = {} if box is None else {"box": box}
        with self._database.calling():
            found = list(self._assignments.find(wanted).sort([("box", 1), ("process", 1)]))
        return assignment_of.each(found, self._database.malformed)

    def switch(
        self, box: str, process: str, is_on: bool, who: str, now: datetime, why: str = ""
    ) -> bool:
        with self._database.calling():
            before = self._assignments.find_one_and_update(
                {"_id": assignment_id(box, process)}, {"$set": {"is_on": is_on}}
            )
        if before is None:
            return False
        self._journal.append([box_switched(box, process, before["is_on"], is_on, who, now, why)])
        return True

    def report(self, box: str, observed: Sequence[ObservedProcess], now: datetime) -> None:
        fields = {
            "seen_at": micros(now),
            "observed": [_observed_fields_of(one) for one in observed],
        }
        with self._database.calling():
            upsert(self._boxes, box, {"$set": fields})

    def observed(self, box: str | None = None) -> list[ObservedProcess]:
        wanted = {} if box is None else {"_id": box}
        with self._database.calling():
            found = list(self._boxes.find(wanted))
        rows = [row for one in found for row in observed_rows(one)]
        observed = observed_of.each(rows, self._database.malformed)
        return sorted(observed, key=lambda one: (one.box, one.process, one.instance))

    def all(self) -> list[Box]:
        with self._database.calling():
            found = list(self._boxes.find({}, {"seen_at": 1}).sort("_id", 1))
        return box_of.each(found, self._database.malformed)


def observed_rows(box: Doc) -> list[Doc]:
    """The observed processes in the document of a box, each with the box."""
    rows = box.get("observed", [])
    if not isinstance(rows, list):
        return [{"box": box["_id"]}]  # is malformed
    return [{**(row if isinstance(row, dict) else {}), "box": box["_id"]} for row in rows]


def assignment_id(box: str, process: str) -> str:
    """The id of an assignment."""
    return f"{box} {process}"  # names of boxes have no blanks
