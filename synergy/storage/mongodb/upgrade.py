"""Upgrades the data in a database to the layout of this version.

Each step may be interrupted, repeated, and run by several processes at once; the layout's version
is stored after the last step. Programs of the older version must not run meanwhile: they cannot
read the states that jobs have afterwards.
"""

from __future__ import annotations

from pymongo import UpdateOne

from synergy.storage.mongodb.collection_rows import page_id
from synergy.storage.mongodb.compare_and_set import in_parts
from synergy.storage.mongodb.database import Database
from synergy.storage.mongodb.jobs import MongoJobs
from synergy.storage.mongodb.journal import MongoJournal
from synergy.storage.quarantine_limits import size_of
from synergy.storage.upgrade_given_up import GIVEN_UP, SKIPPED, CanceledUnit, Skip, marks, suspects

_UNIT = ("process", "timeperiod", "end_timeperiod", "generation", "reason")
_SKIP = ("process", "first", "last", "generation", "unit")
_PERIOD = 10  # digits of a job's timeperiod; the timeperiods of free runs have more


def upgrade(database: Database, version: int) -> None:
    """Takes the steps that follow the given version of the layout."""
    if version < 4:
        mark_given_up(database)
    if version < 5:
        measure_dead_messages(database)
    if version < 6:
        count_documents(database)


def mark_given_up(database: Database) -> None:
    """Marks skipped jobs that were given up; see `synergy.storage.upgrade_given_up`."""
    jobs = MongoJobs(database, MongoJournal(database))
    jobs.recover()  # first, so that the journal has all entries
    with database.calling():
        canceled = {"state": "canceled", "is_superseded": False}
        units = [
            CanceledUnit(unit["_id"], *(unit[name] for name in _UNIT))
            for unit in database["units"].find(canceled)
            if len(unit["timeperiod"]) == _PERIOD
        ]
        entries = [
            Skip(*(entry[name] for name in _SKIP))
            for entry in database["journal"].find({"event": {"$in": [SKIPPED, GIVEN_UP]}})
        ]
        jobs.rewrite(suspects(units, entries), marks)
        database["journal"].update_many(
            {"event": SKIPPED, "unit": {"$ne": None}},
            {"$set": {"event": GIVEN_UP, "after": "given_up"}},
        )


def measure_dead_messages(database: Database) -> None:
    """Stores the sizes of messages in quarantine, which its limits count."""
    dead = database["dead_messages"]
    with database.calling():
        for one in dead.find({"size": None}, {"body": 1, "reason": 1}):
            size = size_of(one["body"], one["reason"])
            dead.update_one({"_id": one["_id"]}, {"$set": {"size": size}})


def count_documents(database: Database) -> None:
    """Stores in each page how many documents its timeperiod has, as its newest change says."""
    with database.calling():
        counted = [
            UpdateOne(
                {"_id": page_id(change["collection"], change["timeperiod"]), "rows": None},
                {"$set": {"rows": change["rows"]}},
            )
            for change in database["changes"].find({"is_newest": True}).sort("_id", -1)
        ]
        in_parts(database["pages"], counted)
        database["pages"].update_many({"rows": None}, {"$set": {"rows": 0}})
