"""Units of work. Each change is a compare-and-set on the version that it was decided on."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from pymongo import UpdateMany, UpdateOne

from synergy.model.journal_event import JournalEvent
from synergy.model.time_range import EVER, TimeRange
from synergy.model.unit_of_work import Conclusion, Hint, UnitChange, UnitOfWork, UnitState
from synergy.runtime.masking import mask
from synergy.storage.instants import micros, micros_or_none
from synergy.storage.mongodb import counters
from synergy.storage.mongodb.compare_and_set import Swap, in_parts, insert_new
from synergy.storage.mongodb.conclusions import Conclusions
from synergy.storage.mongodb.database import Database, Doc, first
from synergy.storage.mongodb.journal import MongoJournal
from synergy.storage.mongodb.journaled import Change, JournaledCollection
from synergy.storage.mongodb.numbered_documents import NumberedCollection, within_times
from synergy.storage.mongodb.results import Results
from synergy.storage.mongodb.unit_documents import (
    UNFINISHED,
    document_of,
    entry,
    journal_entry,
    key_of,
    unit_of,
)

_REQUESTED, _RUNNING = UnitState.REQUESTED.value, UnitState.IN_PROGRESS.value
COUNTER = "unit"  # gives units their numbers


class MongoUnits:
    """See `synergy.storage.protocol.Units`."""

    def __init__(self, database: Database, results: Results, journal: MongoJournal) -> None:
        self._database = database
        self._journaled = JournaledCollection(database, "units", journal, journal_entry)
        self._units = NumberedCollection(database, "units", unit_of)
        self._conclusions = Conclusions(database, results, journal)

    def create(self, units: Sequence[UnitOfWork], who: str) -> list[UnitOfWork]:
        with self._database.calling():
            first = counters.take(self._database, COUNTER, len(units))
            new = {
                unit.id: document_of(unit, number, who)
                for number, unit in reversed(list(enumerate(units, first)))
            }
            in_order = [new[id_] for id_ in dict.fromkeys(unit.id for unit in units)]
            created = insert_new(self._database["units"], in_order)
            self._supersede([new[id_] for id_ in created])
            self._journaled.journal_newest([new[id_] for id_ in new if id_ in created][::-1])
            known = self._twins([new[unit.id] for unit in units if unit.id not in created])
        return [unit_of(known[unit.id] if unit.id in known else new[unit.id]) for unit in units]

    def get(self, ids: Sequence[str]) -> list[UnitOfWork]:
        return self._units.find({"_id": {"$in": list(ids)}})

    def of_jobs(self, process: str, first: str, last: str) -> list[UnitOfWork]:
        wanted = {"process": process, "timeperiod": {"$gte": first, "$lte": last}}
        return self._units.find(wanted, -1)

    def newest(self, process: str, timeperiod: str, limit: int) -> list[UnitOfWork]:
        return self._units.find({"process": process, "timeperiod": timeperiod}, -1, limit)

    def find(
        self,
        process: str | None = None,
        state: UnitState | None = None,
        limit: int = 100,
        cursor: str | None = None,
        within: TimeRange = EVER,
    ) -> tuple[list[UnitOfWork], str | None]:
        wanted = within_times("created_at", within)
        if process is not None:
            wanted["process"] = process
        if state is not None:
            wanted["state"] = state.value
        return self._units.page(wanted, limit, cursor)

    def unfinished(self) -> list[UnitOfWork]:
        return self._units.find({"state": {"$in": UNFINISHED}})

    def claim(self, hints: Sequence[Hint], owner: str, now: datetime) -> list[UnitOfWork]:
        at = micros(now)
        attempts = {hint.unit: hint.attempt for hint in reversed(hints)}
        taken: set[str] = set()

        def take(unit: Doc) -> Swap | None:
            is_due = unit["not_before"] is None or unit["not_before"] <= at
            is_free = unit["state"] == _REQUESTED and unit["job"] not in taken
            if not (is_free and is_due and unit["attempt"] == attempts[unit["_id"]]):
                return None
            taken.add(unit["job"])
            fields = {
                "state": _RUNNING, "slot": unit["job"], "owner": owner, "heartbeat": 0,
                "started_at": at, "first_claimed_at": unit.get("first_claimed_at") or at,
            }  # fmt: skip
            return _swap(unit, fields, at, "", owner)

        return unit_of.each(
            self._change([hint.unit for hint in hints], take), self._database.malformed
        )

    def heartbeat(self, claims: Sequence[Hint], owner: str) -> list[Hint]:
        if not claims:
            return []
        beats = [
            UpdateOne(
                {"_id": claim.unit, "attempt": claim.attempt, "owner": owner, "state": _RUNNING},
                {"$inc": {"heartbeat": 1}},
            )
            for claim in claims
        ]
        with self._database.calling():
            units = self._database["units"]
            if units.bulk_write(beats, ordered=False).matched_count == len(claims):
                return []
            wanted = {"_id": {"$in": [claim.unit for claim in claims]}, "state": _RUNNING}
            held = units.find(wanted | {"owner": owner}, {"attempt": 1})
            alive = {Hint(unit["_id"], unit["attempt"]) for unit in held}
        return [claim for claim in claims if claim not in alive]

    def give_back(self, claims: Sequence[Hint], owner: str, now: datetime) -> list[UnitOfWork]:
        at = micros(now)
        attempts = {claim.unit: claim.attempt for claim in claims}

        def give(unit: Doc) -> Swap | None:
            held = unit["state"], unit["attempt"], unit["owner"], unit["ending"]
            if held != (_RUNNING, attempts[unit["_id"]], owner, None):
                return None
            fields = {**_requested(unit), "attempt": unit["attempt"] + 1, "not_before": None}
            if unit.get("first_claimed_at") == unit["started_at"]:  # this was its first claim
                fields["first_claimed_at"] = None
            return _swap(unit, fields, at, "given back", owner)

        return unit_of.each(
            self._change([claim.unit for claim in claims], give), self._database.malformed
        )

    def conclude(self, conclusions: Sequence[Conclusion], now: datetime) -> list[Conclusion]:
        return self._conclusions.conclude(conclusions, now)

    def move(self, moves: Sequence[UnitChange], now: datetime) -> list[UnitChange]:
        at = micros(now)
        refused: list[UnitChange] = []
        for some in _rounds(moves):
            done = {unit["_id"] for unit in self._change(list(some), partial(_moved, some, at))}
            refused += [move for move in some.values() if move.unit not in done]
        return refused

    def extend(self, unit: str, attempt: int, end_id: int, now: datetime) -> bool:
        at = micros(now)

        def raise_bound(document: Doc) -> Swap | None:
            is_held = document["state"] not in (_REQUESTED, UnitState.INVALID.value)
            if is_held or document["attempt"] != attempt or document["end_id"] > end_id:
                return None
            key = key_of(document, end_id)
            state = UnitState(document["state"])
            extended = entry(at, state.value, state, f"up to {end_id}", "scheduler", attempt)
            extended["event"] = JournalEvent.UNIT_EXTENDED.value
            return Swap(unit, document["v"], {"end_id": end_id, "key": key}, entry=extended)

        return bool(self._change([unit], raise_bound))

    def published(self, hints: Sequence[Hint], now: datetime) -> None:
        """Units of the same attempt share a statement; nearly all units are in the first one."""
        units: defaultdict[int, list[str]] = defaultdict(list)
        for hint in hints:
            units[hint.attempt].append(hint.unit)
        notes = [
            UpdateMany(
                {"_id": {"$in": some}, "attempt": attempt},
                {"$set": {"published_at": micros(now)}},
            )
            for attempt, some in units.items()
        ]
        with self._database.calling():
            in_parts(self._database["units"], notes)

    def counts(self) -> dict[tuple[str, UnitState], int]:
        with self._database.calling():
            wanted = {"state": {"$in": UNFINISHED}}
            found = self._database["units"].find(wanted, {"process": 1, "state": 1})
            return Counter((unit["process"], UnitState(unit["state"])) for unit in found)

    def requested(self) -> set[str]:
        with self._database.calling():
            found = self._database["units"].aggregate(
                [
                    {"$match": {"state": UnitState.REQUESTED.value}},
                    {"$group": {"_id": "$process"}},
                ]
            )
            return {group["_id"] for group in found}

    def prune(self, before: datetime, limit: int) -> int:
        with self._database.calling():
            wanted = {"is_superseded": True, "finished_at": {"$lt": micros(before)}}
            found = self._database["units"].find(wanted, {"_id": 1})
            old = [unit["_id"] for unit in first(found.sort("finished_at", 1), limit)]
            if old:
                self._database["units"].delete_many({"_id": {"$in": old}})
                self._database["unit_logs"].delete_many({"unit": {"$in": old}})
        return len(old)

    def recover(self) -> int:
        """Completes conclusions and writes pending journal entries; returns their number."""
        count = self._conclusions.recover()
        with self._database.calling():
            return count + self._journaled.recover()

    def _change(self, ids: Sequence[str], change: Change) -> list[Doc]:
        with self._database.calling():
            return self._journaled.change(ids, change)

    def _supersede(self, documents: Sequence[Doc]) -> None:
        """Marks the older units of the jobs that the new units belong to."""
        newest: dict[str, int] = {}
        for unit in documents:
            newest[unit["job"]] = max(newest.get(unit["job"], 0), unit["number"])
        units = self._database["units"]
        there = units.find({"job": {"$in": list(newest)}, "is_superseded": False})
        old = [unit["_id"] for unit in there if unit["number"] < newest[unit["job"]]]
        if old:
            units.update_many({"_id": {"$in": old}}, {"$set": {"is_superseded": True}})

    def _twins(self, documents: Sequence[Doc]) -> dict[str, Doc]:
        """The stored units that have the ids, or else the keys, of refused ones, by refused id."""
        if not documents:
            return {}
        units = self._database["units"]
        ids = [unit["_id"] for unit in documents]
        keys = [unit["key"] for unit in documents]
        by_id = {unit["_id"]: unit for unit in units.find({"_id": {"$in": ids}})}
        by_key = {unit["key"]: unit for unit in units.find({"key": {"$in": keys}})}
        return {unit["_id"]: by_id.get(unit["_id"]) or by_key[unit["key"]] for unit in documents}


def _swap(unit: Doc, fields: Mapping[str, Any], at: int, why: str, who: str) -> Swap:
    """A change of state, with its journal entry."""
    after = UnitState(fields["state"])
    attempt = fields.get("attempt", unit["attempt"])
    moved = entry(at, unit["state"], after, why, who, attempt)
    return Swap(unit["_id"], unit["v"], fields, entry=moved)


def _requested(unit: Doc) -> Doc:
    """The fields of a unit that waits for a worker and is not published for this attempt."""
    return {
        "state": _REQUESTED,
        "slot": unit["_id"],
        "owner": None,
        "heartbeat": 0,
        "started_at": None,
        "published_at": None,
    }


def _moved(moves: dict[str, UnitChange], at: int, unit: Doc) -> Swap | None:
    move = moves[unit["_id"]]
    held = unit["state"], unit["attempt"], unit["ending"]
    if held != (move.before.value, move.attempt, None):
        return None
    if move.heartbeat is not None and move.heartbeat != unit["heartbeat"]:
        return None
    fields: Doc = {"state": move.after.value, "not_before": micros_or_none(move.not_before)}
    if move.next_attempt:
        fields |= {"attempt": unit["attempt"] + 1, "owner": None, "heartbeat": 0}
    if move.after is UnitState.REQUESTED:
        fields |= _requested(unit)
    fields["slot"] = unit["job"] if move.after is UnitState.IN_PROGRESS else unit["_id"]
    fields["failures"] = 0 if move.forgive else unit["failures"] + move.failed
    if move.forgive:
        fields["first_claimed_at"] = None
    fields["finished_at"] = at if move.after.is_finished else None
    if move.failed or move.after.is_finished:
        fields["reason"] = mask(move.why)
    made = _swap(unit, fields, at, move.why, move.who)
    where = {} if move.heartbeat is None else {"heartbeat": move.heartbeat}
    return Swap(made.id, made.v, made.set, where, made.entry)


def _rounds(moves: Sequence[UnitChange]) -> list[dict[str, UnitChange]]:
    """The moves in order, in groups that have at most one move of each unit."""
    rounds: list[dict[str, UnitChange]] = [{}]
    for move in moves:
        if move.unit in rounds[-1]:
            rounds.append({})
        rounds[-1][move.unit] = move
    return rounds
