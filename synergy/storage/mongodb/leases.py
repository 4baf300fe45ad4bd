"""Leases. Each step is one compare-and-set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pymongo import ReturnDocument, UpdateOne
from pymongo.errors import DuplicateKeyError

from synergy.model.lease import Lease
from synergy.storage.mongodb.database import Database, Doc
from synergy.storage.stored_fields import LEASE

lease_of = LEASE.reads_document(name="_id")


class MongoLeases:
    """See `synergy.storage.protocol.Leases`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._leases = database["leases"]

    def read(self, name: str) -> Lease | None:
        with self._database.calling():
            found = list(self._leases.find({"_id": name}))
        return next(iter(lease_of.each(found, self._database.malformed)), None)

    def all(self, family: str) -> list[Lease]:
        begins = {"$gte": family, "$lt": family + "\U0010ffff"}
        with self._database.calling():
            return lease_of.each(
                list(self._leases.find({"_id": begins}).sort("_id", 1)), self._database.malformed
            )

    def take(self, seen: Lease | None, name: str, holder: str) -> Lease | None:
        if seen is None:
            return self._take_first(Lease(name, holder, epoch=1, seq=0))
        return self._swap(
            {**_identity(seen), "_id": name, "seq": seen.seq, "released": seen.released},
            {"$set": {"holder": holder, "seq": 0, "released": False}, "$inc": {"epoch": 1}},
        )

    def renew(self, lease: Lease) -> Lease | None:
        return self._swap(_held(lease), {"$inc": {"seq": 1}})

    def renew_all(self, leases: Sequence[Lease]) -> list[Lease]:
        """Takes one round trip, and a second to find the renewed leases if some were refused."""
        if not leases:
            return []
        renewed = [replace(lease, seq=lease.seq + 1) for lease in leases]
        swaps = [UpdateOne(_held(lease), {"$inc": {"seq": 1}}) for lease in leases]
        with self._database.calling():
            answer = self._leases.bulk_write(swaps, ordered=False)
            if answer.matched_count == len(leases):
                return renewed
            names = {"_id": {"$in": [lease.name for lease in leases]}}
            found = set(lease_of.each(list(self._leases.find(names)), self._database.malformed))
        return [lease for lease in renewed if lease in found]

    def release(self, lease: Lease) -> bool:
        return self._swap(_identity(lease), {"$set": {"released": True}}) is not None

    def _take_first(self, lease: Lease) -> Lease | None:
        fields = {"epoch": lease.epoch, "seq": lease.seq, "released": lease.released}
        with self._database.calling():
            try:
                self._leases.insert_one({"_id": lease.name, "holder": lease.holder, **fields})
            except DuplicateKeyError:
                return None
        return lease

    def _swap(self, expected: Mapping[str, object], change: Mapping[str, object]) -> Lease | None:
        with self._database.calling():
            return _lease_or_none(
                self._leases.find_one_and_update(
                    expected, change, return_document=ReturnDocument.AFTER
                )
            )


def _identity(lease: Lease) -> Doc:
    return {"_id": lease.name, "holder": lease.holder, "epoch": lease.epoch}


def _held(lease: Lease) -> Doc:
    return {**_identity(lease), "seq": lease.seq, "released": False}


def _lease_or_none(document: Doc | None) -> Lease | None:
    return None if document is None else lease_of(document)
